"""Passages ranked by what they say about what is asked.

A passage is worth the share of the question's terms it covers, weighted by how rare they are: more
where a term comes again, less where it stands only in the headings above or in the title of the
document. It is worth more where it holds the kind of answer that is wanted, and where plain search
ranks it high, and its document. A passage about a thing that another good passage names counts what
that one covers: an answer may be two documents away.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from activities.evidence.quantities.amounts import quantities
from activities.evidence.text.headings import asks_for_changes, heads_release_notes
from activities.evidence.text.names import names
from activities.evidence.text.terms import words
from activities.offline.answer_types import holds_answer
from activities.offline.passages import ROW, Passage, announces, grow
from activities.offline.question import FACTS, Question, content_words
from activities.offline.rule_families import is_on

_IN_SECTION, _IN_TITLE = 0.6, 0.5
_PLAIN, _DOCUMENT = 1.5, 0.3
_FIRST_HIT = 0.18
_RELEASE_NOTES = 0.6
_ANSWERS = 0.25
_TOPIC = 0.3
_FIGURES = 0.2
_SCRAP = 6
_LINKS_FROM = 12
_OPENING = 3
# Text that speaks to whoever answers is no evidence of anything.
_TO_ANSWERER = re.compile(
    r"\b(?:in|from) your (?:answer|response|report|summary)\b"
    r"|\b(?:ignore|disregard) (?:all|any|your|the)? ?(?:other|previous|prior|above)"
    r" (?:sources|instructions|documents|prompts)\b",
    re.I,
)
_PARENTHESIS = re.compile(r"\s*\([^)]*\)")


@dataclass(frozen=True)
class Scored:
    """A passage with its worth for a question."""

    passage: Passage
    core: str
    """The sentence that says most on the question."""
    score: float = 0.0
    coverage: float = 0.0
    """The weighted share of the question's terms it covers, headings and title included."""
    answers: bool = False
    """Whether it holds the kind of answer that is wanted."""
    held: frozenset[str] = frozenset()
    """The question's terms that stand in it or above it."""
    plain: float = 0.0
    """What BM25 gives it for the question's words, beside the best."""


