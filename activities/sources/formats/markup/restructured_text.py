"""reStructuredText: rendered to HTML by docutils and read as blocks.

docutils knows neither the directives nor the roles of Sphinx and of its extensions. Every name that
a text uses is therefore registered before it is parsed, with a reader that follows general rules.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.core import publish_parts
from docutils.parsers.rst import Directive, directives, roles
from docutils.statemachine import StringList
from selectolax.lexbor import LexborHTMLParser

from activities.sources.formats.descriptions import first_heading
from activities.sources.formats.extracted_text import MOST_CHARACTERS, Extract, write_blocks
from activities.sources.formats.markup.html_blocks import html_blocks
from activities.sources.formats.markup.markdown_text import (
    CONTAINER_DIRECTIVES,
    NOTE_DIRECTIVES,
    UNPRINTED_DIRECTIVES,
    VERSION_DIRECTIVES,
    is_code,
    is_code_directive,
    role_text,
    without_roles,
)

# Rendered by docutils. It refuses options that only Sphinx has, and the text with them; so all
# other directives are read by `_AnyDirective`, the admonitions of docutils too.
_OF_DOCUTILS = frozenset(
    {
        "class", "csv-table", "date", "default-role", "figure", "image", "list-table", "math",
        "replace", "role", "table", "unicode",
    }
)  # fmt: skip
_ROLES_OF_DOCUTILS = frozenset({"math", "raw", "sub", "subscript", "sup", "superscript"})
_DIRECTIVE_NAME = re.compile(r"^[ \t]*\.\. (?:\|[^|\n]+\| +)?([\w+:.-]+?) ?::", re.MULTILINE)
_ROLE_NAME = re.compile(r":([A-Za-z][\w+:.-]*):`|`:([A-Za-z][\w+:.-]*):")
_FILE_FIELD = re.compile(r"^:(?:orphan|nosearch|nocomments|tocdepth):.*$", re.MULTILINE)
# A mark that is removed leaves no space before the full stop.
_FOOTNOTE_MARK = re.compile(r"[ \n]*\[(?:\d+|\*|#[\w-]*)\]_(?!\w)")
_SUBSTITUTION = re.compile(r"(?:\\ )?\|([\w .-]+)\|(?:\\ )?")
_OPTION = re.compile(r":[\w-]+:(?: |$)")
_SETTINGS = {
    "_disable_config": True,
    "doctitle_xform": False,
    "embed_stylesheet": False,
    "file_insertion_enabled": False,
    "halt_level": 6,
    "initial_header_level": 1,
    "input_encoding": "unicode",
    "line_length_limit": MOST_CHARACTERS,
    "math_output": "LaTeX",
    "raw_enabled": False,
    "report_level": 1,
    "smart_quotes": False,
    "stylesheet_path": "",
    "syntax_highlight": "none",
    "warning_stream": False,
}


def render_restructured(source: str) -> str:
    """The body of the HTML page that docutils makes of a text."""
    source = _FOOTNOTE_MARK.sub("", _FILE_FIELD.sub("", source))
    _register_names(source)
    return str(publish_parts(source, writer="html5", settings_overrides=_SETTINGS)["html_body"])


def extract_restructured(text: str) -> Extract:
    tree = LexborHTMLParser(render_restructured(text))
    for node in tree.css(".system-message > pre"):
        # docutils quotes what it refuses: in practice, headings at a level it did not expect.
        title = tree.create_node("h4")
        title.insert_child(next(filter(str.strip, node.text().split("\n")), ""))
        message = node.parent
        if message is not None:
            message.replace_with(title)
    for node in tree.css(".label, .backrefs, .system-message, .system-messages, .colon"):
        node.decompose()
    for node in tree.css(".problematic"):  # a reference or a substitution that is defined elsewhere
        node.replace_with(without_roles(node.text()).strip("|").rstrip("_"))
    for node in tree.css("cite"):  # text in single backquotes: a role that the project sets for all
        node.replace_with(role_text(node.text()))
    for node in tree.css(".classifier"):
        node.replace_with(f" ({node.text()})")
    body = write_blocks(html_blocks(tree.body)) if tree.body else ""
    return Extract(body, first_heading(body))


def _register_names(source: str) -> None:
    for name in {found.lower() for found in _DIRECTIVE_NAME.findall(source)} - _OF_DOCUTILS:
        directives.register_directive(name, _AnyDirective)
    names = {(before or after).lower() for before, after in _ROLE_NAME.findall(source)}
    for name in names - _ROLES_OF_DOCUTILS:
        roles.register_local_role(name, _read_role)


def _read_role(name: str, rawtext: str, text: str, *_: Any) -> tuple[list[Any], list[Any]]:
    return [nodes.inline(rawtext, role_text(nodes.unescape(text)))], []


class _AnyDirective(Directive):
    """Reads any directive: its argument, then its content as text or code, without options."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        name = self.name.lower().rsplit(":", 1)[-1]
        if name in UNPRINTED_DIRECTIVES or name.startswith("auto"):
            return []
        argument = self._take_argument()
        self._drop_options()
        if is_code_directive(name):
            return self._code(argument, parsed=name == "parsed-literal")
        if name in NOTE_DIRECTIVES:
            return [*self._parse(argument), *self._parse(self.content)]
        if name in VERSION_DIRECTIVES:
            return self._version_note(name, " ".join(argument))
        if not argument and name not in CONTAINER_DIRECTIVES and is_code("\n".join(self.content)):
            return self._code(argument, parsed=False)
        content = self._parse(self.content, match_titles=name in CONTAINER_DIRECTIVES)
        if name in CONTAINER_DIRECTIVES or not argument:
            return content
        term = without_roles(", ".join(line.strip() for line in argument))
        return _definition(term, content) if content or "(" in term else []

    def _take_argument(self) -> StringList:
        """The lines from the directive's own to the first that is blank or an option."""
        end = 0
        if self.content and self.content_offset < self.lineno:
            lines = list(self.content)
            ends = (n for n, line in enumerate(lines) if not line.strip() or _OPTION.match(line))
            end = next(ends, len(lines))
        argument: StringList = self.content[:end]
        self._drop(end)
        return argument

    def _drop_options(self) -> None:
        while self.content and (
            not self.content[0].strip() or (self.content and _OPTION.match(self.content[0]))
        ):
            self._drop(1)

    def _drop(self, lines: int) -> None:
        self.content = self.content[lines:]
        self.content_offset += lines

    def _parse(self, content: StringList, *, match_titles: bool = False) -> list[nodes.Node]:
        parent = nodes.Element()
        self.state.nested_parse(content, self.content_offset, parent, match_titles)
        return list(parent.children)

    def _code(self, argument: StringList, *, parsed: bool) -> list[nodes.Node]:
        code = "\n".join(self.content) or "\n".join(argument)
        if parsed:
            code = without_roles(_SUBSTITUTION.sub(r"\1", code))
        language = argument[0].split()[:1] if argument and self.content else []
        return [nodes.literal_block(code, code, classes=[f"highlight-{name}" for name in language])]

    def _version_note(self, name: str, argument: str) -> list[nodes.Node]:
        version, _, text = argument.partition(" ")
        content = self._parse(self.content)
        opening = self._parse(StringList([text], source="")) if text else content[:1]
        label = f"{VERSION_DIRECTIVES[name]} {version}"
        if opening and isinstance(opening[0], nodes.paragraph):
            opening[0].insert(0, nodes.inline("", f"{label}: "))
            return [*opening, *(content if text else content[1:])]
        return [nodes.paragraph("", f"{label}."), *opening, *content]


def _definition(term: str, content: list[nodes.Node]) -> list[nodes.Node]:
    item = nodes.definition_list_item("", nodes.term(term, term))
    item += nodes.definition("", *content)
    return [nodes.definition_list("", item)]
