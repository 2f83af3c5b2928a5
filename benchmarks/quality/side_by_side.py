"""Blind pairs for readers: a report beside the five best passages of plain search.

python -m benchmarks.quality.side_by_side QUESTIONS.json OUT [--seed N] [--model NAME]

QUESTIONS.json is a list of {"question", "corpus"}, as for the set `jobs`. For every question
`OUT/pair-NN.md` holds two texts, A and B, in random order: the report without the parts that tell
how it was made, and five passages of about 120 words that BM25 ranks first in the same documents.
Both name the document before a passage, in bold; citations are numbers in both. `OUT-key.json` says
which is which; readers do not get it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
from collections.abc import Iterator
from pathlib import Path

from activities.sources.formats.parsing import parse_file
from benchmarks.quality.job_runner import JobRunner, start_runner
from benchmarks.quality.jobs import Question, read_questions
from benchmarks.quality.peers import Bm25
from benchmarks.quality.report_text import split_sections
from benchmarks.quality.sets import Options
from console.errors import exit_process
from workflows.contracts.result import METHOD, MISSING, SOURCES, SUMMARY, ResearchResult

PASSAGES = 5
PASSAGE_WORDS = 120
_LEFT_OUT = frozenset({MISSING, METHOD, SOURCES})


async def write_pairs(questions: list[Question], out: Path, options: Options, seed: int) -> None:
    """Run every question, write its pair, and write the key when all are done."""
    chance = random.Random(seed)
    key = {}
    async with start_runner(options) as runner:
        for n, asked in enumerate(questions, 1):
            texts = await _make_texts(asked, runner)
            names = sorted(texts)
            chance.shuffle(names)
            key[f"pair-{n:02d}"] = dict(zip("AB", names, strict=True))
            pair = "\n\n".join(
                f"## {label}\n\n{texts[name]}" for label, name in zip("AB", names, strict=True)
            )
            await asyncio.to_thread(
                _write, out / f"pair-{n:02d}.md", f"# {asked.question}\n\n{pair}\n"
            )
    await asyncio.to_thread(
        _write, out.with_name(f"{out.name}-key.json"), json.dumps(key, indent=1) + "\n"
    )


async def _make_texts(asked: Question, runner: JobRunner) -> dict[str, str]:
    result = await runner.research(asked.question, asked.corpus, asked.request)
    passages = await asyncio.to_thread(find_passages, asked.question, Path(asked.corpus))
    return {"report": render_report(result), "BM25": passages}


def render_report(result: ResearchResult) -> str:
    """Summary, facets and disagreements, as a reader sees them."""
    return "\n\n".join(
        text if title == SUMMARY else f"**{title}**\n\n{text}"
        for title, text in split_sections(result.report_markdown)
        if title not in _LEFT_OUT
    )


def find_passages(question: str, corpus: Path) -> str:
    """The best passages of a folder by BM25, each with its document's title and number.

    The text is the one our own parsers read, so that only the choice of passages is compared.
    """
    passages = [
        (document.title, passage)
        for path in sorted(corpus.rglob("*"))
        if path.is_file()
        for document in parse_file(path, path.relative_to(corpus).as_posix()).documents
        for passage in cut_passages(document.text)
    ]
    ranking = Bm25([passage for _, passage in passages]).rank(question, PASSAGES)
    titles = list(dict.fromkeys(passages[n][0] for n in ranking))
    found = ((*passages[n], titles.index(passages[n][0]) + 1) for n in ranking)
    return "\n\n".join(f"**{title}:** {passage} [{number}]" for title, passage, number in found)


def cut_passages(text: str) -> Iterator[str]:
    """A text in passages of whole lines."""
    passage: list[str] = []
    for line in text.splitlines():
        passage.append(line)
        if sum(len(one.split()) for one in passage) >= PASSAGE_WORDS:
            yield "\n".join(passage).strip()
            passage = []
    if rest := "\n".join(passage).strip():
        yield rest


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("questions", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--model", default="offline")
    given = parser.parse_args()
    options = Options(model=given.model)
    asyncio.run(write_pairs(read_questions(given.questions), given.out, options, given.seed))
    return 0


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    exit_process(main())
