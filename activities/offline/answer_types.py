"""Whether a text holds the kind of answer a question wants: a date, an amount, a name.

What tells instructions, rules and reasons by their words was measured, too: passages that had it
answered no more often than others.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from activities.evidence.quantities.amounts import quantities
from activities.evidence.quantities.dates import moments
from activities.evidence.text.names import names
from activities.offline.question import FACTS, Question, Wants

# "the route to Outer Skarn", "between Lindrey and Morrow Point": such a name is a place's.
_OF_A_PLACE = re.compile(
    r"\b(?:to|in|at|from|between|near|into|via|across) (?:[A-Z][\w'’-]* )*(?:(?:and|or) )?$"
)


def holds_answer(text: str, question: Question) -> bool:
    """Whether the text holds what could answer the question, beside the question's own words."""
    check = _CHECKS.get(question.wants)
    if question.wants in FACTS and "\n" in text:
        # Code states no fact.
        return False
    return check is None or check(text, question)


def _holds_date(text: str, question: Question) -> bool:
    return any(moment.text not in question.text for moment in moments(text))


def _holds_number(text: str, question: Question) -> bool:
    """A figure the question does not hold; "one" is mostly no figure, as in "only one of them"."""
    amounts = (amount.text for amount in quantities(text))
    return any(amount not in question.text and amount.lower() != "one" for amount in amounts)


def _holds_name(text: str, question: Question) -> bool:
    """A name the question does not hold; a lone capital that only opens the text is none, and a
    who wants no place, unless it is "to whom"."""
    may_be_place = question.wants is Wants.PLACE or " whom" in question.text.lower()
    return any(
        not name.key <= question.names
        and (name.start > 0 or " " in name.text)
        and (may_be_place or not _OF_A_PLACE.search(text[: name.start][-60:]))
        for name in names(text)
    )


_CHECKS: dict[Wants, Callable[[str, Question], bool]] = {
    Wants.DATE: _holds_date,
    Wants.NUMBER: _holds_number,
    Wants.PERSON: _holds_name,
    Wants.PLACE: _holds_name,
}
