"""Claims as prose: words of the sources made readable, with nothing added but who says it.

A claim in the third person stands as it is. One that says "we" is quoted with the title of its
source, because a report has no other way to say who "we" are. Table rows lose their semicolons.
Marks that would read as citations or Markdown are taken out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from activities.offline.passages import figures, is_row
from activities.offline.residue import plain
from workflows.contracts.evidence import AUTHORITY

_REFERENCE = re.compile(r"\s?\[ ?(?:\d{1,5}(?:[,;–-]\s?\d{1,5})*|citation needed|note \d+) ?\]")
_FIRST_PERSON = re.compile(r"\b(?:we|our|ours|us|I|my|we've|we're|I'm|I've|we'll)\b", re.I)
_QUOTED = re.compile(r"[“\"‘][^“”\"]{1,80}[”\"’](?!\w)")
_NOT_A_PERSON = re.compile(r"\b(?:the US|U\.S\.|US\$?|Part I|Phase I|World War I|Type I)\b")
# A name with underscores is a program's; bare, Markdown would take it for emphasis.
_UNDERSCORED = re.compile(r"[\w./:-]*_[\w./:-]*(?:\(\))?")
_CONNECTIVE = re.compile(
    r"^(?:however|alternatively|first(?:ly)?|second(?:ly)?|third(?:ly)?|lastly|in short|"
    r"for this reason|of course|additionally|moreover|furthermore|in addition|also|meanwhile|"
    r"therefore|thus|hence|consequently|as a result|accordingly|similarly|likewise|"
    r"for (?:example|instance)|in fact|indeed|notably|importantly|finally|overall|in particular|"
    r"specifically|nevertheless|that said|by contrast|in contrast|conversely|"
    r"on the other hand),\s+",
    re.I,
)
_PAIR = re.compile(r"\s*([^:;]{1,60}?):\s*(.+?)(?=;\s[^:;]{1,60}:\s|;?\.?\s*$)")
_ITEM_END = re.compile(r"[\s;,:]+$")
_WEAK = 0.4
_NAME = re.compile(r"(?!\w+ing )[A-Z][\w'’-]*(?: (?:[A-Z][\w'’-]*|of|the|and)){1,4}")


@dataclass(frozen=True)
class Cited:
    """A claim the writer may use, with the numbers of its sources."""

    id: str
    facet_id: str
    text: str
    cite: tuple[int, ...]
    verdict: str
    confidence: float
    relevance: float
    origins: int
    uncertain: str
    limits: str

    @property
    def marks(self) -> str:
        return marks(self.cite)

    @property
    def strength(self) -> float:
        """How much a reader gains by it: relevance first, then support and figures."""
        trusted = {"supported": 1.0, "qualified": 0.9, "contradicted": 0.75}.get(self.verdict, 0.7)
        support = 0.5 * self.confidence + 0.15 * min(self.origins - 1, 2)
        return trusted * (self.relevance + support + 0.15 * min(figures(self.text), 2) / 2)


def marks(numbers: Iterable[int]) -> str:
    return "".join(f"[{n}]" for n in numbers)


def clean(text: str) -> str:
    """A source's words without list marks, Markdown and its reference numbers; one full stop."""
    text = _UNDERSCORED.sub(_as_code, _REFERENCE.sub("", plain(text)))
    text = _ITEM_END.sub("", re.sub(r"\s+", " ", text).strip())
    if not text:
        return ""
    closed = text.rstrip("”\"'’)")
    return text if closed.endswith((".", "!", "?", "…")) else f"{text}."


def _as_code(found: re.Match[str]) -> str:
    core = found.group().strip("/.:-")
    lead, _, trail = found.group().partition(core)
    return f"{lead}`{core}`{trail}" if core.strip("_") else " "


def opened(text: str) -> str:
    """The text without a connective that joins it to a sentence left behind."""
    bare = _CONNECTIVE.sub("", text)
    return bare[:1].upper() + bare[1:]


def cited(text: str, numbers: str) -> str:
    """The citation before the full stop."""
    found = re.search(r"([.!…]+)$", text)
    if found:
        return f"{text[: found.start()]} {numbers}{found.group()}"
    return f"{text} {numbers}."


def speaks_as_we(text: str) -> bool:
    """Whether the words are somebody's own; what they quote is not theirs."""
    return bool(_FIRST_PERSON.search(_NOT_A_PERSON.sub(" ", _QUOTED.sub(" ", text))))


def told(claim: Cited, sources: Mapping[int, Mapping[str, object]], named: set[str]) -> str:
    """A claim as one or more sentences with its citation.

    `named` holds the titles already given in this part of the report; a source is introduced once,
    after that its words stand in quotation marks with the citation alone.
    """
    text = clean(claim.text)
    if is_row(text):
        return cited(row(text), claim.marks)
    source = sources.get(claim.cite[0], {}) if claim.cite else {}
    title = headline(str(source.get("title", "")))
    introduced = title in named or not title
    if speaks_as_we(text):
        named.add(title)
        opening = "" if introduced else f"{_naming(title, source)} says: "
        return f"{opening}“{_inner(text)}” {claim.marks}."
    text = _by_name(opened(text), title)
    if AUTHORITY.get(str(source.get("kind")), 0.5) < _WEAK and claim.origins < 2 and title:
        # What only a seller or a blog says is said to be theirs.
        named.add(title)
        naming = _naming(title, source)
        return cited(f"According to {naming[0].lower()}{naming[1:]}: {text}", claim.marks)
    return cited(text, claim.marks)


def _by_name(text: str, title: str) -> str:
    """ "The airport …" of the source "Venby Airport (1954)" is "Venby Airport …"."""
    name = title.partition(" (")[0].strip()
    found = re.match(r"The ([a-z]+)\b", text)
    if not found or not name.lower().endswith(f" {found[1]}") or not _NAME.fullmatch(name):
        return text
    return text if name.lower() in text.lower() else name + text[found.end() :]


def _naming(title: str, source: Mapping[str, object]) -> str:
    kind = str(source.get("kind", ""))
    noun = {
        "mail": "The mail",
        "chat": "The chat",
        "slides": "The presentation",
        "blog": "The blog post",
        "marketing": "The marketing text",
        "press": "The press text",
        "minutes": "The minutes",
        "study": "The study",
        "report": "The report",
        "regulation": "The regulation",
    }.get(kind, "The document")
    return f"{noun} “{title}”"


def headline(title: str) -> str:
    """A source's title as it can stand in a sentence."""
    return _REFERENCE.sub("", plain(title)).replace("“", "'").replace("”", "'").strip()


def _inner(text: str) -> str:
    """Quoted words keep their form; double marks inside become single ones."""
    text = re.sub(r"[“\"]([^“”\"]*)[”\"]", r"‘\1’", text)
    return text[:-1] if text.endswith(".") else text


def row(text: str) -> str:
    """`Column: value; Column: value.` as a line: the first value names it, the rest follow."""
    pairs = [(name.strip(), value.strip().rstrip(".")) for name, value in _PAIR.findall(text)]
    if len(pairs) < 2:
        return text
    head = pairs[0]
    first = head[1] if len(head[1].split()) > 1 else f"{head[0]} {head[1]}"
    rest = ", ".join(
        value if name.lower() in _EMPTY_NAMES else f"{_lowered(name)} {value}"
        for name, value in pairs[1:]
    )
    return f"{first}: {rest}."


_EMPTY_NAMES = frozenset({"value", "amount", "figure", "result", "number"})


def _lowered(name: str) -> str:
    common = name.split()[0][1:].islower()
    return name[:1].lower() + name[1:] if common else name
