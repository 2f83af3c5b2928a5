"""Every format gives clean text, a title, a date and a kind."""

from __future__ import annotations

import json
from pathlib import Path

import docx
import pptx
import pytest
from pptx.util import Inches

from activities.sources.chunks import sentences
from activities.sources.documents import Document, Unreadable
from activities.sources.formats.parsing import parse


def one(folder: Path, name: str, content: str | bytes) -> Document:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return saved(path, name)


def saved(path: Path, name: str) -> Document:
    found = parse(path, name)
    assert isinstance(found, list), found
    assert len(found) == 1
    return found[0]


def quotes(document: Document) -> list[str]:
    return [document.text[s.start : s.end] for s in sentences(document.text)]


def test_text_with_rules_and_hard_wrapped_lines(folder: Path) -> None:
    line = "The committee discussed the winter timetable and the cost of relief sailings with"
    document = one(
        folder,
        "minutes.txt",
        "=====================\nTRANSPORT COMMITTEE\n=====================\n\n"
        f"Date: 3 May 2024\n\n{line}\n{line}\n{line}\nMr Smith of Northern Lines. It ended.\n---\n",
    )
    assert document.title == "TRANSPORT COMMITTEE"
    assert document.date == "2024-05-03"
    assert quotes(document)[-2:] == [
        f"{line} {line} {line} Mr Smith of Northern Lines.",
        "It ended.",
    ]


def test_a_short_numbered_line_above_a_paragraph_is_a_heading(folder: Path) -> None:
    told = "The board has not approved a crew of five, and the certificate stays in force."
    listed = "1. Paint\n\n2. Rope\n\nNothing else was bought."
    text = f"Dear crew,\n\n1. Decision\n\n{told}\n\n3. May 2024\n\n{told}\n\n{listed}\n"
    document = one(folder, "letter.txt", text)
    assert "## 1. Decision" in document.text
    assert document.text.count("## ") == 1, "a date and the items of a list are none"
    assert document.title == "Letter", "it is not the document's title"


PAGE = """<!doctype html><html><head><title>Ferry costs - Coast Council</title>
<meta property="article:published_time" content="2025-01-30T08:00:00Z"><style>p{}</style></head>
<body class="no-sidebar"><header><a href="/">Home</a></header><nav>Menu one</nav>
<div id="cookie-banner">We use cookies</div><ul><li><a>News</a><li><a>Jobs</a><li><a>Shop</a></ul>
<main><article><h1>Ferry costs</h1><p>The <b>pro</b>gramme costs <em>EUR 5</em>&nbsp;million<sup>
<a href="#n1">1</a></sup>.</p><div>Loose text<p>Inner paragraph.</p></div>
<ul><li>first<li>second</ul>
<table><tr><th>Year<th>Cost<tr><td>2024<td><b>5</b>%</table></article></main>
<aside>Read also</aside><div class="newsletter-signup">Subscribe</div><footer>Imprint</footer>
<script>track()</script></body></html>"""


def test_html_keeps_the_article_and_drops_the_site(folder: Path) -> None:
    document = one(folder, "page.html", PAGE)
    assert (document.title, document.date, document.kind) == ("Ferry costs", "2025-01-30", "page")
    assert document.text == (
        "# Ferry costs\n\nThe programme costs EUR 5 million.\n\nLoose text\n\nInner paragraph.\n\n"
        "- first\n- second\n\nYear: 2024; Cost: 5%."
    )


def test_an_html_table_without_header_cells_has_no_header(folder: Path) -> None:
    page = "<table><tr><td>Name<td>Ann<tr><td>City<td>Rome</table>"
    assert one(folder, "p.html", page).text == "Name: Ann.\nCity: Rome."


