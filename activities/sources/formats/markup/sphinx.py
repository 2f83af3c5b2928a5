"""Names of Sphinx directives, and the text that a role shows. MyST Markdown uses the same ones."""

from __future__ import annotations

import re

_CODE_DIRECTIVES = frozenset(
    {
        "console", "doctest", "ipython", "parsed-literal", "productionlist", "prompt", "sourcecode",
        "testcode", "testoutput",
    }
)  # fmt: skip
UNPRINTED_DIRECTIVES = frozenset(
    {
        "autosummary", "contents", "digraph", "graph", "graphviz", "highlight", "include", "index",
        "inheritance-diagram", "jinja", "literalinclude", "mermaid", "meta", "plot", "raw",
        "sectionauthor", "tabularcolumns", "testcleanup", "testsetup", "toctree", "uml",
    }
)  # fmt: skip
# Their argument is the beginning of their text; that of other directives is a name or a title.
NOTE_DIRECTIVES = frozenset(
    {
        "attention", "caution", "danger", "error", "hint", "important", "note", "seealso", "tip",
        "todo", "warning", "epigraph", "highlights", "pull-quote", "compound", "rubric",
    }
)  # fmt: skip
# Their argument is a condition or a class.
CONTAINER_DIRECTIVES = frozenset(
    {"container", "cssclass", "ifconfig", "only", "rst-class", "tab-set", "tabs"}
)
VERSION_DIRECTIVES = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "versionremoved": "Removed in version",
}
# What ends a line of a program, or opens one; prose has a few such lines at most.
_CODE_LINE = re.compile(
    r"\s*(?:@\w|(?:async )?def |class |import |from \S+ import |return\b|\$ |>>> |//|#)"
    r"|\s*[\w.\[\]'\"]+ ?=|.*[)\]}{;:,(]\s*$"
)
_TITLED = re.compile(r"(.+?)\s*<[^<>]*>", re.DOTALL)
_ROLE = re.compile(r"(?::[\w+:.-]+:)?`+([^`]+)`+_{0,2}")


def role_text(content: str) -> str:
    """The text that a role shows: of `text <target>` the text, of `~package.name` the name."""
    if titled := _TITLED.fullmatch(content):
        return titled[1]
    if content.startswith("~"):
        return content[1:].rsplit(".", 1)[-1]
    return content.lstrip("!.")


def is_code_directive(name: str) -> bool:
    """Whether a directive holds code: `code-block`, and `code-tab` of an extension."""
    return name in _CODE_DIRECTIVES or name.startswith("code")


def is_code(content: str) -> bool:
    """Whether the content of a directive that nobody knows reads as a program's lines."""
    lines = [line for line in content.splitlines() if line.strip()]
    found = sum(_CODE_LINE.match(line) is not None for line in lines)
    return any(mark in content for mark in "(=$") and 3 * found > 2 * len(lines)


def without_roles(line: str) -> str:
    """A line of reStructuredText without the markup of its roles and literals."""
    return _ROLE.sub(lambda found: role_text(found[1]), line)
