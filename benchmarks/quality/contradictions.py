"""Real contradictions told, and false ones: `wikicontradict*.jsonl` and folders of documents.

A line of `wikicontradict` has two passages `a` and `b` of an encyclopedia that contradict each
other, and a question. Each becomes a file of its own title beside eight passages of other lines;
the claims are the three sentences of each nearest to the question.

    told       share of the lines whose two passages stand on different sides of a contradiction
    precision  share of all pairs of passages told that are the two of one line

A folder under `reference/` or `drbench/*/corpus` should contradict itself nowhere.

    false      contradictions told over its sentences, at most 3,000 drawn by chance. In company
               files a reader may find that one is real; every one is kept in the notes
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

from activities.evidence.conflicts.finder import Candidate, candidates
from activities.evidence.conflicts.relations import edition
from activities.evidence.conflicts.statements import Document
from activities.evidence.text.sentences import sentences
from activities.sources.formats.parsing import parse_file
from benchmarks.quality.extraction import best_sentences
from benchmarks.quality.sets import Case, Measure, Options, Outcome, Run, absent, drawn
from workflows.evidence import Claim, Quote

_SENTENCES = 3
_OTHERS = 4
_MOST = 3000


class Contradictions:
    name = "contradictions"
    pooled = False
    measures: tuple[Measure, ...] = (
        Measure("told", wanted=0.25),
        Measure("precision", wanted=0.9),
        Measure("false", "lower", wanted=0.0, share=False),
    )

    def __init__(self, options: Options) -> None:
        self._data = options.data

    def cases(self, limit: int | None, seed: int) -> list[Case]:
        found = []
        for path in sorted(self._data.glob("wikicontradict*.jsonl")):
            rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]
            found += [
                Case(f"{path.stem}-{n:03d}", path.stem, {"row": row, "others": _others(n, rows)})
                for n, row in enumerate(rows)
            ]
        for folder in (*self._data.glob("reference/*"), *self._data.glob("drbench/*/corpus")):
            name = str(folder.relative_to(self._data)).replace("/", "-")
            found.append(Case(name, name.partition("-")[0], {"folder": str(folder)}))
        if not found:
            raise absent("wikicontradict*.jsonl", self._data)
        return drawn(found, limit, seed)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Run]:
        async def run(case: Case) -> Outcome:
            content = case.content
            if "folder" in content:
                return await asyncio.to_thread(_folder, Path(content["folder"]))
            return await asyncio.to_thread(_line, content["row"], content["others"])

        yield run


def _others(n: int, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The passages of other lines, always the same ones."""
    strangers = [row for row in rows if row["title"] != rows[n]["title"]]
    return random.Random(n).sample(strangers, min(_OTHERS, len(strangers)))


def _line(row: dict[str, Any], others: Sequence[dict[str, Any]]) -> Outcome:
    passages = [(n, line[side]) for n, line in enumerate((row, *others)) for side in ("a", "b")]
    claims, documents = [], {}
    for place, (_, passage) in enumerate(passages):
        source = f"d{place:02d}"
        documents[source] = Document(title=passage["title"])
        for n, text in enumerate(best_sentences(row["question"], passage["text"], _SENTENCES)):
            claims.append(_claim(f"{source}-{n}", source, text))
    found = candidates(claims, questions={"facet": row["question"]}, documents=documents)
    pairs = {
        frozenset((int(x[1:3]), int(y[1:3])))
        for one in _contradictions(found)
        for a, b in combinations(one.sides, 2)
        for x in a.claim_ids
        for y in b.claim_ids
    }
    right = sum(len({passages[place][0] for place in pair}) == 1 for pair in pairs)
    notes = {"question": row["question"], "told": _notes(found, claims)}
    return Outcome({"told": ({0, 1} in pairs, 1), "precision": (right, len(pairs))}, notes)


def _folder(folder: Path) -> Outcome:
    claims, documents = [], {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        for document in parse_file(path, str(path.relative_to(folder))).documents:
            documents[document.id] = Document(document.title, edition(document.uri))
            for n, text in enumerate(sentences(document.text)):
                claims.append(_claim(f"{document.id}-{n:05d}", document.id, text))
    kept = random.Random(7).sample(claims, min(_MOST, len(claims)))
    found = candidates(kept, documents=documents)
    return Outcome({"false": (len(_contradictions(found)), 1)}, {"told": _notes(found, kept)})


def _claim(claim_id: str, source: str, text: str) -> Claim:
    quote = Quote(source_id=source, text=text)
    return Claim(id=claim_id, facet_id="facet", text=text, quotes=(quote,))


def _contradictions(found: Sequence[Candidate]) -> list[Candidate]:
    return [candidate for candidate in found if candidate.relation == "contradicts"]


def _notes(found: Sequence[Candidate], claims: Sequence[Claim]) -> list[list[str]]:
    texts = {claim.id: claim.text for claim in claims}
    return [[texts[side.claim_ids[0]] for side in c.sides] for c in _contradictions(found)]