def test_html_of_documentation(folder: Path) -> None:
    page = (
        "<body><div class='navheader'><table><tr><td><a>Prev</a><td><a>Next</a></table></div>"
        "<h1>Shelf<a class='headerlink' href='#x'>¶</a></h1><dl><dt>sync()<a href='#y'>¶</a></dt>"
        "<dd><p>Writes all.</p><pre>s.sync()</pre></dd></dl><ol><li><p>One.</p><p>More.</p></li>"
        "<li>Two</li></ol><div class='admonition note'><p class='admonition-title'>Note</p>"
        "<p>Slow.</p></div></body>"
    )
    assert one(folder, "p.html", page).text == (
        "# Shelf\n\nsync(): Writes all.\n\n```text\ns.sync()\n```\n\n"
        "1. One.\n   More.\n2. Two\n\nSlow."
    )


def test_html_in_its_declared_encoding(folder: Path) -> None:
    page = '<meta charset="iso-8859-2"><p>Łódź is a city.</p>'.encode("iso-8859-2")
    assert one(folder, "p.html", page).text == "Łódź is a city."


def test_word_in_document_order(folder: Path) -> None:
    file = docx.Document()
    file.core_properties.title = "Crew report"
    file.add_heading("Crews", 1)
    file.add_paragraph("Twelve people were trained. Two were not.")
    table = file.add_table(rows=2, cols=2)
    for cell, text in zip(table._cells, ("Group", "Number", "Deck", "44"), strict=True):
        cell.text = text
    file.add_paragraph("Hire more", style="List Bullet")
    file.add_paragraph().add_run("Bold heading").bold = True
    file.add_paragraph("The end.")
    file.save(str(folder / "crew.docx"))
    document = saved(folder / "crew.docx", "crew.docx")
    assert (document.title, document.date, document.kind) == ("Crew report", None, "report")
    assert document.text == (
        "# Crews\n\nTwelve people were trained. Two were not.\n\nGroup: Deck; Number: 44.\n\n"
        "- Hire more\n\n## Bold heading\n\nThe end."
    )