class Scorer:
    """Ranks passages for one question over one collection of documents."""

    def __init__(self, question: Question, frequency: Mapping[str, int], documents: int) -> None:
        """`frequency` says in how many of the documents a word stands."""
        self.question = question
        counts: dict[str, int] = {}
        for word, count in frequency.items():
            for own in question.terms_of(word):
                counts[own] = max(counts.get(own, 0), count)
        self.absent = frozenset(t for t in question.terms if counts.get(t, 1) == 0)
        size = max(documents, *counts.values(), 1) if counts else max(documents, 1)
        # What is not known is taken to stand in every tenth document.
        usual, held = max(1, size // 10), question.terms.keys() - self.absent
        self._idf = {own: _idf(counts.get(own, usual), size) for own in sorted(held)}
        self._plain_idf = {t: _idf(n, size) for t, n in counts.items() if n} or self._idf
        # The root, because what is asked about is often the common word beside a rare verb.
        self._weights = {t: question.terms[t] * math.sqrt(idf) for t, idf in self._idf.items()}
        self._total = sum(self._weights.values()) or 1.0
        asked = {t: w for t, w in question.terms.items() if t not in question.context_terms}
        known = sum(weight for t, weight in asked.items() if t not in self.absent)
        self.known = known / sum(asked.values()) if asked else 1.0
        """The share of the question that the documents have words for."""
        self._asked_words = frozenset(content_words(question.text))

    def rank(self, passages: Iterable[Passage]) -> list[Scored]:
        """The passages that cover anything of the question, best first. For a narrow question they
        are grown; what tells is the mean of the passage and of the stretch it grew from."""
        passages = list(passages)
        ranked = self._rank(passages)
        if self.question.is_open:
            return ranked
        seeds = {own.passage: own.score for own in ranked}
        grown = {passage: seeds[seed] for seed, passage in grow(seeds, passages)}
        ranked = self._rank(grown)
        wholes = _relative(own.score for own in ranked)
        parts = _relative(grown[own.passage] for own in ranked)
        both = zip(ranked, wholes, parts, strict=True)
        return sorted((replace(o, score=(w + p) / 2) for o, w, p in both), key=_order)

    def _rank(self, passages: Iterable[Passage]) -> list[Scored]:
        passages = [passage for passage in passages if not self._is_scrap(passage)]
        scored = [self._score(passage) for passage in passages]
        plain = self._plain(passages)
        scored = [replace(own, plain=p) for own, p in zip(scored, plain, strict=True)]
        scored = [replace(own, score=own.score + self._search_worth(own)) for own in scored]
        scored.sort(key=_order)
        if is_on("links"):
            scored = self._link(scored)
            scored.sort(key=_order)
        return [own for own in scored if own.coverage > 0]

    def _is_scrap(self, passage: Passage) -> bool:
        """Only announcements or instructions to the answerer, or a few words that hold none of the
        question's, such as a date; or only something of what the question stands in."""
        if _TO_ANSWERER.search(passage.text) or all(map(announces, passage.sentences)):
            return True
        if len(passage.text.split()) < _SCRAP and not self._held(passage.text):
            return True
        held = self._held(f"{passage.title} {passage.section} {passage.text}")
        return bool(held) and held <= self.question.context_terms

    def _score(self, passage: Passage) -> Scored:
        shares = self._shares(passage)
        core = max(passage.sentences, key=self._core_worth)
        answers = holds_answer(passage.text, self.question) or holds_answer(core, self.question)
        score = self._covered(shares)
        if is_on("sections") and self.question.is_open:
            heading = passage.section.rpartition(" › ")[2]
            score += _TOPIC * max(self._topic(passage.title), self._topic(heading))
        if is_on("answer_types"):
            score += _ANSWERS * answers
        if is_on("figures") and self.question.is_open and quantities(passage.text):
            score += _FIGURES
        return Scored(
            passage, core, score, self._coverage(shares), answers, frozenset(shares),
        )  # fmt: skip

    def _search_worth(self, own: Scored) -> float:
        """What plain search makes of a passage and of its document."""
        if self.question.is_open:
            return _FIRST_HIT / (1 + 0.25 * own.passage.rank)
        is_note = heads_release_notes(own.passage.title, own.passage.section)
        less = _RELEASE_NOTES * (is_note and not asks_for_changes(self.question.text))
        return _PLAIN * own.plain - less

    def _plain(self, passages: Sequence[Passage]) -> list[float]:
        """What plain search gives each passage and, for less, its document, beside the best."""
        counts = [self._counts(passage) for passage in passages]
        lengths = [len(passage.text.split()) for passage in passages]
        whole: dict[str, Counter[str]] = {}
        sizes: Counter[str] = Counter()
        for passage, found, length in zip(passages, counts, lengths, strict=True):
            whole.setdefault(passage.source_id, Counter()).update(found)
            sizes[passage.source_id] += length
        held = Counter(own for found in counts for own in found)
        # A word is as rare as it is among the documents and among what was found in them.
        rarity = {t: self._plain_idf[t] + _idf(n, len(passages)) for t, n in held.items()}
        own = self._bm25(counts, lengths, rarity)
        documents = self._bm25(whole.values(), sizes.values(), rarity)
        of_document = dict(zip(whole, documents, strict=True))
        worths = zip(passages, own, strict=True)
        return _relative(w + _DOCUMENT * of_document[p.source_id] for p, w in worths)

    def _bm25(
        self,
        counts: Collection[Counter[str]],
        lengths: Collection[int],
        rarity: Mapping[str, float],
    ) -> list[float]:
        """BM25 over the words that carry a meaning, and with less regard to length over all words:
        the mean of the two finds more than either."""
        usual = max(1.0, sum(lengths) / max(1, len(lengths)))

        def score(terms: Collection[str], k1: float, b: float) -> list[float]:
            norms = [k1 * (1 - b + b * length / usual) for length in lengths]
            return _relative(
                sum(rarity[t] * found[t] / (found[t] + norm) for t in found if t in terms)
                for found, norm in zip(counts, norms, strict=True)
            )

        both = zip(score(self.question.terms, 1.2, 0.4), score(rarity, 2.0, 0.3), strict=True)
        return _relative(map(sum, both))

    def _counts(self, passage: Passage) -> Counter[str]:
        """How often each word of the query stands in a passage or above it."""
        # Rows of a table repeat the names of its columns.
        is_table = ROW.match(passage.parts[0]) is not None
        spoken = words(passage.text)
        spoken = list(dict.fromkeys(spoken)) if is_table else spoken
        above = words(f"{passage.heading} {passage.section} {passage.title}")
        read = self.question.terms_of
        return Counter(t for w in (*spoken, *above) for t in read(w) if t in self._plain_idf)

    def _shares(self, passage: Passage) -> dict[str, float]:
        """How far each term of the question is covered, by where and how often it stands."""
        rows = [own for own in passage.sentences if ROW.match(own)]
        read = [own for own in passage.sentences if own not in rows] + [" ".join(rows)]
        counts = Counter(own for text in (*read, passage.heading) for own in self._held(text))
        shares = {own: 2 * n / (n + 1) for own, n in counts.items()}
        above = ((passage.section, _IN_SECTION), (passage.title, _IN_TITLE), (passage.columns, 1.0))
        for text, share in above if is_on("sections") else ():
            for own in self._held(text):
                # A row of a table says what it says of what stands above it.
                shares.setdefault(own, 1.0 if rows else share)
        return shares

    def _core_worth(self, sentence: str) -> tuple[bool, float]:
        covered = self._covered(dict.fromkeys(self._held(sentence), 1.0))
        answers = _ANSWERS * holds_answer(sentence, self.question)
        return not announces(sentence), covered + answers

    def _held(self, text: str) -> frozenset[str]:
        return self.question.terms_of(text) & self._weights.keys()

    def _topic(self, heading: str) -> float:
        """How far a heading names what is asked, and little else."""
        terms = self.question.terms_of(heading)
        shared = terms & self._weights.keys()
        focus = len(shared) / len(terms) if terms else 0.0
        return self._covered(dict.fromkeys(shared, 1.0)) * (1 + focus) / 2

    def _covered(self, shares: Mapping[str, float]) -> float:
        return sum(self._weights[own] * share for own, share in shares.items()) / self._total

    def _coverage(self, shares: Mapping[str, float]) -> float:
        """What is covered where a term that comes again counts once."""
        return self._covered({own: min(1.0, share) for own, share in shares.items()})

    def _link(self, scored: Sequence[Scored]) -> list[Scored]:
        """Passages with what a passage covers that names the thing they are about."""
        origins = [_Origin(own) for own in scored[:_LINKS_FROM]]
        return [self._linked(own, self._find_origin(own.passage, origins)) for own in scored]

    def _find_origin(self, passage: Passage, origins: Sequence[_Origin]) -> _Origin | None:
        """Facts of a thing may stand anywhere in its document; else a passage is about a thing
        where it opens with the thing's name, as an entry of an encyclopedia does."""
        title = tuple(words(_PARENTHESIS.sub("", passage.title)))
        opening = words(passage.text)[: len(title) + _OPENING]
        is_about = self.question.wants in FACTS or set(title) <= set(opening)
        if not is_about or self._asked_words.issuperset(title):
            return None
        return next((o for o in origins if o.names_title(passage.source_id, title)), None)

    def _linked(self, own: Scored, origin: _Origin | None) -> Scored:
        if origin is None:
            return own
        shares = self._shares(own.passage)
        score = own.score - self._covered(shares)
        for term, share in self._shares(origin.scored.passage).items():
            shares[term] = max(shares.get(term, 0.0), share)
        score += self._covered(shares)
        if not self.question.is_open:
            score += _PLAIN * max(0.0, origin.scored.plain - own.plain)
        coverage = self._coverage(shares)
        return replace(
            own, score=score, coverage=coverage, held=frozenset(shares),
        )  # fmt: skip


class _Origin:
    """A good passage, and which titles its core names."""

    def __init__(self, scored: Scored) -> None:
        self.scored = scored
        self._names = [name.key for name in names(scored.passage.text)]
        self._core = f" {' '.join(words(scored.core))} "

    def names_title(self, source_id: str, title: tuple[str, ...]) -> bool:
        if source_id == self.scored.passage.source_id:
            return False
        if len(title) > 1 and f" {' '.join(title)} " in self._core:
            return True
        whole = frozenset(title)
        return any(
            key == whole or (len(key) > 1 and key <= whole and 2 * len(key) > len(whole))
            for key in self._names
        )


def _order(scored: Scored) -> tuple[float, str, tuple[int, int], int]:
    passage = scored.passage
    return -round(scored.score, 6), passage.source_id, passage.place, passage.rank


def _relative(worths: Iterable[float]) -> list[float]:
    """Each beside the greatest."""
    given = list(worths)
    most = max(given, default=0.0) or 1.0
    return [worth / most for worth in given]


def _idf(count: int, size: int) -> float:
    return math.log(1 + (size - count + 0.5) / (count + 0.5))
