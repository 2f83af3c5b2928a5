"""Text files: plain text, mails and chats that were exported as text; and mail files.

In plain text, underlined headings become `#` headings, hard-wrapped paragraphs one line each. Files
that are written in Markdown or reStructuredText are told apart. Every mail is a document, titled
with its subject: `.eml` holds one, `.mbox` and exports many. A chat is one document, in which each
message stands on a line with its time and its sender:
`[2024-05-01 10:00] Ann: Forecast is up.`
"""

from __future__ import annotations

import mailbox
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from pathlib import Path
from typing import IO, Any

from activities.sources.formats.descriptions import find_date, first_heading
from activities.sources.formats.extracted_text import Extract, fold, normalise
from activities.sources.formats.lines import looks_like_heading, starts_unit, unwrap

_UNDERLINE = re.compile(r" *([=\-~*_#+^\"'`.:])(?: ?\1){2,} *$")
_SUBJECT = re.compile(r"^Subject: *(.+)$", re.MULTILINE)
_LONGEST_HEADING = 100
_NUMBERED = re.compile(r"(?:\d{1,2}[.)]|\d{1,2}(?:\.\d{1,2})+[.)]?) +[^\W\d].{0,80}(?<![.,;:!?])$")
_RESTRUCTURED = re.compile(r"^ *\.\. [\w-]+::|(?<!\w):[a-z][\w:-]*:`", re.MULTILINE)
_MARKDOWN = re.compile(r"^#{1,4} \w|^```|^\|? ?:?-{3,}:? ?\|[-:| ]+$|\]\(https?://", re.MULTILINE)
_MARK = re.compile(r"[`*_\[]|\|(?=\w)")
# Parsers of markup need time in the square of the marks in a paragraph: seconds for this many.
_MOST_MARKS = 5000
_LOOKED_AT = 20_000
_LEAST_MARKS = 3


def is_markup_too_dense(text: str) -> bool:
    """Whether a paragraph holds so many marks that it was made to keep a parser busy."""
    return any(len(_MARK.findall(paragraph)) > _MOST_MARKS for paragraph in text.split("\n\n"))


def is_restructured(text: str) -> bool:
    return _RESTRUCTURED.search(text[:_LOOKED_AT]) is not None


def is_markdown(text: str) -> bool:
    return len(_MARKDOWN.findall(text[:_LOOKED_AT])) >= _LEAST_MARKS


def extract_text(text: str) -> Extract:
    body = unwrap(normalise("\n".join(_lines_with_headings(text))))
    heading, subject = first_heading(body), _SUBJECT.search(body[:2000])
    if heading and not _NUMBERED.match(heading):
        return Extract(body, heading)
    return Extract(body, subject[1] if subject else _first_line(body))


def _first_line(text: str) -> str | None:
    """The first line if it stands alone and reads like a title."""
    line, _, rest = text.partition("\n")
    alone = not rest or rest.startswith("\n")
    return line if alone and looks_like_heading(line) else None


def _lines_with_headings(text: str) -> Iterator[str]:
    """The lines with headings marked and set apart, and without rules."""
    lines = [line.rstrip() for line in text.split("\n")]
    position = 0
    while position < len(lines):
        line, following, third = [*lines[position : position + 3], "", ""][:3]
        position += 1
        if _UNDERLINE.match(line):
            title = following.strip()
            if 0 < len(title) <= _LONGEST_HEADING and third == line:
                yield from ("", f"# {title}", "")
                position += 2
            else:
                yield ""
        elif _is_numbered_heading(lines, position - 1):
            yield f"## {line.strip()}"
        elif _is_underlined(line, following):
            yield from ("", f"{'#' if following[0] in '=#*' else '##'} {line.strip()}", "")
            position += 1
        else:
            yield line


def _is_numbered_heading(lines: list[str], at: int) -> bool:
    """Whether a short line with a number, such as `2. Costs`, stands alone above a paragraph."""
    if not _NUMBERED.match(lines[at]):
        return False
    before = lines[at - 1] if at else ""
    after, below = [*lines[at + 1 : at + 3], "", ""][:2]
    return (
        not before
        and not after
        and find_date(lines[at]) is None
        and len(below) > _LONGEST_HEADING // 2
        and not starts_unit(below)
    )


