"""One facet researched: search, score what came, follow what is missing, answer with passages.

The first searches ask in the question's own words and in its main words; one more follows the names
in good hits and leaves out what scored below 0.2, unless three sources score 0.7 or better and a
passage answers all that a narrow question asks. A claim is a passage, word for word. Documents that
use the same words and give another figure or name are both shown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate

from activities.evidence.text.names import names
from activities.evidence.text.terms import words
from activities.offline.passages import cut_passages
from activities.offline.question import FACTS, SHORT_ANSWERS, Question, content_words
from activities.offline.request import Conversation, JsonObject, Reply, ToolCall, UseTools
from activities.offline.rule_families import is_on
from activities.offline.scoring import Scored, Scorer

GOOD, USELESS, ENOUGH = 0.7, 0.2, 3
_WHOLE = 0.999
_ANSWERED, _ANSWERED_FIRST = 0.6, 0.5
"""The share of the question's terms that a passage which answers it covers; less is enough where
the best one stands out."""
_STANDS_OUT, _ALIKE = 0.2, 3
"""How far the best passage is above those of all documents but so many, which may say the same."""
_OFF_TOPIC = 0.34
"""Where the documents have words for less of the question, none is about it."""
_MOST_WORDS, _MOST_WORDS_PART, _FEWEST = 650, 300, 2
"""How long the passages are together, and how many there are in any case."""
_NARROW, _NARROW_PART = 12, 6
"""How many passages answer a narrow question, and a part of a larger one."""
_FOLLOWED = "names that the first hits lead to"
# Complaints about an answer's form, as against a further question.
_FAULT = re.compile(r"does not stand in|copy it exactly|validation error|schema", re.I)


def research(conversation: Conversation) -> UseTools | Reply:
    faults = [c for c in conversation.complaints if _FAULT.search(c)]
    if faults and conversation.answers:
        return Reply(_without_faults(conversation.answers[-1], "\n".join(faults)))
    if conversation.follow_ups:
        conversation = _with_follow_up(conversation)
    search = _Search(conversation)
    calls = () if conversation.last_call else search.next_calls()
    return UseTools(calls) if calls else Reply(search.answer())


def _with_follow_up(conversation: Conversation) -> Conversation:
    """A follow-up is an ask of its own; what was answered before is known."""
    told = [claim["text"] for answer in conversation.answers for claim in answer.get("claims", ())]
    brief = conversation.brief
    known = [*brief.get("known_claims", ()), *told]
    asked = re.sub(r"^[^:?]{0,80}: ", "", conversation.follow_ups[-1])
    return replace(conversation, brief={**brief, "ask": asked, "known_claims": known})


class _Search:
    """What has come of the searches so far, and what to do next."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._brief = conversation.brief
        self.question = _question(self._brief)
        frequency: dict[str, int] = {}
        self._documents = 0
        for call in conversation.searches():
            for word, count in call.report.get("terms", {}).items():
                # A query of few words may be read in another language, which has other forms.
                frequency[word] = max(count, frequency.get(word, 0))
            self._documents = max(self._documents, int(call.report.get("documents", 0)))
        self._scorer = Scorer(self.question, frequency, self._documents)
        passages = cut_passages(conversation.hits, is_open=self.question.is_open)
        self._ranked = self._scorer.rank(passages)
        self._sources = _scores(self._ranked, conversation)

    def next_calls(self) -> tuple[tuple[str, JsonObject], ...]:
        """The tools to use next; none where it is time to answer."""
        since = self._conversation.since
        done = [call for call in self._conversation.searches() if call.turn >= since]
        if "search" not in self._conversation.tools or any(call.error for call in done):
            return ()
        if not done:
            return tuple(("search", query) for query in self._first_queries())
        return () if self._is_done(done) else (("search", self._second_query()),)

    def _is_done(self, done: Sequence[ToolCall]) -> bool:
        """Whether a second search is not allowed, was made, or would bring nothing."""
        left = min(int(call.report.get("cycles_left", 0)) for call in done)
        is_followed = any(call.input.get("aim") == _FOLLOWED for call in done)
        shown = Counter(hit.source_id for hit in self._conversation.hits)
        has_seen_all = shown.total() == len(shown) >= self._documents
        return left < 1 or is_followed or has_seen_all or self._is_enough()

    def _second_query(self) -> JsonObject:
        """What the names in the first hits lead to, without the sources that are of no use."""
        useless = [sid for sid, entry in self._sources.items() if entry["score"] < USELESS]
        return {
            "query": str(self._brief["ask"]),
            "aim": _FOLLOWED,
            "critical": True,
            "exclude": useless,
            "scores": [{"source_id": sid, **entry} for sid, entry in self._sources.items()],
        }

    def answer(self) -> JsonObject:
        chosen = self._chosen()
        answered = any(map(self._is_answer, chosen))
        missing = self._missing(bool(chosen), answered)
        return {
            "summary": " ".join(own.core for own in chosen[:3])[:1000]
            or f"No document holds anything on {', '.join(missing)}.",
            "claims": [self._claim(own, chosen[0].score) for own in chosen],
            "scores": [{"source_id": sid, **entry} for sid, entry in self._sources.items()],
            "missing": missing,
            "exhausted": True,
            "next_step": f"Look beyond these documents for: {', '.join(missing)}."
            if missing
            else "",
        }

    def _first_queries(self) -> list[JsonObject]:
        """The ask, and its main words; other words where an earlier attempt brought too little or
        too much. Of a part the main words come first: the subject, which all parts share, finds the
        same documents for each."""
        alternative = self._brief.get("try_now") or {}
        asked = str(alternative.get("query") or self._brief["ask"])
        queries = [{"query": asked, "aim": "the question in its own words"}]
        if not alternative and (own := self._own_words()):
            queries.insert(
                0 if self.question.form else 1, {"query": own, "aim": "its main words alone"}
            )
        return queries

    def _own_words(self) -> str:
        """What is asked about, without the words that only carry the form of a question."""
        question = self.question
        own = question.main_terms - question.context_terms
        return " ".join(question.surface[t] for t in question.terms if t in own)

    def _is_enough(self) -> bool:
        """Whether to stop: enough good sources, and an answer; a narrow one lacks no term."""
        good = sum(entry["score"] >= GOOD for entry in self._sources.values())
        least = GOOD if self.question.is_open else _WHOLE
        return good >= ENOUGH and any(own.answers and own.coverage >= least for own in self._ranked)

    def _chosen(self) -> list[Scored]:
        if not self._ranked or self._scorer.known < _OFF_TOPIC:
            return []
        most = int(self._brief.get("max_claims", 16))
        broad = self.question.is_open and is_on("spread")
        known = "\n".join(map(_folded, self._brief.get("known_claims", ())))
        fresh = [own for own in self._ranked if _folded(own.core) not in known]
        if known:
            # Asked once more, only an answer is news: other related passages close no gap.
            fresh = list(filter(self._is_answer, fresh))
        if broad:
            return select(fresh, most, least=_WORTH_SPREAD, per_document=_PER_DOCUMENT_SPREAD)
        is_part = self._brief["ask"] != self._brief["question"]
        most = min(most, _NARROW_PART if is_part else _NARROW)
        least = _WORTH_SHORT if self.question.wants in SHORT_ANSWERS else _WORTH
        chosen = select(fresh, most, least=least, per_document=_PER_DOCUMENT)
        if self.question.wants in FACTS and not is_part:
            return chosen
        return _short(chosen, _MOST_WORDS_PART if is_part else _MOST_WORDS)

    def _is_answer(self, own: Scored) -> bool:
        """Whether a passage holds what is wanted beside most of what is asked about. For a whole
        question that asks for no fact words tell little: what answers it stands out."""
        covered = own.coverage * self._scorer.known
        if self.question.is_open or self.question.context or self.question.wants in FACTS:
            return own.answers and covered >= _ANSWERED
        return own.answers and covered >= _ANSWERED_FIRST and self._stands_out

    @cached_property
    def _stands_out(self) -> bool:
        best: dict[str, float] = {}
        for own in self._ranked:
            best.setdefault(own.passage.source_id, own.score)
        first, *_ = scores = [*best.values(), *[0.0] * _ALIKE]
        return first - scores[_ALIKE] >= _STANDS_OUT * first

    def _missing(self, found: bool, answered: bool) -> list[str]:
        """What stands in no document; beside an answer only names, as it may use other words."""
        question = self.question
        absent = question.main_terms & self._scorer.absent
        if found:
            absent &= question.asked_terms - question.verbs
        if answered:
            absent &= question.terms_of(" ".join(question.names))
        told = [question.surface[own] for own in question.terms if own in absent]
        if found and not answered:
            return [*told, f"a direct answer to “{question.text}”"]
        return told if found or told else [question.text]

    def _claim(self, own: Scored, best: float) -> JsonObject:
        passage = own.passage
        return {
            "text": passage.text,
            "quotes": [{"source_id": passage.source_id, "text": part} for part in passage.parts],
            "confidence": round(
                min(0.95, 0.45 + 0.5 * own.coverage * (1.0 if own.answers else 0.7)), 2
            ),
            "relevance": round(min(1.0, own.score / best), 3),
            "uncertain": "",
            "not_to_overstate": "",
        }


