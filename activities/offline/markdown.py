"""Passages as Markdown, word for word: nothing added but marks, nothing lost but broken links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_LINK = re.compile(r"!?\[([^\]\n]*)\]\((?:[^()\n]|\([^()\n]*\))*\)|\[([^\]\n]+)\]\[[^\]\n]*\]")
_CITATION_LIKE = re.compile(r"\[(?=\d{1,5}\])")
# A bare name with underscores is a program's; Markdown would take the underscores for emphasis.
_UNDERSCORED = re.compile(r"(?<![`\w/])(?=\w*_)[\w.]*\w(?:\(\))?(?![`\w])")
_LINE_START = re.compile(r"^(?=[#>|+]|[-*] |\d+[.)] )")
_CODE = re.compile(r"(`[^`\n]+`)")


def plain(text: str) -> str:
    """A passage of prose, safe to stand in a paragraph."""
    text = _LINK.sub(lambda link: link[1] or link[2] or "", " ".join(text.split()))
    pieces = _CODE.split(text)
    pieces[::2] = [_UNDERSCORED.sub(lambda name: f"`{name[0]}`", piece) for piece in pieces[::2]]
    text = _CITATION_LIKE.sub("&#91;", "".join(pieces))
    return _LINE_START.sub(r"\\", text)


def bare(text: str) -> str:
    """No square brackets: a number in them would read as a citation."""
    return text.replace("[", "(").replace("]", ")")


def remark(text: str) -> str:
    """A sentence about the research, which needs no citation."""
    return f"_{bare(text.replace('_', ' '))}_"


def marks(numbers: Iterable[int]) -> str:
    return "".join(f"[{n}]" for n in numbers)


def cited(text: str, numbers: Iterable[int]) -> str:
    """The text with its citations before the full stop."""
    text = text.rstrip()
    if text.endswith((".", "!", "?")) and not text.endswith("..."):
        return f"{text[:-1]} {marks(numbers)}{text[-1]}"
    return f"{text} {marks(numbers)}"


def passage(parts: Sequence[str], numbers: Sequence[int], lead: str) -> str:
    """A claim's parts as a paragraph, a list with its lead, or a line with its code block."""
    label = f"**{bare(lead)}:** " if lead else ""
    *before, last = parts
    if "\n" in last:
        said = cited(plain(" ".join(before)), numbers) if before else marks(numbers)
        return f"{label}{said}\n\n{fenced(last)}"
    if len(parts) > 1:
        head = cited(plain(parts[0]), numbers)
        return "\n".join(
            [f"{label}{head}", "", *(f"- {cited(plain(p), numbers)}" for p in parts[1:])]
        )
    return f"{label}{cited(plain(last), numbers)}"


def fenced(code: str) -> str:
    """A code block without the indentation all its lines share."""
    lines = [line for line in code.splitlines() if not line.lstrip().startswith(("```", "~~~"))]
    indent = min((len(li) - len(li.lstrip()) for li in lines if li.strip()), default=0)
    return "\n".join(["```", *(line[indent:].rstrip() for line in lines), "```"])
