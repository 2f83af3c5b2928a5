"""A report's title: what the question is about, in at most a dozen of its own words.

"What is known about A: …" is titled "A"; "how can A do B, given C?" is titled "How A can do B".
"""

from __future__ import annotations

import re

from activities.offline.clauses import clauses, parted
from activities.offline.grammar import AUXILIARIES, WH, tokens_of
from activities.offline.headings import heading
from activities.offline.lexicon import PREPOSITIONS
from activities.offline.phrases import content_terms, sentences

MOST_WORDS = 12
_ORDER = re.compile(
    r"^(?:please\s+)?(?:describe|explain|analy[sz]e|discuss|summari[sz]e|outline|assess|evaluate|"
    r"examine|investigate|research|review|report on|identify|tell me about|"
    r"give (?:me )?an overview of|write (?:me )?an? (?:\w+ )?(?:report|memo|overview) (?:on|about))"
    r"\s+",
    re.I,
)
_KNOWN = re.compile(
    r"^what (?:is|are|was|were|do we|does one) (?:known|know|said|reported) (?:about|of|on) ", re.I
)
_WHAT_IS = re.compile(r"^(?:what|which|who) (?:is|are|was|were) (?=(?:the|an?|our|its)\b)", re.I)
_EXAMPLES = re.compile(
    r",?\s+(?:such as|including|for example|e\.g\.)\s.*?"
    r"(?:,(?=\s(?:could|can|will|would|should|are|is|do)\b)|$)",
    re.I,
)
_POINTS = re.compile(r"\b(?:it|they|them|these|those)\b", re.I)
_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.I)
_ASIDE = re.compile(r",\s+(?:given|considering|with|under|as|in)\b[^,]*,", re.I)
_JOINTS = (PREPOSITIONS | {"and", "or", "that", "which", "who", "given", "considering"}) - {"of"}
_BETWEEN = _JOINTS | {"of", "the", "a", "an", "its", "their", "our"}
_PERSONS = frozenset({"we", "they", "you", "i", "it"})


def title(question: str) -> str:
    first = (sentences(" ".join(question.split())) or [question])[0].rstrip(" ?.!")
    whole = parted(first)
    asked = whole.lead or whole.asked
    parts = [part.strip(" ,;") for part in clauses(asked)] or [asked]
    if len(parts) == 1 and len(first.split()) < MOST_WORDS and not _phrase(first):
        return first[:1].upper() + first[1:] + "?" * (first.split()[0].lower() in AUXILIARIES | WH)
    text = _phrase(parts[0]) or _told(parts[0])
    listed = text
    for part in parts[1:] if _phrase(parts[0]) else ():
        more = _phrase(part)
        new = more and not set(content_terms(more)) <= set(content_terms(text))
        if new and len(f"{text} {more}".split()) < MOST_WORDS:
            text = f"{text}, {_lowered(more)}"
    if text != listed:
        text = " and ".join(text.rsplit(", ", 1))
    asks = text == parts[0] and text.split()[0].lower() in AUXILIARIES | WH
    text = _cut(_ARTICLE.sub("", text))
    return text[:1].upper() + text[1:] + "?" * asks


def _phrase(clause: str) -> str:
    """A clause as a noun phrase, where its form is known; else empty."""
    bare = _ORDER.sub("", _WHAT_IS.sub("", _KNOWN.sub("", clause)))
    if bare != clause:
        return bare
    headed = heading(clause)
    opening = clause.split()[0].lower() if clause else ""
    turned = headed.lower() not in clause.lower() and (
        headed.split()[0].lower() not in clause.lower().split()[:4]
        or clause.lower().startswith(("what ", "which "))
    )
    if headed.split()[0].endswith("ing") and not clause.lower().startswith(
        headed.split()[0].lower()
    ):
        return ""  # "how A is done" reads better than "the doing of A"
    plain = opening not in AUXILIARIES | WH | PREPOSITIONS
    return headed if (turned or plain) and not _POINTS.search(headed) else ""


def _told(clause: str) -> str:
    """A question told: "how can A do B" becomes "how A can do B"."""
    clause = _ASIDE.sub("", clause)
    if len(clause.split()) > MOST_WORDS and len(_EXAMPLES.sub("", clause).split()) > 4:
        clause = _EXAMPLES.sub("", clause)
    words = clause.split()
    moves = len(words) > 3 and words[0].lower() in {"how", "why", "when", "where"}
    if not moves or words[1].lower() not in AUXILIARIES - {"does", "did"}:
        return clause
    told = [token.text for token in tokens_of(clause)]
    roles = [token.role for token in tokens_of(clause)]
    at = next((i for i in range(3, len(told)) if _acts(told, roles, i)), None)
    if at is None and told[1].lower() in {"is", "are", "was", "were"}:
        at = len(told) - 1  # "when was it built": what was done comes last
    if at is None:
        return clause
    at -= told[at - 1].lower().endswith("ly")
    auxiliary = [] if told[1].lower() in {"do"} else [told[1]]
    text = " ".join([told[0], *told[2:at], *auxiliary, *told[at:]])
    return re.sub(r"\s+([,;:])", r"\1", text)


def _acts(told: list[str], roles: list[str], i: int) -> bool:
    """The verb after the subject; "be" before it belongs to it, "the state" before one does not."""
    return told[i].lower() == "be" or (
        roles[i] == "verb"
        and ("noun" in roles[2:i] or told[2].lower() in _PERSONS)
        and roles[i + 1 : i + 2] != ["verb"]
    )


def _cut(text: str) -> str:
    """The first words, ended where a phrase ends."""
    words = text.split()
    if len(words) <= MOST_WORDS:
        return text
    ends = [i for i in range(4, min(len(words), MOST_WORDS + 2))
            if words[i].lower() in _JOINTS or words[i - 1].endswith((",", ";", ":"))]  # fmt: skip
    words = words[: ends[-1] if ends else MOST_WORDS]
    while len(words) > 3 and words[-1].lower().strip(",") in _BETWEEN:
        words.pop()
    return " ".join(words).rstrip(",;:")


def _lowered(name: str) -> str:
    first = name.split()[0]
    return name[:1].lower() + name[1:] if first[1:].islower() or len(first) == 1 else name