def _question(brief: JsonObject) -> Question:
    """What is asked now. A part of a larger question leads with its own words: those of the
    subject it was given count as context."""
    asked, facet, whole = str(brief["ask"]), brief["facet"], str(brief["question"])
    if asked == " ".join(whole.split()):
        return Question(asked)
    own = str(facet["title"]) if asked == facet["question"] else asked
    part = Question(own)
    if own != asked and part.terms and set(part.terms) <= set(Question(asked).terms):
        return Question(own, asked, form=asked)
    return Question(asked, "" if asked == whole else whole)


def _scores(ranked: Sequence[Scored], conversation: Conversation) -> dict[str, JsonObject]:
    """Every source in sight with its score, 0 to 1, and the reason."""
    scores: dict[str, JsonObject] = {}
    for own in ranked:
        entry = scores.setdefault(own.passage.source_id, {"score": 0.0, "reason": ""})
        score = round(min(1.0, own.coverage * (1.0 if own.answers else 0.8)), 2)
        if score > entry["score"]:
            held = ", ".join(sorted(own.held)[:6])
            entry.update(score=score, reason=f"its best passage holds: {held}")
    for hit in conversation.hits:
        scores.setdefault(
            hit.source_id, {"score": 0.0, "reason": "it holds nothing of the question"}
        )
    return scores


