"""How a conflict is named for a reader: what it is about, and what each side says.

The words are those of the shortest clause that holds a side, rearranged as little as grammar
allows: "MV Tern: battery", "when the quay was opened", "whether the crew was approved".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from activities.evidence.conflicts.clauses import AUXILIARY, verb_place
from activities.evidence.conflicts.polarity import turning_words
from activities.evidence.conflicts.tables import Cell
from activities.evidence.conflicts.values import Value
from activities.evidence.quantities.amounts import read
from activities.evidence.quantities.units import counted, family, is_hard
from activities.evidence.words import negated, stem

_LONGEST = 14  # words
_HERE = "\x00"  # stands where the value stood
_LEADING = re.compile(
    rf"^(?:\W|(?:and|but|or|so|that|which|who|while|the|an?|its|their|our|only|just|about|nearly|"
    rf"almost|some|over|there|also|then|both|of|we|it|they)(?![\w'\u2019-]))+(?!{_HERE})",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"(?:[\s,;:.(]|\b(?:of|for|by|to|at|in|on|from|with|about|around|only|just|nearly|almost|some|"
    r"over|than|and|or|the|an?|its|their|is|are|was|were|be|been|has|have|had|as|since|until|"
    r"between|during|up|that|which))+$",
    re.IGNORECASE,
)
_DATE_BEFORE = r"(?:\b(?:in|on|by|at|since|from|of|for|until|during|to|as of)\s+(?:the\s+)?)?"
_KIND_OF = {"kWh": "energy", "kW": "power", "s": "time", "month": "time", "m": "length",
            "kg": "weight", "m2": "area", "l": "volume", "km/h": "speed", "%": "share"}  # fmt: skip
_UNSPECIFIC = re.compile(r"(?:an? )?(?:average|mean|total|maximum|minimum|peak|median)", re.I)
_MEMBERS = re.compile(r"\s(?:members?|people|numbers)\b")
_NOUN_OF = {"weighs": "weight", "weighed": "weight", "costs": "cost", "cost": "cost",
            "lasted": "duration", "lasts": "duration", "takes": "time", "took": "time"}  # fmt: skip
_MEASURE_OF = {"long": "length", "wide": "width", "tall": "height", "high": "height",
               "deep": "depth", "old": "age", "heavy": "weight"}  # fmt: skip
_PAST = frozenset({"lost", "built", "sold", "bought", "paid", "spent", "held", "made", "sent",
                   "won", "found", "run", "lent", "cut"})  # fmt: skip
# Where a participle goes: "patients treated during the heatwave", else at the end.
_PREPOSITION = re.compile(
    r"(\s(?:during|in|on|at|for|after|before|from|by|with|between|over|to|without|near)\s|\s$)"
)
_REACHES = frozenset({"reached", "totalled", "totaled", "amounted", "averaged", "numbered"})
_QUESTION = re.compile(
    r"^(?:what|which) (?:is|was|are|were) (?:the )?|^how (?:many|much) (?=\w+ (?!is|was|are|were))",
    re.IGNORECASE,
)


def about(group: Sequence[Value]) -> str:
    """What the values are values of, in a short phrase."""
    base = min(group, key=lambda v: (v.leans, len(v.clause), v.clause, v.claim, v.text))
    if base.cell is not None and base.row is not None:
        what = base.cell.measured[0]
        what = what if what[1:2].isupper() else what[:1].lower() + what[1:]
        return f"{base.row.name}: {what}" if what else base.row.name
    if base.kind == "number":
        return (_measured(base) or base.text) + _period(group)
    if base.kind == "date":
        since = "since " if re.search(rf"\bsince {re.escape(base.text)}", base.clause) else ""
        return f"{since}when {_lowered(_short(_without_dates(base.clause)))}"
    return _named(base) or base.text


def about_denial(yes: Sequence[Value], no: Sequence[Value]) -> str:
    """What one side says and the other denies."""
    base = min((*yes, *no), key=lambda v: (negated(v.clause), len(v.clause), v.clause))
    return f"whether {_lowered(_short(base.clause))}"


def about_question(question: str) -> str:
    """A question as a phrase."""
    return _lowered(_QUESTION.sub("", " ".join(question.split()).rstrip("? "))) or question


def value_text(value: Value) -> str:
    """A value as a reader wants to see it, with the unit or noun it stands with."""
    text = value.text
    if value.cell is not None:
        text = _cell_text(value.cell)
    elif value.amount is not None and value.amount.unit and not is_hard(value.amount.unit):
        noun, end = counted(value.sentence, value.amount.end)
        if noun and noun == value.amount.unit:
            members = _MEMBERS.match(value.sentence, end)
            text = value.sentence[value.amount.start : members.end() if members else end]
    return " ".join(text.split())


def stance_text(mine: Value, theirs: Value) -> str:
    """What a side of a denial says: the words that turn it, else all it says."""
    return turning_words(mine.clause, theirs.clause) or " ".join(mine.clause.split())


def _cell_text(cell: Cell) -> str:
    unit = cell.measured[1]
    if not unit or not cell.text[-1:].isdigit():
        return cell.text
    code, _, scale = unit.partition(" ")
    if code.isupper() and len(code) == 3:
        return f"{code} {cell.text} {scale}".strip()
    return f"{cell.text} {unit}"


def _measured(value: Value) -> str:
    """A number's clause without the number: subject, then what of it is measured."""
    clause = _without_dates(value.clause.replace(value.text, _HERE, 1))
    clause = clause if _HERE in clause else f"{clause} {_HERE}"
    verb = verb_place(clause)
    if verb is not None and verb[0] < clause.index(_HERE):
        subject, noun = _trimmed(clause[: verb[0]]), _predicate(value, clause, verb)
        return _short(f"{subject}: {noun}" if subject and noun else subject or noun)
    before, _, after = clause.partition(_HERE)
    noun = after if verb is None else clause[len(before) + 1 : verb[0]]
    said = "" if verb is None else _said(clause, verb)
    if value.unit == "%" and noun.strip().startswith("of "):
        return _short(f"share of {_trimmed(noun)} {said} {_trimmed(before)}")
    return _short(f"{_trimmed(before)} {_trimmed(noun)}{': ' if said else ''}{said}")


