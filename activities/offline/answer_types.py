"""Whether a text holds the kind of answer a question wants."""

from __future__ import annotations

import re
from collections.abc import Callable

from activities.evidence.quantities.amounts import quantities
from activities.evidence.quantities.dates import moments
from activities.evidence.text.names import names
from activities.evidence.text.terms import STOP_WORDS
from activities.offline.passages import ROW
from activities.offline.question import Question, Wants

_INSTRUCTION = re.compile(
    r"\b(?:you (?:can|should|must|may|need|have to)|(?:can|should|must|may) be|need(?:s)? to"
    r"|has to be|by \w+ing|(?:is|are) \w+ed (?:by|with|in|via|through|online|using|from|at)"
    r"|kann man|können sie|müssen sie|sollten?)\b"
)
# An imperative opens a sentence with a bare verb: "Run the …", "Set `x` …".
_IMPERATIVE = re.compile(
    r"(?:first,? |then,? |next,? |please |to [^,.]{3,60}, )?"
    r"(?P<verb>[a-z]{2,12})(?<!s)(?<!ed)(?<!ing)(?<!ly)"
    r" (?:(?:the|a|an|your|it|this|that|each|all|any|to|on|in|with|at|for)\b|`|[\w.]+\(|--"
    r"|(?-i:[A-Z_]{3,}|\w+[a-z][A-Z]|\w+_\w))",
    re.IGNORECASE,
)
_RULE = re.compile(
    r"\b(?:must|may|can|cannot|can't|could|should|shall|not|never|only|always|required?|requires"
    r"|allowed|permitted|forbidden|prohibited|possible|impossible|support(?:s|ed)?|needs?|optional"
    r"|valid|invalid|mandatory|exempt|unless|without|no longer|nicht|muss|müssen|darf|dürfen|kann"
    r"|können|verboten|erlaubt|kein\w*)\b|n't\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|since|due to|owing to|as a result|reasons?|caus(?:e[sd]?|ing)|so that"
    r"|in order to|therefore|leads? to|led to|results? (?:in|from)"
    r"|to (?:avoid|prevent|ensure|protect|reduce|allow|make)|weil|da|denn|wegen|aufgrund|damit)\b",
    re.IGNORECASE,
)
# "the route to Outer Skarn", "between Lindrey and Morrow Point": such a name is a place's.
_OF_A_PLACE = re.compile(
    r"\b(?:to|in|at|from|between|near|into|via|across) (?:[A-Z][\w'’-]* )*(?:(?:and|or) )?$"
)
# What a row of a table does not say.
_IN_SENTENCES = frozenset({Wants.INSTRUCTION, Wants.MANNER, Wants.REASON})


def holds_answer(text: str, question: Question) -> bool:
    """Whether the text holds what could answer the question, beside the question's own words."""
    check = _CHECKS.get(question.wants)
    if question.wants in _IN_SENTENCES and ROW.match(text):
        return False
    return check is None or check(text, question)


def _holds_date(text: str, question: Question) -> bool:
    return any(moment.text not in question.text for moment in moments(text))


def _holds_number(text: str, question: Question) -> bool:
    return any(amount.text not in question.text for amount in quantities(text))


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


def _holds_instruction(text: str, _: Question) -> bool:
    """A code block, an imperative, or a sentence that says what can or must be done."""
    opening = _IMPERATIVE.match(text)
    is_imperative = opening is not None and opening["verb"].lower() not in STOP_WORDS["en"]
    return "\n" in text or is_imperative or _INSTRUCTION.search(text.lower()) is not None


_CHECKS: dict[Wants, Callable[[str, Question], bool]] = {
    Wants.DATE: _holds_date,
    Wants.NUMBER: _holds_number,
    Wants.PERSON: _holds_name,
    Wants.PLACE: _holds_name,
    Wants.INSTRUCTION: _holds_instruction,
    Wants.RULE: lambda text, _: _RULE.search(text) is not None,
    Wants.REASON: lambda text, _: _REASON.search(text) is not None,
}
