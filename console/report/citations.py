"""The sources with their quotes: what every citation leads to.

Each quote stands here once, with the text about it. The page shows that text when a citation is
opened, and always where no script runs.
"""

from __future__ import annotations

from html import escape

from console.report.backing import Backing, Entry
from console.report.markup import details, fold, link, tag
from workflows.contracts.result import ClaimOut, ResearchResult, SourceOut

MOST_AROUND = 1_400_000
"""How many letters of text about quotes the whole page may hold."""
MOST_UNCITED = 300
_REACH = 220


def sources(result: ResearchResult, backing: Backing, facets: dict[str, tuple[str, str]]) -> str:
    """`facets` gives a facet's id its place on the page and its title."""
    cited = sorted((s for s in result.sources if s.n is not None), key=lambda s: s.n or 0)
    kin = _kin(cited)
    entries = sum(len(found) for found in backing.entries.values())
    reach = min(_REACH, MOST_AROUND // (2 * max(1, entries)))
    items = "\n".join(
        _source(source, backing, kin.get(source.id, ()), reach, facets) for source in cited
    )
    listed = f'<ol class="sources">\n{items}\n</ol>' if items else ""
    return listed + _uncited([s for s in result.sources if s.n is None])


def _source(
    source: SourceOut,
    backing: Backing,
    kin: tuple[int, ...],
    reach: int,
    facets: dict[str, tuple[str, str]],
) -> str:
    facts = f"{escape(source.kind)} · {escape(source.date or 'undated')} {link(source.uri)}"
    same = ", ".join(f'<a href="#source-{n}">[{n}]</a>' for n in kin)
    stored = (
        f"Authority {source.authority:.2f} · stored copy <code>{escape(source.sha256[:16])}</code>"
        + (f" · of one origin with {same}" if same else "")
    )
    quotes = "\n".join(_entry(e, backing, reach, facets) for e in backing.entries[source.n or 0])
    return (
        f'<li class="source" id="source-{source.n}"><h3 dir="auto"><span class="n">{source.n}'
        f"</span> {escape(source.title)}</h3>"
        f'<p class="meta facts line">{facts}</p>'
        f'<ol class="quotes">{quotes}</ol><p class="meta stored">{stored}</p></li>'
    )


def _entry(entry: Entry, backing: Backing, reach: int, facets: dict[str, tuple[str, str]]) -> str:
    quote = entry.quote
    # In attributes: thousands of elements that nobody looks at would make a large page slow.
    near = _near("before", _tail(quote.before, reach)) + _near("after", _start(quote.after, reach))
    claims = "".join(_claim(claim, entry, backing, facets) for claim in entry.claims)
    return (
        f'<li class="quote" id="{entry.id}"><blockquote dir="auto"{near}>'
        f"{escape(fold(quote.text))}</blockquote>{claims}</li>"
    )


def _near(where: str, text: str) -> str:
    return f' data-{where}="{escape(text)}"' if text else ""


def _claim(
    claim: ClaimOut, entry: Entry, backing: Backing, facets: dict[str, tuple[str, str]]
) -> str:
    sure = f"confidence {claim.confidence:.0%}"
    if claim.origins > 1:
        sure += f" · {claim.origins} independent origins"
    facts = [tag(claim.verdict), sure]
    if claim.facet_id in facets:
        place, title = facets[claim.facet_id]
        facts.append(f'<a href="#{place}">{escape(title)}</a>')
    facts += [
        f'<a class="dispute" href="#dispute-{place}">contested</a>'
        for place in backing.disputes.get(claim.id, ())
    ]
    notes = "".join(
        f'<p class="note" dir="auto"><b>{name}</b> {escape(text)}</p>'
        for name, text in (
            ("Uncertain:", claim.uncertain),
            ("Not to be overstated:", claim.not_to_overstate),
            ("On checking:", claim.notes),
        )
        if text
    )
    # What the quote says already is not said again.
    same = fold(claim.text).rstrip(".") == fold(entry.quote.text).rstrip(".")
    text = "" if same else f'<p class="claim" dir="auto">{escape(claim.text)}</p>'
    return f'{text}<p class="meta verdict line">{" ".join(facts)}</p>{notes}'


def _kin(cited: list[SourceOut]) -> dict[str, tuple[int, ...]]:
    """Sources that are copies of one another, in whole or in part."""
    families: dict[str, list[SourceOut]] = {}
    for source in cited:
        families.setdefault(source.origin, []).append(source)
    return {
        source.id: tuple(other.n or 0 for other in family if other is not source)
        for family in families.values()
        for source in family
    }


def _uncited(sources: list[SourceOut]) -> str:
    if not sources:
        return ""
    lines = "".join(f"<li>{escape(s.title)} · {link(s.uri)}</li>" for s in sources[:MOST_UNCITED])
    if len(sources) > MOST_UNCITED:
        lines += f"<li>… and {len(sources) - MOST_UNCITED} more, in report.json</li>"
    return details(f"{len(sources)} more read and not cited", f'<ul class="plain">{lines}</ul>')


def _tail(text: str, reach: int) -> str:
    """The end of a text, from a word on."""
    if len(text) <= reach:
        return text
    # Not every language sets blanks between words.
    return f"… {text[-reach:].partition(' ')[2] or text[-reach:]}"


def _start(text: str, reach: int) -> str:
    return text if len(text) <= reach else f"{text[:reach].rpartition(' ')[0] or text[:reach]} …"
