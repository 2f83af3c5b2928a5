"""The report as one HTML page that needs nothing else: no network, no script, no other file.

Everything that came from a source or a model is escaped, and a content security policy that allows
this page's own style and nothing more stands behind that.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from html import escape

from console.prose import citation, link, to_html
from console.style import STYLE
from workflows.contracts import ClaimOut, ResearchResult, SourceOut
from workflows.evidence import Contradiction, Side
from workflows.models import card

_STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-{_STYLE_HASH}'"
)
# The page lists its sources itself, with their quotes.
_SOURCES_SECTION = re.compile(r"^##\s+Sources\s*$.*?(?=^##\s|\Z)", re.MULTILINE | re.DOTALL)


def page(result: ResearchResult) -> str:
    """The whole page."""
    numbers = {source.id: source.n for source in result.sources if source.n is not None}
    markdown = result.report_markdown
    if numbers:
        markdown = _SOURCES_SECTION.sub("", markdown)
    parts = (
        ("report", "Report", to_html(markdown, set(numbers.values()))),
        ("contradictions", "Contradictions, side by side", _contradictions(result, numbers)),
        ("coverage", "Coverage", _coverage(result)),
        ("gaps", "Gaps", _gaps(result)),
        ("sources", "Sources and quotes", _sources(result)),
        ("cost", "How it was made", _cost(result)),
    )
    shown = [(key, title, body) for key, title, body in parts if body]
    links = "".join(f'<a href="#{key}">{escape(title)}</a>' for key, title, _ in shown)
    # The report has headings of its own.
    sections = "\n".join(
        f'<section id="{key}">{"" if key == "report" else f"<h2>{escape(title)}</h2>"}\n{body}\n'
        "</section>"
        for key, title, body in shown
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escape(result.question[:120])}</title>
<style>{STYLE}</style>
</head>
<body>
<header><p>{escape(result.question)}</p><nav>{links}</nav></header>
<main>
{sections}
</main>
<footer>{escape(card(result.model).statement)} Job {escape(result.id)}.</footer>
</body>
</html>
"""


def _contradictions(result: ResearchResult, numbers: dict[str, int]) -> str:
    return "\n".join(_contradiction(item, numbers) for item in result.contradictions)


def _contradiction(item: Contradiction, numbers: dict[str, int]) -> str:
    sides = "".join(_side(side, numbers) for side in item.sides)
    return (
        f'<article id="{escape(item.id)}"><h3>{escape(item.about)}</h3>'
        f'<div class="sides">{sides}</div>'
        f"<p>Why they may differ: {escape(item.explanation)}</p></article>"
    )


def _side(side: Side, numbers: dict[str, int]) -> str:
    context = {name: text for name, text in side.context.model_dump().items() if text}
    rows = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in context.items())
    cites = "".join(citation(numbers[sid]) for sid in side.source_ids if sid in numbers)
    return (
        f'<div class="side"><p dir="auto">{escape(side.text)} {cites}</p>'
        f"{f'<dl>{rows}</dl>' if rows else ''}</div>"
    )


def _coverage(result: ResearchResult) -> str:
    rows = (
        (
            escape(item.title or item.facet_id),
            _tag(item.status),
            escape(item.reason),
            str(item.claims),
            str(item.sources),
            str(item.origins),
        )
        for item in result.coverage
    )
    return _table(("Facet", "", "Why", "Claims", "Sources", "Origins"), rows)


def _gaps(result: ResearchResult) -> str:
    rows = ((escape(gap.text), _tag(gap.status), escape(gap.reason)) for gap in result.gaps)
    unreadable = ((link(file.uri), escape(file.reason)) for file in result.unreadable)
    files = _table(("File that could not be read", "Why"), unreadable)
    return _table(("What is missing", "", "Why"), rows) + files


def _sources(result: ResearchResult) -> str:
    quotes: dict[str, list[tuple[str, ClaimOut]]] = {}
    for claim in result.claims:
        for quote in claim.quotes:
            quotes.setdefault(quote.source_id, []).append((quote.text, claim))
    cited = sorted((s for s in result.sources if s.n is not None), key=lambda s: s.n or 0)
    items = "\n".join(_source(source, quotes.get(source.id, [])) for source in cited)
    unused = len(result.sources) - len(cited)
    more = f'<p class="meta">{unused} more read and not cited.</p>' if unused else ""
    return f'<ol class="sources">\n{items}\n</ol>{more}' if items else more


def _source(source: SourceOut, quotes: list[tuple[str, ClaimOut]]) -> str:
    facts = (source.date or "undated", source.kind, f"authority {source.authority:.2f}")
    told = "".join(
        f'<blockquote dir="auto">{escape(text)} {_tag(claim.verdict)}</blockquote>'
        for text, claim in quotes
    )
    # Open from the start: a citation must lead to its quote in every browser.
    opened = f"<details open><summary>Quotes: {len(quotes)}</summary>{told}</details>"
    return (
        f'<li id="source-{source.n}"><b>[{source.n}]</b> {escape(source.title)}<br>'
        f"{link(source.uri)}<br>"
        f'<span class="meta">{escape(" · ".join(facts))} · stored copy'
        f" <code>{escape(source.sha256[:16])}</code></span>{opened if quotes else ''}</li>"
    )


def _cost(result: ResearchResult) -> str:
    passes = (
        (
            "first draft" if item.n == 0 else f"pass {item.n}",
            f"{item.gaps_closed} of {item.gaps_in}" if item.n else "",
            str(item.turns),
            f"{item.seconds:.1f}",
            f"{item.usd:.4f}",
            escape(item.stop_reason or ""),
        )
        for item in result.passes
    )
    total = result.telemetry
    line = (
        f"{total.turns} turns · {total.input_tokens:,} tokens in, {total.output_tokens:,} out ·"
        f" ${total.usd:.2f} · {total.seconds:.1f} s · {total.spawned} subagents, at most"
        f" {total.parallel_max} at once · model {result.model}"
    )
    head = ("Round", "Gaps closed", "Turns", "Seconds", "USD", "Stopped because")
    return f"<p>{escape(line)}</p>{_table(head, passes)}"


def _table(head: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    """Cells are HTML already; nothing where there are no rows."""
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in rows)
    if not body:
        return ""
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    return f'<div class="wide"><table><tr>{names}</tr>\n{body}</table></div>'


def _tag(word: str) -> str:
    return f'<span class="tag {escape(word)}">{escape(word.replace("_", " "))}</span>'