def _predicate(value: Value, clause: str, verb: tuple[int, int]) -> str:
    """What the verb says of the subject, as a noun: "passengers carried", "weight at launch"."""
    before, _, after = clause[verb[1] :].partition(_HERE)
    word = clause[slice(*verb)].lower()
    noun = f"{_trimmed(before)} {_counted(value)} {_trimmed(after)}"
    noun = " ".join(noun.split())
    first, _, others = noun.partition(" ")
    noun = f"{_MEASURE_OF.get(first, first)} {others}".strip()
    if value.unit == "%" and after.strip().startswith("of "):
        return f"share of {noun}"
    if before.rstrip().endswith(" by"):
        return f"change in {noun}"
    if word in _NOUN_OF:
        return f"{_NOUN_OF[word]} {noun}".strip()
    if _UNSPECIFIC.fullmatch(noun):
        rate = f" per {_rate_word(value.text)}" if "/" in value.unit else ""
        return f"{noun} {_KIND_OF.get(family(value.unit), 'value')}{rate}"
    done = word.endswith("ed") or word in _PAST
    if not noun or not done or word in _REACHES or word.split()[0] in AUXILIARY:
        return noun
    return _PREPOSITION.sub(rf" {word}\1", f"{noun} ", count=1).strip()


def _counted(value: Value) -> str:
    """The noun that "2.1 million users" has within its text."""
    if not value.unit or is_hard(value.unit):
        return ""
    words = value.text.split()
    return words[-1] if len(words) > 1 and stem(words[-1]) == value.unit else ""


def _rate_word(text: str) -> str:
    return text.rpartition("per ")[2].strip() or "unit"


def _said(clause: str, verb: tuple[int, int]) -> str:
    """The verb with what follows it, without its auxiliaries."""
    word = clause[slice(*verb)]
    rest = clause[verb[1] :].replace(_HERE, " ")
    return _trimmed(rest if word.split()[0] in AUXILIARY else f"{word} {rest}")


def _named(value: Value) -> str:
    clause = " ".join(value.clause.split())
    text = " ".join(value.text.split())
    before, _, after = clause.partition(text)
    role = value.slot.partition(" ")[0]
    if role == "is":
        subject = re.sub(r"^\W*(?:is|was|are|were)\s", "", after)
        return _short(_trimmed(before) or _trimmed(subject))
    if role == "by" and before.strip().lower() in ("", "the"):
        return _short(f"who {after.strip()}", keep=True)
    if role in ("by", "to", "in", "at", "from"):
        asked = {"by": "by whom", "to": "to whom", "from": "from where"}.get(role, "where")
        head = re.sub(rf"\b{role}\s+(?:the\s+)?$", "", before)
        return f"{asked} {_lowered(_short(head))}"
    return _short(f"{before.strip()} \u2026 {after.strip()}")


def _without_dates(clause: str) -> str:
    for moment in reversed(read(clause)[0]):
        head = re.sub(rf"{_DATE_BEFORE}$", "", clause[: moment.start], flags=re.IGNORECASE)
        clause = f"{head.rstrip()} {clause[moment.end :].lstrip(' ,')}"
    return clause.strip()


def _period(group: Sequence[Value]) -> str:
    """The period, where all sides name one and the same."""
    named = {(m.first, m.last): m for v in group for m in v.periods}
    if len(named) != 1 or not all(v.periods for v in group):
        return ""
    (moment,) = named.values()
    return f", {moment.text}"


def _trimmed(text: str) -> str:
    return _TRAILING.sub("", _LEADING.sub("", text.strip())).strip()


def _short(text: str, keep: bool = False) -> str:
    words = text.replace(_HERE, " ").split()
    plain = " ".join(words)
    plain = plain if keep else re.sub(r"^(?:and|but|or|so|that|which|who)\s+", "", plain)
    if len(words) > _LONGEST:
        plain = " ".join(plain.split()[:_LONGEST])
    plain = re.sub(r"[\s,;:.]+$", "", _TRAILING.sub("", plain)) or plain
    return re.sub(r"^(?:[Tt]he|[Aa]n?)\s+", "", plain) if not keep and ": " in plain else plain


def _lowered(text: str) -> str:
    """The text as it reads inside a sentence: an opening article or common word in lower case."""
    first, _, rest = text.partition(" ")
    common = first.lower() in ("the", "a", "an", "no", "all", "some", "in", "on", "at", "when",
                               "this", "these", "our", "its")  # fmt: skip
    if common or (first.istitle() and rest[:1].islower() and not first.endswith("s")):
        return f"{first[:1].lower()}{first[1:]} {rest}".strip()
    return text
