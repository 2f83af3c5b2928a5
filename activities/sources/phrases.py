"""The corpus's own terms: noun-like phrases and the names of things, as texts write them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from activities.sources.stems import STOP_WORDS

_TOKEN = re.compile(r"[^\W_]+(?:[-'’&.][^\W_]+)*|[^\w\s]|\n+")
_CAPITAL = r"[A-ZÀ-ÖØ-ÞŁŚŠŽ][\w'’.-]*"
# Words inside a name that are not capitalised: Bank of England, Ludwig van Beethoven.
_INNER = (
    r"of|the|de|del|della|di|da|do|du|des|la|le|von|van|der|den|bin|ibn|al|el|and|&|for|in|on|at|to"
)
_NAME = re.compile(
    rf"(?:{_CAPITAL}|\d{{4}}(?= [A-Z]))"
    rf"(?: (?:(?:{_INNER}) ){{0,2}}(?:{_CAPITAL}|\d{{1,4}}\b))*"
)
_VAGUE = frozenset(
    {
        "able", "according", "across", "additionally", "also", "although", "among", "around",
        "based", "become", "best", "better", "cannot", "come", "different", "due", "early",
        "ensure", "ensuring", "especially", "even", "every", "example", "first", "following",
        "furthermore", "get", "given", "good", "great", "however", "including", "last", "late",
        "less", "like", "made", "main", "major", "make", "making", "many", "may", "moreover",
        "much", "near", "need", "new", "next", "often", "old", "one", "per", "provide", "recent",
        "second", "see", "several", "since", "specific", "still", "therefore", "third", "three",
        "thus", "today", "two", "use", "used", "using", "various", "way", "well", "within",
        "without", "work", "year", "years", "said", "says", "include", "includes",
    }
)  # fmt: skip
_VERBAL = ("ly", "ed")


def phrases(text: str, longest: int = 3) -> Iterator[str]:
    """Runs of two or three words that could name a thing, in lower case."""
    run: list[str] = []
    for token in _TOKEN.findall(text):
        word = token.lower()
        if len(word) > 1 and word[0].isalpha() and word not in STOP_WORDS and word not in _VAGUE:
            run.append(word)
            continue
        yield from _grams(run, longest)
        run = []
    yield from _grams(run, longest)


def names(text: str) -> Iterator[tuple[int, str]]:
    """Capitalised names with their places; words that only begin a sentence are left out."""
    for found in _NAME.finditer(text):
        start, name = found.start(), found[0].rstrip(".'’-")
        name = name.removesuffix("'s").removesuffix("’s")
        first, _, rest = name.partition(" ")
        while first.lower() in STOP_WORDS and rest:
            start += len(first) + 1
            first, _, rest = rest.partition(" ")
            name = f"{first} {rest}".strip()
        if len(name) > 2 and name.lower() not in STOP_WORDS and name.lower() not in _VAGUE:
            yield start, name


def salient_phrases(texts: Iterable[str], known: Iterable[str] = ()) -> list[tuple[str, int]]:
    """Phrases and the number of texts that use them, most used first; parts of longer ones go."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(set(phrases(text)))
    for phrase in known:
        counts.pop(phrase.lower(), None)
    kept = {
        phrase: count
        for phrase, count in counts.items()
        if not any(
            longer != phrase and f" {phrase} " in f" {longer} " and counts[longer] >= count
            for longer in _extensions(phrase, counts)
        )
    }
    return sorted(kept.items(), key=lambda item: (-item[1], -item[0].count(" "), item[0]))


def _extensions(phrase: str, counts: Counter[str]) -> Iterator[str]:
    if phrase.count(" ") == 1:
        yield from (longer for longer in counts if longer.count(" ") == 2 and phrase in longer)


def _grams(run: list[str], longest: int) -> Iterator[str]:
    for size in range(2, longest + 1):
        for start in range(len(run) - size + 1):
            gram = run[start : start + size]
            if not gram[0].endswith("ly") and not gram[-1].endswith(_VERBAL):
                yield " ".join(gram)
