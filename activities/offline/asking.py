"""Questions beside a job: what to ask back before it, and an answer from its report.

A question is vague where its few words stand in several documents; suggested are titles, headings
and years of these. A report answers with the sentence that answers first, and only where a passage
covers most of what is asked and holds the kind of answer that is wanted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from activities.evidence.text.terms import STOP_WORDS, lemma, words
from activities.offline.answer_types import holds_answer
from activities.offline.markdown import passage
from activities.offline.passages import Piece, cut_passages, leans
from activities.offline.question import FACTS, Question, Wants
from activities.offline.request import Conversation, Hit, JsonObject, Reply, UseTools
from activities.offline.researcher import select
from activities.offline.scoring import Scored, Scorer

_ABSENT, _ABSENT_OPEN = 0.2, 0.34
"""The share of the question's words that may stand in no source; more, and it is not held."""
_MOST = 3
_NEARLY_BEST = 0.85
_REST_WORDS = 90
_SENTENCE_WORDS = 60
"""A longer one is a table or a list that has lost its lines."""
_WHO = re.compile(r"(?:who|whom)\s+(\w+)", re.I)
_BRIEF = FACTS | {Wants.RULE}
"""One sentence answers such a question, or none does."""


def answer(conversation: Conversation) -> Reply:
    brief = conversation.brief
    question = Question(str(brief["question"]))
    scorer = Scorer(question, brief["frequency"], int(brief["sources"]))
    absent = question.main_terms & scorer.absent
    missing = [question.surface[own] for own in question.terms if own in absent]
    hits = map(_read, brief["evidence"] if _may_be_held(question, len(missing)) else ())
    ranked = scorer.rank(cut_passages(hits, is_open=question.is_open))
    is_brief = question.wants in _BRIEF
    chosen = _choose(ranked, lambda own: _is_direct(own, question))
    if not chosen and not is_brief:
        chosen = _choose(ranked, lambda own: _is_related(own, question))
        missing += [f"a direct answer to “{question.text}”"] if chosen else []
    told = [_tell(own, is_brief=is_brief or n > 0) for n, own in enumerate(chosen)]
    status = "not_held" if not chosen else "partly" if missing else "answered"
    return Reply(
        {
            "status": status,
            "text": "\n\n".join(told),
            "missing": missing,
            "offer": "" if status == "answered" else question.text,
        }
    )


def _may_be_held(question: Question, absent: int) -> bool:
    """Not where much of it stands nowhere, nor where one word alone, as in "who maintains it?",
    stands everywhere."""
    terms = len(question.main_terms)
    fewest = 2 if question.wants in _BRIEF else 1
    allowed = _ABSENT_OPEN if question.is_open else _ABSENT
    return terms >= fewest and absent <= allowed * terms


def _choose(ranked: Sequence[Scored], may: Callable[[Scored], bool]) -> list[Scored]:
    """The best passages that may answer, as long as they are nearly as good as the first."""
    able = [own for own in ranked if may(own)]
    alike = [own for own in able if own.score >= _NEARLY_BEST * able[0].score]
    # What points at a sentence that does not stand there comes last.
    alike.sort(key=lambda own: leans(_around(own, 0)[0].text))
    return select(alike, _MOST, least=0.0, per_document=_MOST)


def _is_direct(scored: Scored, question: Question) -> bool:
    """Whether one sentence, under its heading, holds what is asked and the kind of answer wanted.

    All words of a short question: each may be the one that matters.
    """
    heading = scored.passage.section.rpartition(" › ")[2]
    held = question.terms_of(f"{scored.core} {scored.passage.heading} {heading}")
    return (
        scored.answers
        and len(scored.core.split()) <= _SENTENCE_WORDS
        and len(question.main_terms - held) <= len(question.main_terms) // 4
        and (question.wants not in _BRIEF or holds_answer(scored.core, question))
        and _says_who(scored.core, question)
    )


def _says_who(sentence: str, question: Question) -> bool:
    """Whether a sentence holds the verb of a who: a ferry's battery operation has no operator."""
    asked = _WHO.match(question.text)
    verb = lemma(asked[1].lower()) if asked else ""
    return verb in STOP_WORDS["en"] or not verb or verb in map(lemma, words(sentence))


