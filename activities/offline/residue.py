"""Residue of markup in a sentence: list marks, emphasis, links, tags, headings run into it.

`plain` takes it off and folds white space, so that what is left reads as a person would write it;
`unglued` takes off a heading that ran into the sentence below it.
"""

from __future__ import annotations

import re
from functools import lru_cache

_MARKS = re.compile(
    r"^(?:[-*+•·▪◦‣●○■□➢✓>#|]+|\(?\d{1,2}[.)]|\([a-z]\)|[a-z]\)|\[[ xX]\]|§ ?\d+[.\d]*|"
    r"\d{1,2}(?:\.\d{1,2}){1,3}\.?(?= [A-Z][a-z ])|"
    r"(?:DECISION|ACTION|NOTE|NB|N\.B\.|Notes?|Tips?|Important|Warning|Example|Caution):)\s+"
)
# Residue of Markdown, reStructuredText, HTML and wikis.
_EMPHASIS = re.compile(
    r"\*\*|(?<!\w)__(?=\w)|(?<=\w)__(?!\w)|`|(?<!\w)\*(?=\w)|(?<=[\w.,!?])\*(?!\w)|"
    r"\[\^[\w-]+\]:?|(?<!\w):(?!rfc|pep)[a-z]+:(?=[\w/`])|(?<=\w)_+(?=[\s,.;:)]|$)"
)
_LINK = re.compile(
    r"!?\[([^\[\]]+)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)| ?\[[^\[\]]*\])"
    # "[RFC 230]", "[companion RFC]": the address stands at the end of the page.
    r"|(?<![\w\]])\[(?!sic\b|citation|note |edit\b|\W)([A-Za-z#@][^\[\]]{2,60})\](?![\w(])"
)
_HALF_LINK = re.compile(r"\[(?=[^\[\]]*$)|^([^\[\]]*)\](?:\([^()\s]*\)?)?")
_ESCAPED = re.compile(r"\\(?=[#*_`\[\](){}<>|.!~+-])|\\$")
# Quotation marks as typewriters have them, and marks set off by a space.
_TYPED = re.compile(r"(``\s*|\s*'')|\s+[,.;:!?](?=\s|$)")
_TAG = re.compile(r"</?[a-z]\w*(?: [^<>]*)?/?>")
_NUMBERED = re.compile(r"(?<!\w):(rfc|pep):`?(?=\d)")
_STRESSED = re.compile(r"(?<!\w)_([^_\s](?:[^_]*[^_\s])?)_(?!\w)")
_EDIT = re.compile(r"^.{0,80}?\[ ?edit ?\]\s*(?=[A-Z\"“])|\s*\[ ?edit ?\]")
# "(; born 30 July 1970)": what stood there was in a script that got lost.
_HOLLOW = re.compile(r"\s*\(\s*[;,]?\s*\)|(?<=\()\s*[;,]\s*")
# "The Wall The Wall is a film", "Rome (city) Rome is": the title of the page, glued to its text.
_DOUBLED = re.compile(r"^(.{3,80}?)(?: \([^()]{2,60}\))? (?=\1\b)")
_GLUED = re.compile(
    r"^(?:(?:[A-Z][\w&’'/-]*|and|of|for|the|in|to|with|on|&|-|–)[:,]?\s+){3,12}?"
    r"(?=(?:In|The|As|Our|We|By|This|At|To|For|With|During|An|A|Since|From|While|Through|Over)\s+"
    r"[a-z0-9Q])"
)


@lru_cache(maxsize=20_000)
def plain(sentence: str) -> str:
    """The sentence without list marks and Markdown residue, white space folded."""
    text = _LINK.sub(lambda m: m[1] or m[2], _ESCAPED.sub("", sentence))
    text = _TYPED.sub(lambda m: '"' if m.lastindex else m[0].strip(), _TAG.sub(" ", text))
    text = " ".join(text.split())
    text = _NUMBERED.sub(lambda m: f"{m[1].upper()} ", text)
    text = _EDIT.sub("", _EMPHASIS.sub("", _STRESSED.sub(r"\1", text)))
    text = _HOLLOW.sub("", _HALF_LINK.sub(r"\1", text))
    text = _MARKS.sub("", text.strip()).strip()
    return _DOUBLED.sub("", text) if text[:1].isupper() else text


def unglued(text: str) -> str:
    """The sentence without a heading that lost its line break: "Next Steps In 2024 we …"."""
    found = _GLUED.match(text)
    if found and sum(word[0].isupper() for word in found.group().split()) >= 3:
        return text[found.end() :]
    return text
