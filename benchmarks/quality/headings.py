"""Questions that a documentation's own headings ask, so that nobody chose them.

"Installing plugins" and "How to install plugins" become "How do I install plugins?", a heading of
nouns becomes "What is …?" or "What are …?". The seed draws as many of each kind.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import simplemma

from benchmarks.quality.peers import STOP_WORDS

_MARKDOWN = re.compile(r"^#{1,4}\s+(.+?)\s*#*$")
_UNDERLINE = re.compile(r"^([=\-~^\"'*+#.`:_])\1{2,}\s*$")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z'’/-]*(?: [A-Za-z][A-Za-z'’/-]*){1,6}")
_VERBS = frozenset(
    """add build change check configure create customize define deploy disable enable handle install
    make manage register run send set specify start test upgrade use write""".split()  # noqa: SIM905
)
_NO_NOUNS = STOP_WORDS | {"about", "more", "see", "try"}
_WORDS_OF_A_NOUN = 4


def draw_questions(folder: Path, count: int, seed: int) -> dict[str, list[str]]:
    """`count` questions on a folder's documents, half of each kind where there are as many; each
    with the files whose heading asks it."""
    files: dict[str, list[str]] = {}
    for heading, path in list_headings(folder):
        if question := ask(heading):
            files.setdefault(question, []).append(path.relative_to(folder).as_posix())
    kinds: dict[bool, list[str]] = {True: [], False: []}
    for question in files:
        kinds[question.startswith("How")].append(question)
    chance = random.Random(f"{seed}:{folder.name}")
    for questions in kinds.values():
        chance.shuffle(questions)
    taken = [question for pair in zip(*kinds.values(), strict=False) for question in pair]
    rest = [q for questions in kinds.values() for q in questions if q not in taken]
    return {question: files[question] for question in [*taken, *rest][:count]}


def list_headings(folder: Path) -> Iterator[tuple[str, Path]]:
    """The headings of all Markdown and reStructuredText files, in the order of their paths."""
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".md", ".rst", ".txt"):
            continue
        for heading in find_headings(path.read_text("utf-8", "replace").splitlines()):
            yield heading, path


def find_headings(lines: list[str]) -> Iterator[str]:
    """Headings of both kinds: marked with # or underlined."""
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if match := _MARKDOWN.match(line):
            yield match.group(1)
        elif _UNDERLINE.match(below) and line.strip() and not _UNDERLINE.match(line):
            yield line.strip()


def ask(heading: str) -> str:
    """The question a heading answers; nothing where it is neither an instruction nor a noun."""
    if not _PLAIN.fullmatch(heading):
        return ""
    first, _, rest = heading.partition(" ")
    verb = simplemma.lemmatize(first.lower(), lang="en")
    if heading.lower().startswith("how to "):
        return f"How do I {rest.partition(' ')[2]}?" if rest.count(" ") else ""
    if (first.endswith("ing") and verb != first.lower()) or first.lower() in _VERBS:
        return f"How do I {verb} {_lower(rest)}?"
    is_noun = first[0].isupper() and first.lower() not in _NO_NOUNS
    if is_noun and len(heading.split()) <= _WORDS_OF_A_NOUN:
        many = heading.endswith("s") and not heading.endswith("ss")
        return f"What {'are' if many else 'is'} {_lower(heading)}?"
    return ""


def _lower(text: str) -> str:
    """Title case as running text; acronyms and names with inner capitals stay."""
    return " ".join(word.lower() if word[1:].islower() else word for word in text.split())