def _is_related(scored: Scored, question: Question) -> bool:
    """Whether all that is asked about stands together, though not in one sentence."""
    held = question.terms_of(f"{scored.passage.text} {scored.passage.section}")
    return scored.answers and question.main_terms <= held


def _read(item: JsonObject) -> Hit:
    return Hit(
        source_id=str(item["n"]),
        title=str(item["title"]),
        section=str(item["section"]),
        date=item.get("date"),
        blocks=tuple(map(str, item.get("blocks") or item["quotes"])),
    )


def _tell(scored: Scored, *, is_brief: bool) -> str:
    """The core of a passage, and what follows it there where a sentence is not enough."""
    shown = replace(scored.passage, pieces=_around(scored, 0 if is_brief else _REST_WORDS))
    return passage(shown.parts, [int(shown.source_id)], "")


def _around(scored: Scored, room: int) -> tuple[Piece, ...]:
    """The core with what it leans on before it, and after it what it leads to or has room."""
    pieces = scored.passage.pieces
    first = scored.passage.sentences.index(scored.core)
    last = first + 1
    while first > 0 and (leans(pieces[first].text) or "\n" in pieces[first].text):
        first -= 1
    while last < len(pieces) and (
        pieces[last - 1].text.endswith(":") or (room := room - len(pieces[last].text.split())) >= 0
    ):
        last += 1
    return pieces[first:last]


_FEW_TERMS = 2
_MANY_DOCUMENTS = 3
_MOST_CHOICES = 4
_LONGEST_CHOICE = 100
_NUMBERING = re.compile(r"^[\d.]+\s+")
_PERIOD = re.compile(r"\b(?:\d{4}|now|today|current|latest|last|next|since|heute|seit)\b", re.I)


def clarify(conversation: Conversation) -> UseTools | Reply:
    question = Question(str(conversation.brief["question"]))
    asked = question.main_terms
    if len(asked) > _FEW_TERMS or "search" not in conversation.tools:
        return Reply({"questions": []})
    if not conversation.calls:
        return UseTools((("search", {"query": question.text, "aim": "what it could mean"}),))
    hits = [
        hit
        for hit in conversation.hits
        if not asked or asked & question.terms_of(" ".join((hit.title, hit.section, *hit.blocks)))
    ]
    if len({hit.source_id for hit in hits}) < _MANY_DOCUMENTS:
        return Reply({"questions": []})
    return Reply({"questions": _questions(question, asked, hits)})


def _questions(question: Question, asked: frozenset[str], hits: Sequence[Hit]) -> list[JsonObject]:
    titles = _distinct((hit.title for hit in hits), asked)
    sections = (_NUMBERING.sub("", hit.section.rpartition(" › ")[2]) for hit in hits)
    found = {
        "Which of these do you mean?": titles,
        "What matters most to you about it?": _distinct(sections, asked, titles),
        "For which period?": [] if _PERIOD.search(question.text) else _years(hits),
    }
    return [{"text": t, "suggestions": choices} for t, choices in found.items() if len(choices) > 1]


def _distinct(texts: Iterable[str], asked: frozenset[str], others: Sequence[str] = ()) -> list[str]:
    """Texts that add words of their own, to the question and to each other; those that share words
    with the question first."""
    known = [set(Question(text).terms) for text in others]
    found: list[str] = []
    for text in sorted(texts, key=lambda text: asked.isdisjoint(Question(text).terms)):
        own = set(Question(text).terms)
        if (
            0 < len(text) <= _LONGEST_CHOICE
            and own - asked
            and not any(own <= one or one <= own for one in known)
        ):
            known.append(own)
            found.append(text)
    return found[:_MOST_CHOICES]


def _years(hits: Iterable[Hit]) -> list[str]:
    """The newest years that the documents are dated by, and all of them together."""
    years = sorted({hit.date[:4] for hit in hits if hit.date}, reverse=True)
    return [*years[: _MOST_CHOICES - 1], f"{years[-1]} to {years[0]}"] if len(years) > 1 else years
