"""What sort of document a text is, guessed from its format, its place and its wording.

The guess helps to prefer authoritative sources; nothing else depends on it. Cues are general:
words that name a kind in a title, a path or the first lines.
"""

from __future__ import annotations

import re
from itertools import islice

from .documents import Kind

_HEAD = 1500
_NAMED, _PLACED, _WORDED = 3.0, 2.0, 1.0

# Words that name the kind, in titles, file names and folders.
_NAMES: tuple[tuple[Kind, str], ...] = (
    ("minutes", r"minutes|meeting notes|protocol of (?:the )?meeting|agenda"),
    (
        "regulation",
        r"regulations?|directive|statute|ordinance|act of \d{4}|\w+ act|bylaws?|rulemaking|"
        r"final rule|legislation|decree|laws?|legal",
    ),
    (
        "study",
        r"study|studies|papers?|journal|trial|cohort|meta-analysis|systematic review|survey of|"
        r"thesis|preprints?|research|working paper",
    ),
    ("press", r"press(?: releases?)?|news(?:room)?|media release|announces|announcement"),
    ("blog", r"blogs?|posts?|opinion|column|op-ed|diary"),
    (
        "marketing",
        r"brochures?|datasheets?|marketing|product(?:s)? (?:page|overview)|promo\w*|ads?",
    ),
    ("mail", r"e?mails?|mailbox|inbox|correspondence"),
    ("chat", r"chats?|slack|channel|messages|conversation"),
    ("slides", r"slides?|deck|presentation|slideshow"),
    ("dataset", r"dataset|data ?sheet|raw data|statistics|table of"),
    (
        "report",
        r"reports?|review|assessment|analysis|audit|white ?paper|evaluation|strategy|annual|"
        r"quarterly|overview|outlook",
    ),
    ("note", r"notes?|readme|memo|todo|draft"),
)
# Wording that a kind uses in its first lines.
_WORDING: tuple[tuple[Kind, str], ...] = (
    ("minutes", r"^\W*(?:present|attendees|apologies|in attendance|action items?|chair)\b[^.\n]*:"),
    ("minutes", r"\bmeeting (?:was )?(?:called to order|adjourned|opened)\b|\bminutes of\b"),
    ("regulation", r"^\W*(?:article|section|§) ?\d+|\bshall (?:not )?(?:be|apply|enter)\b"),
    ("regulation", r"\bhereby (?:repealed|adopted|enacted)\b|\bpursuant to\b"),
    ("study", r"^\W*(?:abstract|methods?|methodology|results|references)\W*$|\bp ?[<=] ?0?\.\d"),
    ("study", r"\bdoi\b|\bet al\b|\b95 ?% (?:ci|confidence)\b|\bn ?= ?\d+|\bpeer[- ]reviewed\b"),
    ("press", r"\bfor immediate release\b|\b(?:press|media) contact\b|\b(?:today|has) announced\b"),
    ("blog", r"\bposted by\b|\bread more\b|\bin this post\b|\bmy (?:experience|opinion|take)\b"),
    ("marketing", r"\b(?:buy|order|shop|sign up|try)\b[^.]{0,30}\b(?:now|today|free)\b"),
    ("marketing", r"\b(?:industry|world)[- ]leading\b|\bour customers love\b|\bbook a demo\b"),
    ("mail", r"^(?:from|to|cc|subject|sent): .+$"),
    ("chat", r"^\[?\d{1,2}:\d{2}(?::\d{2})?\]? ?<?@?\w+|^@[\w.]+:|^\[\d{4}-\d\d-\d\d[^\]]*\]"),
    ("report", r"\bthis (?:report|document|review) (?:provides|presents|examines|outlines|aims)\b"),
    ("report", r"\bexecutive summary\b|\bkey findings\b|\brecommendations\b"),
)  # fmt: skip
_NAMED_AS = tuple((kind, re.compile(rf"(?<!\w)(?:{words})(?!\w)")) for kind, words in _NAMES)
_WORDED_AS = tuple((kind, re.compile(wording, re.M)) for kind, wording in _WORDING)


# Formats that leave no doubt.
_CERTAIN: tuple[Kind, ...] = ("slides", "dataset", "mail")


def guess_kind(title: str, uri: str, text: str, usual: Kind) -> Kind:
    """The kind with most cues, or `usual` for the format."""
    if usual in _CERTAIN:
        return usual
    scores: dict[Kind, float] = {usual: 1.5}
    name = re.sub(r"[_\W]+", " ", title).lower()
    place = re.sub(r"[_\W]+", " ", uri).lower()
    head = text[:_HEAD].lower()
    for kind, named in _NAMED_AS:
        if named.search(name):
            scores[kind] = scores.get(kind, 0.0) + _NAMED
        elif named.search(place):
            scores[kind] = scores.get(kind, 0.0) + _PLACED
    for kind, worded in _WORDED_AS:
        matches = sum(1 for _ in islice(worded.finditer(head), 3))
        scores[kind] = scores.get(kind, 0.0) + _WORDED * matches
    return max(scores, key=lambda kind: scores[kind])