def _is_underlined(line: str, following: str) -> bool:
    """Whether `following` underlines `line`, rather than parting it from what comes next."""
    title = line.strip()
    if not _UNDERLINE.match(following) or " " in following.strip():
        return False
    if not any(map(str.isalnum, title)) or line.startswith(("    ", "- ", "* ")):
        return False
    length = len(following.strip())
    return 0.7 * len(title) <= length <= 1.5 * len(title) + 3 and not title.endswith((".", ","))


# --- mails and chats -----------------------------------------------------------------------------

_HEADERS = re.compile(r"(?:^[A-Z][\w-]{1,15}(?: [\w-]{1,10})?: +\S.*\n){3,}", re.MULTILINE)
_RULE = re.compile(r"[=_*#~-]{5,}")
_RULES = re.compile(rf"^{_RULE.pattern}$", re.MULTILINE)
_BODY_LABEL = re.compile(r"(?:message )?(?:body|text|content):", re.IGNORECASE)
_MAIL_HEADERS = ("From", "To", "Cc", "Date", "Subject")
_SHOWN = ("to", "cc", "attachments")
_QUOTED = re.compile(r" ?>")
_ATTRIBUTION = re.compile(r"(?:On|Am|Le|El) .{6,150}:$")

_TIME = r"\d{1,2}:\d{2}(?::\d{2})?(?: ?[AaPp]\.?[Mm]\b\.?)?"
_DAY = (
    r"(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{2,4}|[A-Z][a-z]{2,8}\.? \d{1,2},? \d{4}"
    r"|\d{1,2}\.? [A-Z][a-z]{2,8} \d{4})"
)
_DATED = rf"{_DAY}(?:,| at|T)? ?{_TIME}"
_NAME = r"@?(?P<name>[^\W\d][\w .,'’()-]{0,40}?)"
_CHANNEL = r"(?:[ ]+(?P<channel>#[\w:-]+))?"
_FORMS = tuple(
    re.compile(form, re.MULTILINE)
    for form in (
        # [2024-05-01 10:00] Ann: text · 01/05/24, 10:00 - Ann: text
        rf"^(?:\[(?P<stamp>{_DATED}|{_TIME})\]|(?P<bare>{_DATED})){_CHANNEL}[ –-]*{_NAME}:(?: +|$)",
        # [10:00] <ann> text
        rf"^\[?(?P<stamp>(?:{_DAY} )?{_TIME})\]? +<[@+ ]?{_NAME}> +",
        # [2024-05-01 10:00] #channel, then @ann: on a line of its own
        rf"^\[(?P<stamp>{_DATED}|{_TIME})\]{_CHANNEL}\n{_NAME}:?$",
        # Ann Lee 10:00 AM, then the text
        rf"^{_NAME}(?:,| +[–|-])? +\[?(?P<stamp>{_DATED}|{_TIME})\]?\n(?=.*\w)",
    )
)
_LEAST_MESSAGES = 3


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail; `fields` holds its header by lower-case names."""

    fields: dict[str, str]
    body: str

    def extract(self, fragment: str = "") -> Extract:
        """The mail as text: its subject, who wrote it when and to whom, then the body."""
        subject = fold(self.fields.get("subject", ""))
        sent = fold(self.fields.get("date") or self.fields.get("sent") or "")
        written = ", ".join(filter(None, (fold(self.fields.get("from", "")), sent)))
        lines = [f"From: {written}"] if written else []
        lines += [
            f"{name.title()}: {fold(self.fields[name])}" for name in _SHOWN if self.fields.get(name)
        ]
        head = [f"# {subject}" if subject else "", "\n".join(lines)]
        return Extract(
            "\n\n".join(filter(None, [*head, self.body])),
            title=subject or None,
            date=find_date(sent),
            usual="mail",
            fragment=fragment,
        )


def without_replies(text: str) -> str:
    """The text of a mail without what it quotes of the one it answers."""
    lines: list[str] = []
    for line in text.split("\n"):
        if not _QUOTED.match(line):
            lines.append(line)
            continue
        while lines and not lines[-1].strip():
            lines.pop()
        if lines and _ATTRIBUTION.match(lines[-1]):
            lines.pop()
    own = "\n".join(lines)
    return own if any(map(str.isalnum, own)) else text


def extract_mails(text: str) -> list[Extract]:
    """The mails of an export, each once, and what stands before them; nothing if there are none."""
    text = normalise(text)
    headers = [found for found in _HEADERS.finditer(text) if _is_mail(_fields(found[0]))]
    if not headers:
        return []
    ends = [found.start() for found in headers[1:]] + [len(text)]
    separators = Counter(_last_line(text[: found.start()]) for found in headers[1:])
    separator = next((line for line, _ in separators.most_common(1) if _RULE.fullmatch(line)), None)
    mails: dict[tuple[str, str], Mail] = {}
    for found, end in zip(headers, ends, strict=True):
        body = _body(text[found.end() : end], separator)
        fields = _fields(found[0])
        mails.setdefault((fields.get("subject", ""), fold(body)), Mail(fields, body))
    if len(mails) == 1:
        return [mail.extract() for mail in mails.values()]
    extracts = [mail.extract(f"#mail-{number}") for number, mail in enumerate(mails.values(), 1)]
    opening = extract_text(text[: headers[0].start()])
    return [opening, *extracts] if any(map(str.isalnum, opening.text)) else extracts


def extract_chat(text: str) -> Extract | None:
    """A chat with one message on each line, or None if the text is no chat."""
    text = normalise(text)
    found = max((list(form.finditer(text)) for form in _FORMS), key=len)
    if len(found) < _LEAST_MESSAGES:
        return None
    opening = extract_text(text[: found[0].start()])
    ends = [each.start() for each in found[1:]] + [len(text)]
    said = [text[each.end() : end] for each, end in zip(found, ends, strict=True)]
    if all(_RULES.search(each) for each in said):  # a rule ends every message
        said = [_RULES.split(each, maxsplit=1)[0] for each in said]
    lines = [_message(each, fold(text)) for each, text in zip(found, said, strict=True)]
    dates = [date for each in found if (date := find_date(_stamp(each)))]
    return Extract(
        "\n\n".join(filter(None, [opening.text, "\n".join(filter(None, lines))])),
        title=opening.title,
        date=max(dates, default=None),
        usual="chat",
    )


def _message(start: re.Match[str], said: str) -> str:
    channel = start.groupdict().get("channel")
    sender = f"{start['name']} in {channel}" if channel else start["name"]
    return f"[{_stamp(start)}] {sender}: {said}" if any(map(str.isalnum, said)) else ""


def _stamp(start: re.Match[str]) -> str:
    return start["stamp"] or start.groupdict().get("bare") or ""


def _fields(header: str) -> dict[str, str]:
    pairs = (line.split(": ", 1) for line in header.strip().split("\n"))
    return {name.lower(): value.strip() for name, value in pairs}


def _is_mail(fields: dict[str, str]) -> bool:
    return "from" in fields and not fields.keys().isdisjoint({"subject", "date", "sent", "to"})


def _last_line(text: str) -> str:
    return text.rstrip().rsplit("\n", 1)[-1].strip()


def _body(text: str, separator: str | None) -> str:
    lines = text.strip().split("\n")
    ends = (n for n, line in enumerate(lines) if separator and line.strip() == separator)
    lines = lines[: next(ends, len(lines))]
    while lines and (_BODY_LABEL.fullmatch(lines[0].strip()) or _RULE.fullmatch(lines[0].strip())):
        lines.pop(0)
    return extract_text(without_replies("\n".join(lines))).text


# --- mail files ----------------------------------------------------------------------------------


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
    fields = {name.lower(): str(message[name]) for name in _MAIL_HEADERS if message[name]}
    attachments = [name for part in message.iter_attachments() if (name := part.get_filename())]
    if attachments:
        fields["attachments"] = ", ".join(map(fold, attachments))
    return Mail(fields, _message_body(message))


def _message_body(message: EmailMessage) -> str:
    part = message.get_body(preferencelist=("plain", "html"))
    if part is None:
        return ""
    try:
        text = str(part.get_content())
    except LookupError:  # an encoding that Python does not know
        text = bytes(part.get_payload(decode=True) or b"").decode("utf-8", "replace")
    if part.get_content_subtype() == "html":
        from activities.sources.formats.markup.html_pages import extract_page

        return extract_page(text).text
    return extract_text(without_replies(text)).text
