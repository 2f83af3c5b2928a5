"""HTML pages: the article's headings, paragraphs, lists and tables, without the site around it."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from activities.sources.formats.descriptions import find_date
from activities.sources.formats.extracted_text import Extract, fold, write_blocks
from activities.sources.formats.markup.html_blocks import html_blocks, plain_text

_DROPPED = (
    "script, style, noscript, template, svg, canvas, iframe, object, form, button, select, "
    "input, textarea, dialog, nav, aside, footer, menu, audio, video, "
    "[hidden], [aria-hidden=true], [role=navigation], [role=banner], [role=contentinfo], "
    "[role=complementary], [role=search], [role=dialog], [role=alertdialog], [role=menu]"
)
# Whole words of class and id names: `nav-bar` is furniture, `navigate` and `no-sidebar` are not.
_FURNITURE = re.compile(
    r"(?:^|[\s_])(?:site-|page-|main-|global-|js-|c-|l-)*"
    r"(?:nav|navbar|navheader|navfooter|navigation|menu|topbar|sidebar|breadcrumbs?|footer|cookies?|consent|gdpr|"
    r"newsletter|subscribe|subscription|signup|share|sharing|social|related|recommended|"
    r"advert\w*|ads?|promo|popup|modal|overlay|skip-?link|toc|pagination|pager|comments?|"
    r"masthead|banner|search|toolbar|login|sponsored|foot|chat|widget)"
    r"(?:[-_](?:bar|banner|box|container|content|inner|item|items|links?|list|main|menu|modal|"
    r"nav|notice|overlay|panel|popup|section|wrap|wrapper|widget|form|buttons?|icons?|text))*"
    r"(?=$|[\s])",
    re.IGNORECASE,
)
_KEPT = {"html", "body", "main", "article"}
_DATE_META = (
    "article:published_time", "datepublished", "date", "dc.date", "dc.date.issued",
    "dcterms.date", "dcterms.issued", "dcterms.created", "citation_publication_date",
    "citation_date", "publish-date", "publish_date", "pubdate", "sailthru.date", "parsely-pub-date",
    "article:modified_time", "last-modified", "dcterms.modified", "datemodified",
)  # fmt: skip
# `Report - Company Ltd` is the site's way of saying `Report`.
_SITE = re.compile(r"(?<=\w{3}) [|–—-] (?:\S+ ?){1,5}$")
_PUBLISHED = re.compile(r'"datePublished"\s*:\s*"([^"]{4,40})"')
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset=[\"']?([\w-]{2,30})", re.IGNORECASE)


def declared_encoding(content: bytes) -> str | None:
    """The encoding that a page names in its first bytes."""
    found = _CHARSET.search(content[:4096])
    return found[1].decode("ascii") if found else None


def extract_page(text: str) -> Extract:
    tree = LexborHTMLParser(text)
    date = _date(tree)
    name = _meta(tree, "og:title") or fold(node.text() if (node := tree.css_first("title")) else "")
    _clean(tree)
    root = _content(tree)
    body = write_blocks(html_blocks(root)) if root else ""
    first = tree.css_first("h1")
    top = plain_text(first) if first else ""
    name = re.sub(_SITE, "", name)
    title = top if top and (not name or top in name) else name or top
    return Extract(body, title or None, date, usual="page")


def _date(tree: LexborHTMLParser) -> str | None:
    metas = {
        (meta.attributes.get(key) or "").lower(): meta.attributes.get("content") or ""
        for meta in tree.css("meta")
        for key in ("name", "property", "itemprop")
        if meta.attributes.get(key)
    }
    for name in _DATE_META:
        if found := find_date(metas.get(name, "")):
            return found
    for script in tree.css('script[type="application/ld+json"]'):
        if (published := _PUBLISHED.search(script.text())) and (found := find_date(published[1])):
            return found
    for node in tree.css("article time[datetime], main time[datetime], header time[datetime]"):
        if found := find_date(node.attributes.get("datetime") or ""):
            return found
    return None


def _meta(tree: LexborHTMLParser, name: str) -> str:
    node = tree.css_first(f'meta[property="{name}"], meta[name="{name}"]')
    return fold((node.attributes.get("content") or "") if node else "")


def _clean(tree: LexborHTMLParser) -> None:
    """Remove what is not the page's own text."""
    for node in tree.css(_DROPPED):
        if node.tag not in _KEPT:
            node.decompose()
    of_articles = {node.mem_id for node in tree.css(":is(article, main) header")}
    for node in tree.css("header"):
        # The header of an article holds its title; that of the site holds a logo and a menu.
        titled = node.css_first("h1") is not None and node.css_first("a") is None
        if not titled and node.mem_id not in of_articles:
            node.decompose()
    for node in tree.css("[class], [id]"):
        names = f"{node.attributes.get('class') or ''} {node.attributes.get('id') or ''}"
        if node.tag not in _KEPT and _FURNITURE.search(names) and not node.css_first("h1, article"):
            node.decompose()
    for node in tree.css("sup, a"):
        if _is_mark(node):
            node.decompose()
    for node in tree.css("ul, ol, table"):
        if _is_menu(node):
            node.decompose()


def _is_mark(node: LexborNode) -> bool:
    """A footnote mark, which would stand in the middle of quotes, or the anchor of a heading."""
    text = node.text().strip()
    if node.tag == "sup":  # exponents stay
        return node.css_first("a") is not None and len(text) < 6
    return len(text) == 1 and not text.isalnum()


def _is_menu(node: LexborNode) -> bool:
    """A list of nothing but short links."""
    links = node.css("a")
    if len(links) < 3:
        return False
    text = len(plain_text(node))
    linked = sum(len(plain_text(link)) for link in links)
    return linked > 0.85 * text and linked < 40 * len(links)


def _content(tree: LexborHTMLParser) -> LexborNode | None:
    """The element that holds most of the text: `main` or `article` if it does, else the body."""
    body = tree.body or tree.root
    if body is None:
        return None
    whole = len(body.text())
    for selector in ("main", "[role=main]", "article"):
        nodes = tree.css(selector)
        if len(nodes) == 1 and len(nodes[0].text()) > 0.5 * whole:
            return nodes[0]
    return body
