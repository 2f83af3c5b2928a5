"""Mail files: `.eml` holds one mail, `.mbox` many."""

from __future__ import annotations

import mailbox
from contextlib import closing
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from pathlib import Path
from typing import IO, Any

from activities.sources.formats.encoding import fold
from activities.sources.formats.extracted_text import Extract
from activities.sources.formats.markup.html_pages import extract_page
from activities.sources.formats.plaintext import extract_text
from activities.sources.formats.text_exports import Mail, without_replies

_HEADERS = ("From", "To", "Cc", "Date", "Subject")


def extract_mail(content: bytes) -> Extract:
    return _mail(BytesParser(EmailMessage, policy=policy.default).parsebytes(content)).extract()


def extract_mailbox(path: Path) -> list[Extract]:
    """Every mail of a mailbox as a document of its own."""

    def read(file: IO[Any]) -> EmailMessage:
        return BytesParser(EmailMessage, policy=policy.default).parse(file)

    with closing(mailbox.mbox(path, factory=read, create=False)) as box:  # type: ignore[arg-type]
        return [
            _mail(message).extract(f"#mail-{number}")  # type: ignore[arg-type]
            for number, message in enumerate(box, 1)
        ]


def _mail(message: EmailMessage) -> Mail:
    """Plain text is preferred to HTML; attachments are named, not read."""
    fields = {name.lower(): str(message[name]) for name in _HEADERS if message[name]}
    attachments = [name for part in message.iter_attachments() if (name := part.get_filename())]
    if attachments:
        fields["attachments"] = ", ".join(map(fold, attachments))
    return Mail(fields, _body(message))


def _body(message: EmailMessage) -> str:
    part = message.get_body(preferencelist=("plain", "html"))
    if part is None:
        return ""
    try:
        text = str(part.get_content())
    except LookupError:  # an encoding that Python does not know
        text = bytes(part.get_payload(decode=True) or b"").decode("utf-8", "replace")
    if part.get_content_subtype() == "html":
        return extract_page(text).text
    return extract_text(without_replies(text)).text
