"""Mail files (.eml): the header fields that matter, then the text of the message."""

from __future__ import annotations

from email import policy
from email.message import EmailMessage
from email.parser import BytesParser

from activities.sources.formats.dates import find_date
from activities.sources.formats.encoding import fold
from activities.sources.formats.extracts import Extract
from activities.sources.formats.plaintext import extract_text
from activities.sources.formats.webpage import extract_page

_HEADERS = ("From", "To", "Cc", "Date", "Subject")


def extract_mail(content: bytes) -> Extract:
    """Plain text is preferred to HTML; attachments are named, not read."""
    message = BytesParser(EmailMessage, policy=policy.default).parsebytes(content)
    head = [f"{name}: {fold(str(message[name]))}" for name in _HEADERS if message[name]]
    attachments = [name for part in message.iter_attachments() if (name := part.get_filename())]
    if attachments:
        head.append(f"Attachments: {', '.join(map(fold, attachments))}")
    return Extract(
        "\n".join(head) + "\n\n" + _body(message),
        title=fold(str(message["Subject"] or "")) or None,
        date=find_date(str(message["Date"] or "")),
        usual="mail",
    )


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
    return extract_text(text).text
