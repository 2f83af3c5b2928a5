"""Mails are documents, and messages of a chat can be quoted with who wrote them and when."""

from __future__ import annotations

import mailbox
from email.message import EmailMessage
from pathlib import Path

import pytest

from activities.sources.chunks import sentences
from activities.sources.documents import Document
from activities.sources.formats.parsing import parse

HEADERS = (
    "From: Ann <a@x.org>\nTo: b@x.org\nDate: Tue, 13 Jan 2026 11:40:00 +0000\n"
    "Subject: =?utf-8?q?Caf=C3=A9_costs?=\nMIME-Version: 1.0\n"
)


def read(folder: Path, name: str, content: str) -> list[Document]:
    (folder / name).write_text(content)
    found = parse(folder / name, name)
    assert isinstance(found, list), found
    return found


def quotes(document: Document) -> list[str]:
    return [document.text[s.start : s.end] for s in sentences(document.text)]


def test_mail_file(folder: Path) -> None:
    body = (
        "Content-Type: text/html; charset=utf-8\n\n<p>It costs <b>5</b>%.</p><script>x()</script>"
    )
    (mail,) = read(folder, "m.eml", HEADERS + body)
    assert (mail.title, mail.date, mail.kind) == ("Café costs", "2026-01-13", "mail")
    assert mail.text == (
        "# Café costs\n\nFrom: Ann <a@x.org>, Tue, 13 Jan 2026 11:40:00 +0000\nTo: b@x.org\n\n"
        "It costs 5%."
    )


def test_a_reply_does_not_repeat_what_it_answers(folder: Path) -> None:
    body = (
        "\nIt is 5%.\n\nOn Mon, 12 Jan 2026 at 10:00, Bob <b@x.org>\nwrote:\n> How much?\n> Bob\n"
    )
    (mail,) = read(folder, "m.eml", HEADERS + body.replace(">\nwrote", "> wrote"))
    assert mail.text.endswith("To: b@x.org\n\nIt is 5%.")


def test_every_mail_of_a_mailbox_is_a_document(folder: Path) -> None:
    box = mailbox.mbox(folder / "all.mbox")
    for subject in ("One", "Two"):
        message = EmailMessage()
        message["From"], message["Subject"] = "ann@x.org", subject
        message.set_content(f"Text of {subject}.")
        box.add(message)
    box.close()
    found = parse(folder / "all.mbox", "all.mbox")
    assert isinstance(found, list)
    assert [(mail.uri, mail.title) for mail in found] == [
        ("all.mbox#mail-1", "One"),
        ("all.mbox#mail-2", "Two"),
    ]
    assert found[0].text == "# One\n\nFrom: ann@x.org\n\nText of One."


EXPORT = """================
MAIL EXPORT
================

USERS:
• ann
  Name: Ann Lee
  Role: Chief

EMAILS:
========
ID: 1
Date: 2024-05-01 10:00:00
From: Ann Lee <ann@x.org>
To: bob@x.org
Subject: Frozen arm
Status: Read

Message Body:
--------
Hi Bob,

The arm froze at -4 degrees.
========

ID: 2
Date: 2024-05-02 11:00:00
From: Bob <bob@x.org>
To: ann@x.org
Subject: Re: Frozen arm

Message Body:
--------
It thawed.

From: Ann Lee <ann@x.org>
Sent: 2024-05-01 10:00:00
Subject: Frozen arm

Hi Bob,

The arm froze at -4 degrees.
========

END OF EXPORT
"""


def test_every_mail_of_a_text_export_is_a_document_once(folder: Path) -> None:
    opening, first, second = read(folder, "export.txt", EXPORT)
    assert "Name: Ann Lee\n" in opening.text
    assert (first.title, first.date, first.kind) == ("Frozen arm", "2024-05-01", "mail")
    assert first.text.startswith("# Frozen arm\n\nFrom: Ann Lee <ann@x.org>, 2024-05-01 10:00:00\n")
    assert first.text.endswith("Hi Bob,\n\nThe arm froze at -4 degrees.")
    assert (second.title, second.date) == ("Re: Frozen arm", "2024-05-02")
    assert second.text.endswith("To: ann@x.org\n\nIt thawed.")


@pytest.mark.parametrize(
    ("message", "quote"),
    [
        ("[2024-05-01 10:00:00] #sales\n@ann.lee:\nUp 4%. Good.\n----------\n\n",
         "[2024-05-01 10:00:00] ann.lee in #sales: Up 4%. Good."),
        ("[01/05/2024, 10:00:13] Ann Lee: Up 4%.\nGood.\n",
         "[01/05/2024, 10:00:13] Ann Lee: Up 4%. Good."),
        ("01/05/2024, 10:00 - Ann: Up 4%. Good.\n", "[01/05/2024, 10:00] Ann: Up 4%. Good."),
        ("[10:00] <ann> Up 4%. Good.\n", "[10:00] ann: Up 4%. Good."),
        ("Ann Lee  10:00 AM\nUp 4%. Good.\n\n", "[10:00 AM] Ann Lee: Up 4%. Good."),
        ("Ann Lee, 5/1/2024 10:00 AM\nUp 4%.\n\nGood.\n\n",
         "[5/1/2024 10:00 AM] Ann Lee: Up 4%. Good."),
    ],
)  # fmt: skip
def test_messages_of_a_chat(folder: Path, message: str, quote: str) -> None:
    (chat,) = read(folder, "chat.txt", message * 3)
    assert chat.kind == "chat"
    assert quotes(chat) == [quote] * 3


def test_a_timetable_is_no_chat(folder: Path) -> None:
    text = "10:00 Opening: Ann speaks.\n11:00 Break: coffee.\n12:00 Lunch: soup.\n"
    (document,) = read(folder, "day.txt", text)
    assert (document.kind, document.text) == ("note", text.strip())
