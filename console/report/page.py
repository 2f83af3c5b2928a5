"""The report as one HTML page that needs nothing else: no network, no other file.

Everything that came from a source or a model is escaped, and a content security policy that allows
this page's own style and script, by their hashes, and nothing more stands behind that. Without the
script the page is whole: a citation then leads to its source instead of opening it.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from console.report.backing import Backing
from console.report.citations import sources
from console.report.contradictions import contradictions
from console.report.cost import cost
from console.report.coverage import coverage, gaps
from console.report.head import head
from console.report.manuscript import Chapter, Manuscript, manuscript
from console.report.markup import details, fold, tag
from console.report.prose import Prose
from console.report.timeline import timeline
from workflows.contracts.result import DISAGREE, MISSING, SUMMARY, Coverage, ResearchResult

_HERE = Path(__file__).parent
_STYLE = "\n".join(
    (folder / name).read_text("utf-8")
    for folder, name in ((_HERE.parent, "palette.css"), (_HERE, "report.css"))
)
_SCRIPT = (_HERE / "report.js").read_text("utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


_POLICY = (
    f"default-src 'none'; script-src 'sha256-{_hash(_SCRIPT)}';"
    f" style-src 'sha256-{_hash(_STYLE)}'; base-uri 'none'; form-action 'none'"
)


@dataclass
class Section:
    """A part of the page with its place in the table of contents."""

    id: str
    title: str
    body: str
    parts: list[tuple[str, str]] = field(default_factory=list)
    """What the table of contents lists below it, as id and title."""


def page(result: ResearchResult) -> str:
    """The whole page."""
    written = manuscript(result)
    sections = _sections(result, written)
    body = "\n".join(
        f'<section id="{part.id}" aria-labelledby="{part.id}-h">'
        f'<h2 id="{part.id}-h" dir="auto">{escape(part.title)}</h2>\n{part.body}\n</section>'
        for part in sections
        if part.body
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escape(written.title[:200])}</title>
<style>{_STYLE}</style>
</head>
<body>
<a class="skip" href="#report">Skip to the report</a>
<div class="sheet">
<nav aria-label="Contents">
<details class="contents"><summary>Contents</summary>
{_contents(sections)}
</details>
<button type="button" id="theme" hidden>Dark</button>
</nav>
<div class="columns">
<header>
{head(result, written.title)}
</header>
<main id="report" tabindex="-1">
{body}
</main>
<footer><p>Job {escape(result.id)}. The same as data: report.json.</p></footer>
</div>
</div>
<dialog id="panel" aria-labelledby="panel-h"></dialog>
<script>{_SCRIPT}</script>
</body>
</html>
"""


def _sections(result: ResearchResult, written: Manuscript) -> list[Section]:
    """What the writer wrote in its order, and what the page adds to it."""
    backing = Backing(result)
    prose = Prose(backing)
    chapters = list(written.chapters)
    places = _places(result, chapters)
    by_title = {title: (place, key) for key, (place, title) in places.items()}
    facets = {item.facet_id: item for item in result.coverage}
    asked = {facet.id: facet.question for facet in result.plan.facets}
    found: list[Section] = []
    told: dict[str, str] = {}
    if written.lead:
        found.append(Section("lead", "In short", prose.to_html(written.lead, "In short")))
    for n, chapter in enumerate(chapters, 1):
        name = fold(chapter.title)
        if name in (DISAGREE, MISSING):
            told[name] = prose.to_html(chapter.markdown, name, mark_contested=False)
            continue
        text = prose.to_html(chapter.markdown, chapter.title)
        if name in by_title:
            # Taken once: a second chapter of the same name is another.
            place, key = by_title.pop(name)
            found.append(Section(place, chapter.title, _facet(facets[key], asked.get(key)) + text))
        else:
            place = "summary" if name == SUMMARY else f"part-{n}"
            found.append(Section(place, chapter.title, text))
    tiles = Section("coverage", "The facets at a glance", coverage(result, places))
    first = next((i for i, part in enumerate(found) if part.id.startswith("facet-")), len(found))
    found.insert(first, tiles)
    disputes = contradictions(result, backing, prose.contested)
    missing = gaps(result, places)
    found += [
        Section("disputes", DISAGREE, _beside(disputes, told.get(DISAGREE, ""))),
        Section("missing", MISSING, _beside(missing, told.get(MISSING, ""))),
        _made(result),
        Section("sources", "Sources and quotes", sources(result, backing, places)),
    ]
    return found


def _places(result: ResearchResult, chapters: list[Chapter]) -> dict[str, tuple[str, str]]:
    """The place and title of the section of each facet that has one."""
    written = {fold(chapter.title) for chapter in chapters}
    return {
        item.facet_id: (f"facet-{n}", fold(item.title))
        for n, item in enumerate(result.coverage, 1)
        if fold(item.title) in written - {DISAGREE, MISSING, SUMMARY}
    }


def _facet(item: Coverage, question: str | None) -> str:
    asked = f'<span dir="auto">{escape(question)}</span> ' if question else ""
    return f'<p class="facet">{asked}{tag(item.status)}</p>'


def _beside(shown: str, told: str) -> str:
    """What the page shows, and folded beside it how the writer tells it."""
    if not shown:
        return told
    return shown + (details("As the writer tells it", told, "told") if told else "")


def _made(result: ResearchResult) -> Section:
    parts = [("timeline", "Timeline", timeline(result)), ("cost", "Cost", cost(result))]
    changes = result.plan.changes
    if changes:
        items = "".join(f"<li>{escape(change)}</li>" for change in changes)
        parts.append(("plan", "Changes to the plan", f"<ul>{items}</ul>"))
    if result.mended:
        items = "".join(f"<li>{escape(passage)}</li>" for passage in result.mended)
        why = "<p>Put right without a model, where the writer's words did not pass the checks.</p>"
        parts.append(("mended", "Passages that were mended", f"{why}<ul>{items}</ul>"))
    shown = [(key, title, body) for key, title, body in parts if body]
    body = "\n".join(f'<h3 id="{key}">{title}</h3>{text}' for key, title, text in shown)
    return Section("made", "How it was made", body, [(key, title) for key, title, _ in shown])


def _contents(sections: list[Section]) -> str:
    items = ""
    for part in sections:
        if not part.body:
            continue
        below = "".join(
            f'<li><a href="#{key}">{escape(title)}</a></li>' for key, title in part.parts
        )
        kind = ' class="under"' if part.id.startswith("facet-") else ""
        items += (
            f'<li{kind}><a href="#{part.id}">{escape(part.title)}</a>'
            f"{f'<ol>{below}</ol>' if below else ''}</li>"
        )
    return f"<ol>{items}</ol>"