def test_slides_with_table_and_notes(folder: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Winter review"
    slide.placeholders[1].text = "Arm froze\nHeaters ordered"
    table = slide.shapes.add_table(2, 2, Inches(1), Inches(5), Inches(4), Inches(1)).table
    for at, text in {(0, 0): "Month", (0, 1): "Faults", (1, 0): "May", (1, 1): "7"}.items():
        table.cell(*at).text = text
    slide.notes_slide.notes_text_frame.text = "Say it slowly."
    deck.save(str(folder / "w.pptx"))
    document = saved(folder / "w.pptx", "w.pptx")
    assert (document.title, document.kind) == ("Winter review", "slides")
    assert document.text == (
        "## Winter review\n\n- Arm froze\n- Heaters ordered\n\nMonth: May; Faults: 7.\n\n"
        "Say it slowly."
    )


def test_records_of_json_lines_are_documents(folder: Path) -> None:
    path = folder / "wire.jsonl"
    records = [
        {"title": "Fire", "date": "2024-09-14", "body": "A fire broke out. Nobody was hurt."},
        {"route": "Telle", "trips": 12, "late": True},
    ]
    path.write_text("\n".join(map(json.dumps, records)))
    found = parse(path, "wire.jsonl")
    assert isinstance(found, list)
    assert [d.uri for d in found] == ["wire.jsonl#line-1", "wire.jsonl#line-2"]
    assert (found[0].title, found[0].date) == ("Fire", "2024-09-14")
    assert found[0].text == "A fire broke out. Nobody was hurt."
    assert found[1].text == "route: Telle; trips: 12; late: yes."


def test_json_array_and_single_object(folder: Path) -> None:
    (folder / "a.json").write_text(json.dumps([{"text": "One."}, {"text": "Two."}]))
    found = parse(folder / "a.json", "a.json")
    assert isinstance(found, list)
    assert [(d.uri, d.text) for d in found] == [
        ("a.json#item-1", "One."),
        ("a.json#item-2", "Two."),
    ]
    assert (
        one(folder, "b.json", '{"name": "Tern", "size": {"cars": 84}}').text
        == "name: Tern; size cars: 84."
    )


@pytest.mark.parametrize(
    "content",
    [
        "Prix élevé".encode("utf-8-sig"),
        "Prix élevé".encode("utf-16"),
        "Prix élevé".encode("cp1252"),
    ],
)
def test_encodings(folder: Path, content: bytes) -> None:
    assert one(folder, "prix.txt", content).text == "Prix élevé"


def test_stored_text_is_normalised_once(folder: Path) -> None:
    text = one(folder, "n.txt", "Cafe\u0301\u00a0au\u200b lait \r\n\r\n\r\n\r\nTab\there\x07.").text
    assert text == "Café au lait\n\nTab here."


def test_ids_are_short_and_follow_place_and_text(folder: Path) -> None:
    first = one(folder, "a.txt", "Same words.")
    again, moved = one(folder, "a.txt", "Same words.\n"), one(folder, "b.txt", "Same words.")
    assert first.id == again.id
    assert first.id != moved.id
    assert first.sha256 == moved.sha256
    assert len(first.id) == 11


@pytest.mark.parametrize(
    ("head", "date"),
    [
        ("# Note\n\n**Last updated:** 12 March 2024", "2024-03-12"),
        ("# Note\n\nJane Doe | 12 March 2024", None),
        ("# Note\n\nPublished: March 3rd, 2024", "2024-03-03"),
        ("# Note\n\nReport 25-77. Dated 17 October 2025. Ordered by all.", "2025-10-17"),
        ("# Note\n\nReport 25-77. 17 October 2025. Ordered by all.", None),
        ("# Note\n\nLONDON, 3 May 2022 – A ferry sank.", None),
        ("# Note\n\nUpdated in May 2022, the plan of the county was dropped soon after.", None),
        ("# Note\n\nDate: 03/04/2024", "2024"),
        ("# Note\n\nDate: 25/04/2024", "2024-04-25"),
        ("# Security in May 2025\n\nIt was good.", None),
        ("# Note\n\nAs of December 2024, all sites had been audited by us.", None),
        ("# Note\n\nDate: 31 February 2024", "2024-02"),
    ],
)
def test_only_labelled_dates_count(folder: Path, head: str, date: str | None) -> None:
    assert one(folder, "n.md", head).date == date


def test_the_date_in_a_file_name_serves_where_there_is_no_other(folder: Path) -> None:
    document = one(folder, "letter_2025-11-12.txt", "Dear all.")
    assert (document.date, document.title) == ("2025-11-12", "Letter 2025-11-12")
    assert one(folder, "letter_2025-09.txt", "Dear all.").date == "2025-09"
    assert one(folder, "winter_2025-26.txt", "Dear all.").date is None


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.md", "FOR IMMEDIATE RELEASE\n\nAcme today announced a boat.", "press"),
        ("research/a.md", "# Noise\n\n## Abstract\n\nSmith et al. found (n = 12).", "study"),
        ("a.md", "# Committee meeting\n\nAttendees: Ann\n\nAction items: none", "minutes"),
        (
            "a.md",
            "Article 1\n\nThe operator shall not sail. It shall apply pursuant to law.",
            "regulation",
        ),
        ("a.md", "Just words.", "note"),
        ("a.md", "# Loss of propulsion for 14 minutes\n\nIt drifted.", "note"),
    ],
)
def test_kinds(folder: Path, name: str, text: str, kind: str) -> None:
    assert one(folder, name, text).kind == kind


def test_unreadable_names_the_file_and_the_remedy(folder: Path) -> None:
    (folder / "empty.txt").write_text(" \n ")
    found = parse(folder / "empty.txt", "sub/empty.txt")
    assert isinstance(found, Unreadable)
    assert found.uri == "sub/empty.txt"
    assert "remove it" in found.reason


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("annual-report_2024.txt", "Annual report 2024"),
        ("minutes-2024-01-15.txt", "Minutes 2024-01-15"),
        ("0.4.0.txt", "0.4.0"),
        ("notes.v2.txt", "Notes v2"),
    ],
)
def test_a_file_without_a_heading_is_called_by_its_name(
    folder: Path, name: str, title: str
) -> None:
    (folder / name).write_text("The tower stands in Orla, and a boat goes there every hour.\n")
    found = parse(folder / name, name)
    assert isinstance(found, list)
    assert [document.title for document in found] == [title]
