"""A question's clause as a heading, and as a question that stands alone.

"how safe it is" is headed "Safety" and asked as "How safe is the bridge?"; "how vessels and
charging perform" is headed "Vessels and charging". A clause whose form is not known keeps its own
words: a plain heading is better than a wrong one.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from activities.offline.grammar import trimmed
from activities.offline.lexicon import PREPOSITIONS
from activities.offline.nominals import (
    EFFECTED,
    PLAIN_PASSIVES,
    PLAIN_VERBS,
    REPORTED,
    action,
    quality,
)
from activities.offline.phrases import content_terms

_BE = r"(?:is|are|was|were)"
_HELP = r"(?:do|does|did|will|would|can|could|should)"
_PRONOUN = r"(?:it|they|this|that|these|those|them)"
_PARTICLE = r"(?: (?P<particle>for|with|up|out|on))?"
_POINTS = re.compile(rf"{_PRONOUN}", re.I)
_INNER = re.compile(r",?\s+and\s+(?=(?:what|how|why|who|when|where|whether)\b)", re.I)

_WELL = re.compile(rf"how (?:well|badly) (?:(?P<aux>{_HELP}) )?(?P<np>.+?) (?P<verb>\w+)", re.I)
_SO = re.compile(rf"(?:how|whether) (?P<adj>[\w-]+) (?P<be>{_BE}) (?P<np>.+)", re.I)
_SO_TOLD = re.compile(rf"how (?P<adj>[\w-]+) (?P<np>.+?) (?P<be>{_BE})", re.I)
_WHETHER = re.compile(rf"whether (?P<np>.+?) (?P<be>{_BE}) (?P<adj>[\w-]+)", re.I)
_TAKES = re.compile(rf"how long (?:(?P<aux>{_HELP}) )?(?P<np>.+?) (?:takes?|lasts?)", re.I)
_COST = re.compile(
    rf"(?:what|how much) (?:(?P<aux>{_HELP}) )?(?!{_BE}\b)(?P<np>.+?) costs?(?P<rest>(?: \w+)*)",
    re.I,
)
_DONE = re.compile(
    rf"how (?P<be>{_BE}) (?P<np>.+?) (?:(?P<first>\w+) and )?(?P<verb>\w+){_PARTICLE}", re.I
)
_DONE_TOLD = re.compile(
    rf"how (?P<np>.+?) (?P<be>{_BE}) (?:(?P<first>\w+) and )?(?P<verb>\w+){_PARTICLE}", re.I
)
_DOES = re.compile(rf"how (?:(?P<aux>{_HELP}) )?(?P<np>.+?) (?P<verb>\w+)", re.I)
_REPORTED = re.compile(
    rf"what (?:(?P<aux>{_HELP}) )?(?P<np>.+?) (?P<verb>\w+)(?P<about> (?:about|of|from))?", re.I
)
_KNOWN = re.compile(rf"what (?:{_BE} (?:known|said|reported)|is there|there is) (?:about|of|on) "
                    r"(?P<np>.+)", re.I)  # fmt: skip
_WHAT_IS = re.compile(rf"(?:what|which|who) {_BE} (?P<np>.+)", re.I)
_WHAT_TOLD = re.compile(rf"(?:what|which) (?P<np>.+?) {_BE}(?: there)?", re.I)
# "which methods are recommended", "which films were directed by A"
_WHICH_DONE = re.compile(
    rf"(?:what|which) (?P<np>.+?) {_BE} (?P<verb>\w+(?:ed|en|wn|ilt|ught))(?P<rest>(?: .+)?)", re.I
)
_BROUGHT = re.compile(r"what (?P<verb>\w+s) (?P<np>.+)", re.I)
_HAPPENS = re.compile(r"what (?:happens|happened|will happen) (?:to|with|in|at|after) .+", re.I)
_TO_DO = re.compile(
    r"what (?:do|does|did|should|must|can|will) (?P<np>.+?) (?:have to |need to )?do "
    r"(?:about|with|for) (?P<what>.+)",
    re.I,
)
_CAUSED = re.compile(r"what (?:caused|causes|led to|drove|drives) (?P<np>.+)", re.I)
_MEANS = re.compile(r"what (?:does|do|did|would) (?:that|this|it|these) mean (?P<np>.+)", re.I)
_APPLY = re.compile(r"which (?P<np>.+?) (?:apply|applies|exists?|matter|matters|follow)", re.I)
_LEAD = re.compile(
    r"^(?:what|which)\b"
    r"(?: (?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|it|its|they|"
    r"their|the|a|an|be|been)\b)*\s*",
    re.I,
)


def heading(clause: str) -> str:
    """The clause as a noun phrase, where its form is one that is known."""
    parts = [part.strip(" ,") for part in _INNER.split(clause.strip(" ?."))]
    nouns = [_noun(part) for part in parts if part]
    named = [noun for noun in dict.fromkeys(nouns) if noun]
    text = _listed([named[0], *map(_lowered, named[1:])]) if named else clause
    return text[:1].upper() + text[1:]


def _noun(clause: str) -> str:
    for form, said in _HEADED:
        match = form.fullmatch(clause)
        if match and (noun := said(match)):
            return noun
    return _LEAD.sub("", clause) or clause


def _of(noun: str | None, np: str) -> str | None:
    """A noun with whose it is; with a pronoun for owner it stands alone."""
    if noun is None:
        return None
    return noun if _POINTS.fullmatch(np) else f"{noun} of {np}"


def _whom(rest: str) -> str:
    """What follows "costs": "at run time" as it is, "drivers" as "for drivers"."""
    return rest if not rest or rest.split()[0].lower() in PREPOSITIONS else f" for{rest}"


def _so(m: re.Match[str]) -> str | None:
    return _of(quality(m["adj"]), m["np"])


def _done(m: re.Match[str]) -> str | None:
    if m["verb"].lower() in PLAIN_PASSIVES and not _POINTS.fullmatch(m["np"]):
        return trimmed(m["np"])
    noun = action(m["verb"], m["particle"] or "")
    if m["first"] and noun:
        first = action(m["first"])
        noun = f"{first} and {noun}" if first else None
    return _of(noun, m["np"])


def _does(m: re.Match[str]) -> str | None:
    plain = m["verb"].lower() in PLAIN_VERBS and not _POINTS.fullmatch(m["np"])
    return trimmed(m["np"]) if plain else None


def _reported(m: re.Match[str]) -> str | None:
    noun = REPORTED.get(m["verb"].lower())
    owner = trimmed(m["np"])
    if noun is None or _POINTS.fullmatch(m["np"]) or owner.lower() in {"we", "i", "you"}:
        return None
    return f"{owner}' {noun}" if owner.endswith("s") else f"{owner}'s {noun}"


def _which_done(m: re.Match[str]) -> str:
    noun, done = trimmed(m["np"]), m["verb"].lower()
    return f"{noun} {done}{m['rest']}" if m["rest"] else f"{done} {noun}"


def _brought(m: re.Match[str]) -> str | None:
    noun = EFFECTED.get(m["verb"].lower())
    return _of(noun, m["np"]) if noun else None


_Said = Callable[[re.Match[str]], str | None]
_HEADED: tuple[tuple[re.Pattern[str], _Said], ...] = (
    (_CAUSED, lambda m: f"causes of {m['np']}"),
    (_HAPPENS, lambda m: m.group()),
    (_TO_DO, lambda m: trimmed(m["what"])),
    (_BROUGHT, _brought),
    (_MEANS, lambda m: f"what it means {m['np']}"),
    (_KNOWN, lambda m: trimmed(m["np"])),
    (_COST, lambda m: f"{_of('costs', m['np'])}{_whom(m['rest'])}"),
    (_TAKES, lambda m: _of("duration", m["np"])),
    (_WELL, lambda m: _of("performance", m["np"])),
    (_SO, _so),
    (_SO_TOLD, _so),
    (_WHETHER, _so),
    (_DONE, _done),
    (_DONE_TOLD, _done),
    (_DOES, _does),
    (_REPORTED, _reported),
    (_APPLY, lambda m: trimmed(m["np"])),
    (_WHICH_DONE, _which_done),
    (_WHAT_IS, lambda m: trimmed(m["np"])),
    (_WHAT_TOLD, lambda m: trimmed(m["np"])),
)


_ONE_SUBJECT = (_WELL, _SO, _SO_TOLD, _DONE, _DONE_TOLD, _DOES, _REPORTED)


def subject_of(clause: str) -> str | None:
    """Who or what a clause is about, where its form tells: "how A and B perform"."""
    said = dict(_HEADED)
    for form in _ONE_SUBJECT:
        match = form.fullmatch(clause.strip(" ?."))
        if match and said[form](match):
            return str(match["np"])
    return None


def asked(clause: str, subject: str) -> str | None:
    """The clause as a question of its own about the subject; None where it cannot be turned."""
    parts = [part.strip(" ,") for part in _INNER.split(clause.strip(" ?."))]
    turned: list[str] = []
    for part in parts:
        # The subject is named once; further parts may point back to it.
        question = _turned(part, subject if not turned else "")
        if question is None:
            return None
        turned.append(question)
    text = ", and ".join([turned[0], *map(_lowered, turned[1:])])
    return text[:1].upper() + text[1:]


def _turned(clause: str, subject: str) -> str | None:
    for form, said in _ASKED:
        match = form.fullmatch(clause)
        if match and (question := said(match, subject)):
            return question
    first = clause.lower().split()[:2]
    if len(first) > 1 and re.fullmatch(rf"{_BE}|{_HELP}", first[1]):
        return _about(clause, subject)
    return None


def _about(question: str, subject: str) -> str:
    named = set(content_terms(subject)) <= set(content_terms(question))
    return question if named else f"{question} with regard to {subject}"


def _named(np: str, subject: str) -> tuple[str, str]:
    """Who the clause is about, and what is still to be named after it."""
    if _POINTS.fullmatch(np):
        return subject or np, ""
    return np, subject


def _plural(np: str) -> bool:
    if np.lower().split()[0].endswith("ing") or np.lower() in {"it", "this", "that"}:
        return False
    if " and " in np or np.lower() in {"they", "these", "those", "we", "you", "i"}:
        return True
    head = re.split(r"\s(?:of|in|on|for|to|from|by|with|at)\s", np)[0].lower()
    return head.endswith("s") and not head.endswith(("ss", "us", "is", "'s", "’s"))


def _be(np: str, was: str) -> str:
    past = was.lower() in {"was", "were"}
    return ("were" if past else "are") if _plural(np) else ("was" if past else "is")


def _base(verb: str, np: str) -> str:
    """A verb as it follows "do": the form with s belongs to one, "performs"."""
    if _plural(np) or not verb.endswith("s") or verb.endswith("ss"):
        return verb
    return verb[:-2] if verb.endswith(("shes", "ches", "sses", "oes")) else verb[:-1]


def _ask_so(m: re.Match[str], subject: str) -> str | None:
    if quality(m["adj"]) is None:
        return None
    np, rest = _named(m["np"], subject)
    return _about(f"how {m['adj']} {_be(np, m['be'])} {np}", rest)


def _ask_done(m: re.Match[str], subject: str) -> str | None:
    if action(m["verb"]) is None and m["verb"].lower() not in PLAIN_PASSIVES:
        return None
    np, rest = _named(m["np"], subject)
    first = f"{m['first']} and " if m["first"] else ""
    particle = f" {m['particle']}" if m["particle"] else ""
    return _about(f"how {_be(np, m['be'])} {np} {first}{m['verb']}{particle}", rest)


def _ask_does(wh: str) -> Callable[[re.Match[str], str], str | None]:
    def turned(m: re.Match[str], subject: str) -> str | None:
        verb = m["verb"].lower()
        if not m["aux"] and verb not in PLAIN_VERBS and verb not in REPORTED:
            return None
        np, rest = _named(m["np"], subject)
        helping = m["aux"] or ("do" if _plural(np) else "does")
        if helping.lower() in {"do", "does"}:
            helping = "do" if _plural(np) else "does"
        more = m.groupdict().get("about") or ""
        return _about(f"{wh} {helping} {np} {_base(m['verb'], m['np'])}{more}", rest)

    return turned


def _ask_cost(m: re.Match[str], subject: str) -> str:
    np, rest = _named(m["np"], subject)
    return _about(f"what {'do' if _plural(np) else 'does'} {np} cost{m['rest']}", rest)


def _ask_takes(m: re.Match[str], subject: str) -> str:
    np, rest = _named(m["np"], subject)
    return _about(f"how long {'do' if _plural(np) else 'does'} {np} take", rest)


_ASKED: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], str], str | None]], ...] = (
    (_MEANS, lambda m, subject: _about(m.group(), subject)),
    (_COST, _ask_cost),
    (_TAKES, _ask_takes),
    (_WELL, _ask_does("how well")),
    (_SO, _ask_so),
    (_SO_TOLD, _ask_so),
    (_DONE, _ask_done),
    (_DONE_TOLD, _ask_done),
    (_DOES, _ask_does("how")),
    (_REPORTED, _ask_does("what")),
)


def _lowered(text: str) -> str:
    return text if any(c.isupper() for c in text[1:].split(" ")[0]) else text[:1].lower() + text[1:]


def _listed(items: list[str]) -> str:
    return items[0] if len(items) < 2 else f"{', '.join(items[:-1])} and {items[-1]}"
