"""Passages as Markdown, word for word: nothing added but marks, nothing lost but broken links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from activities.offline.passages import PARAGRAPH

_LINK = re.compile(
    r"!?\[([^\]\n]*)\]\((?:[^()\n]|\([^()\n]*\))*\)"
    # `$cfg['Servers'][$i]` is a program's, not a link.
    r"|(?<![\w\]])\[(?!\d+\])([^\]\n]+)\]\[[^\]\n]*\]"
)
# A source's own [12] or [1, 2] is no citation of the report.
_CITATION_LIKE = re.compile(r"\[(\s*\^?\d{1,5}(?:\s*[-\u2013\u2014,;]\s*\^?\d{1,5})*\s*)\]")
# A bare name with underscores is a program's; Markdown would take the underscores for emphasis.
# What it hangs together with is marked as one: `super().__init__()`, `cache_hash=True`.
_UNDERSCORED = re.compile(
    r"(?<![`\w.(/:])(?=[^\s_`]*_)(?:[\w@=/-]|\.(?=\w)|\(\))*_(?:[\w@=/-]|\.(?=\w)|\(\))*(?![`\w])"
)
_LINE_START = re.compile(r"^(\d*)(?=[#>|+]|```|~~~|[-*] |(?<=\d)[.)] )")
_NAME_WORDS = 3
_CODE = re.compile(r"(`[^`\n]+`)")


def plain(text: str) -> str:
    """A passage of prose, safe to stand in a paragraph."""
    pieces = _CODE.split(bare(" ".join(text.split())))
    pieces[::2] = [_UNDERSCORED.sub(r"`\g<0>`", piece) for piece in pieces[::2]]
    return _LINE_START.sub(r"\1\\", "".join(pieces))


def bare(text: str) -> str:
    """No links, and no number in brackets that would read as a citation."""
    pieces = _CODE.split(text)
    # No mark shows in code but a blank.
    pieces[1::2] = [re.sub(r"\[(?=\d{1,5}\])", "[ ", code) for code in pieces[1::2]]
    unlinked = (_LINK.sub(lambda link: link[1] or link[2] or "", prose) for prose in pieces[::2])
    pieces[::2] = [_CITATION_LIKE.sub(r"\\[\1\\]", prose) for prose in unlinked]
    return "".join(pieces)


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
    """A claim's parts in order: paragraphs, list items and code blocks, each cited."""
    blocks: list[str] = []
    for n, part in enumerate(parts):
        label = f"**{bare(lead)}:** " if lead and n == 0 else ""
        if "\n" in part:
            blocks += [f"{label}{marks(numbers)}"] * (n == 0)
            blocks.append(fenced(part))
        elif n == 0 or _stands_alone(part, parts[n - 1]) or (n == 1 and _is_name(parts[0])):
            blocks.append(f"{label}{cited(plain(part), numbers)}")
        elif blocks[-1].startswith("- "):
            blocks[-1] += f"\n- {cited(plain(part), numbers)}"
        else:
            blocks.append(f"- {cited(plain(part), numbers)}")
    return "\n\n".join(blocks)


def _stands_alone(part: str, before: str) -> bool:
    """Whether a part is a paragraph: behind code, as the lead of a list, or by its length."""
    return "\n" in before or part.endswith(":") or len(part.split()) > PARAGRAPH


def _is_name(part: str) -> bool:
    """Whether a passage opens with the name of what it is about, such as a setting."""
    return len(part.split()) <= _NAME_WORDS and part[-1].isalnum()


def fenced(code: str) -> str:
    """A code block without the indentation all its lines share."""
    lines = [line for line in code.splitlines() if not line.lstrip().startswith(("```", "~~~"))]
    indent = min((len(li) - len(li.lstrip()) for li in lines if li.strip()), default=0)
    return "\n".join(["```", *(line[indent:].rstrip() for line in lines), "```"])