def _folded(text: str) -> str:
    return " ".join(text.lower().split())


def _without_faults(answer: JsonObject, complaint: str) -> JsonObject:
    """The answer without the claims that have a quote which was sent back."""
    claims = [
        claim
        for claim in answer.get("claims", ())
        if not any(quote["text"][:200] in complaint for quote in claim["quotes"])
    ]
    return {**answer, "claims": claims, "exhausted": True}


_SAME = 0.6
_PER_DOCUMENT, _PER_DOCUMENT_SPREAD = 6, 2
_WORTH, _WORTH_SHORT, _WORTH_SPREAD = 0.4, 0.2, 0.6
"""The share of the best passage's score below which a passage is not shown: on a narrow question,
on one with a short answer, of which each document may give another, and on an open one."""


def select(
    ranked: Sequence[Scored], limit: int, *, least: float, per_document: int
) -> list[Scored]:
    """At most `limit` passages, best first, that say different things."""
    chosen: list[Scored] = []
    taken: Counter[str] = Counter()
    said: list[_Said] = []
    for own in ranked:
        has_room = len(chosen) < limit and taken[own.passage.source_id] < per_document
        if not has_room or own.score < least * ranked[0].score:
            continue
        new = _Said(own)
        if not any(new.repeats(before) for before in said):
            taken[own.passage.source_id] += 1
            chosen.append(own)
            said.append(new)
    return chosen


def _short(chosen: Sequence[Scored], most: int) -> list[Scored]:
    """The first passages, up to a length that is read."""
    lengths = accumulate(len(own.passage.text.split()) for own in chosen)
    counted = enumerate(zip(chosen, lengths, strict=True))
    return [own for n, (own, words) in counted if n < _FEWEST or words <= most]


class _Said:
    """What a passage says: its words, its sentences, and the figures and names of its core."""

    def __init__(self, scored: Scored) -> None:
        self._source_id = scored.passage.source_id
        self._words = frozenset(content_words(scored.passage.text))
        self._sentences = frozenset(scored.passage.sentences)
        self._values = _values(scored.core)

    def repeats(self, before: _Said) -> bool:
        shared = len(self._words & before._words)
        least = min(len(self._words), len(before._words))
        if self._source_id != before._source_id:
            return shared > _SAME * least and self._values <= before._words
        # The rest of a section uses its words again and says something else.
        return not self._sentences.isdisjoint(before._sentences)


def _values(sentence: str) -> frozenset[str]:
    """The figures and the words of names in a sentence."""
    named = {word for name in names(sentence) for word in name.key}
    return frozenset(named | {word for word in words(sentence) if not word.isalpha()})
