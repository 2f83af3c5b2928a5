"""Markdown: front matter is read, the rest is rendered to HTML and read as blocks.

The directives and roles of Sphinx, which MyST shares with reStructuredText, are named here too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.admon import admon_plugin
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.myst_role import myst_role_plugin
from selectolax.lexbor import LexborHTMLParser

from activities.sources.formats.descriptions import find_date, first_heading
from activities.sources.formats.extracted_text import Extract, fold, write_blocks
from activities.sources.formats.markup.html_blocks import html_blocks

_FRONT_MATTER = re.compile(r"\s*(---|\+\+\+) *\n(.*?\n)\1 *(?:\n|$)", re.DOTALL)
_FIELD = re.compile(r"([A-Za-z_][\w -]*?) *[:=] *(.*)")
_TITLE_FIELDS = ("title", "headline", "subject", "name")
_DATE_FIELDS = (
    "date", "published", "publishdate", "publish_date", "pubdate", "published_at", "created",
    "issued", "updated", "lastmod", "last_updated", "year",
)  # fmt: skip
_HEADING_ATTRIBUTES = re.compile(r"^(#{1,6} .*?) *\{:? ?[#.][^}\n]*\} *$", re.MULTILINE)
# MkDocs writes tabs as `=== "Name"` with indented text, just like its admonitions.
_TAB = re.compile(r'^( *)===[+!]* +(?=".+" *$)', re.MULTILINE)
_MYST_TARGET = re.compile(r"^\([\w.:-]+\)= *$", re.MULTILINE)
_MYST_DIRECTIVE = re.compile(r"\{([\w:-]+)\} *(.*)")
_MYST_OPTIONS = re.compile(r"\A(?:---\n.*?\n---\n|(?: *:[\w-]+:.*(?:\n|\Z))+)", re.DOTALL)
# `<file>` in prose is a placeholder, `<b>` is markup.
_PLACEHOLDER = re.compile(
    r"<(?!(?:a|abbr|b|br|cite|code|del|em|i|ins|kbd|mark|p|q|s|samp|small|span|strong|sub|sup|u|var)>)"
    r"[a-z][\w-]*>"
)
# Directives of Sphinx.
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


def extract_markdown(text: str) -> Extract:
    fields, source = _front_matter(text)
    tree = LexborHTMLParser(_render(source))
    for node in tree.css("script, style, nav, .footnote-backref, .footnote-ref, .system-message"):
        node.decompose()
    root = tree.body
    body = write_blocks(html_blocks(root, keep_lines=True)) if root else ""
    title = next((fields[key] for key in _TITLE_FIELDS if fields.get(key)), None)
    dates = (find_date(fields[key]) for key in _DATE_FIELDS if fields.get(key))
    return Extract(body, title or first_heading(body), next((d for d in dates if d), None))


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """Plain `key: value` fields of a YAML or TOML head, and the text after it."""
    found = _FRONT_MATTER.match(text)
    if found is None or not _FIELD.search(found[2]):
        return {}, text
    fields: dict[str, str] = {}
    for line in found[2].split("\n"):
        if field := _FIELD.match(line):
            fields.setdefault(field[1].strip().lower(), fold(field[2].strip().strip("\"'")))
    return fields, text[found.end() :]


def _render(source: str) -> str:
    source = _MYST_TARGET.sub("", _HEADING_ATTRIBUTES.sub(r"\1", source))
    source = _TAB.sub(r"\1!!! tab ", source)
    return str(_renderer().render(source))


@cache
def _renderer() -> MarkdownIt:
    markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    markdown.use(admon_plugin).use(deflist_plugin).use(footnote_plugin).use(myst_role_plugin)
    markdown.use(container_plugin, "block", validate=lambda params, markup: True)
    markdown.add_render_rule("fence", _fence)
    markdown.add_render_rule("myst_role", _role)
    markdown.add_render_rule("html_inline", _inline_html)
    return markdown


def _fence(_: Any, tokens: Sequence[Token], index: int, *__: Any) -> str:
    """A code block; or, if its language is a MyST directive, the directive's text."""
    token = tokens[index]
    directive = _MYST_DIRECTIVE.match(token.info.strip())
    if directive is None:
        return _code(token.content, token.info)
    name, argument = directive.groups()
    content = _MYST_OPTIONS.sub("", token.content, count=1)
    if name in UNPRINTED_DIRECTIVES:
        return ""
    if name == "eval-rst":
        from activities.sources.formats.markup.restructured_text import render_restructured

        return render_restructured(content)
    is_program = is_code_directive(name) or (not argument and is_code(content))
    return _code(content, argument) if is_program else _render(content)


def _code(content: str, info: str) -> str:
    language = re.match(r"[\w+#-]*", info.strip())
    name = f"language-{language[0]}" if language and language[0] else ""
    return f'<pre class="{name}">{escape(content)}</pre>'


def _role(_: Any, tokens: Sequence[Token], index: int, *__: Any) -> str:
    return escape(role_text(tokens[index].content))


def _inline_html(_: Any, tokens: Sequence[Token], index: int, *__: Any) -> str:
    content = tokens[index].content
    return escape(content) if _PLACEHOLDER.fullmatch(content) else content


# --- directives and roles of Sphinx --------------------------------------------------------------


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
