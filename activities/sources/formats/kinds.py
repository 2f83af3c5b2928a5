"""What sort of document a text is, guessed from its format, its place and its wording.

The guess helps to prefer authoritative sources; nothing else depends on it. Cues are general:
words that name a kind in a title or a path, and phrases that a kind uses in its first lines.
Plain substrings do, as this runs for every document.
"""

from __future__ import annotations

from activities.evidence.text.terms import words
from activities.sources.documents import Kind

_HEAD = 1500
# Files are named with less care than folders and titles.
_FOLDER, _TITLE, _FILE, _WORDED = 2.5, 2.5, 2.0, 1.0
_USUAL = 1.5
_MOST_WORDED = 4.0
# Formats that leave no doubt.
_CERTAIN: tuple[Kind, ...] = ("slides", "dataset", "mail", "chat")

_NAMES: dict[Kind, frozenset[str]] = {
    # Not "minutes", which a title uses for time.
    "minutes": frozenset({"agenda", "committee", "meeting", "meetings"}),
    "regulation": frozenset(
        {"act", "bylaw", "bylaws", "decree", "directive", "law", "laws", "legal", "legislation",
         "ordinance", "regulation", "regulations", "rulemaking", "statute", "statutes"}
    ),
    "study": frozenset(
        {"cohort", "journal", "paper", "papers", "preprint", "preprints", "research", "studies",
         "study", "thesis", "trial", "trials"}
    ),
    "press": frozenset({"announcement", "announces", "news", "newsroom", "press", "releases"}),
    "blog": frozenset({"blog", "blogs", "column", "diary", "opinion", "post", "posts"}),
    "marketing": frozenset({"ads", "brochure", "marketing", "promo", "vendor", "vendors"}),
    "slides": frozenset({"deck", "presentation", "presentations", "slides"}),
    "dataset": frozenset({"dataset", "datasets", "statistics"}),
    "report": frozenset(
        {"analysis", "annual", "assessment", "audit", "evaluation", "outlook", "overview",
         "quarterly", "report", "reports", "review", "strategy", "whitepaper"}
    ),
    "note": frozenset({"draft", "memo", "note", "notes", "readme", "todo"}),
}  # fmt: skip
_WORDING: dict[Kind, tuple[str, ...]] = {
    "minutes": (
        "minutes of", "\nattendees", "\npresent:", "\napologies", "in attendance", "action item",
        "called to order", "adjourned", "**attendees", "**present",
    ),
    "regulation": (
        "shall be", "shall not", "shall apply", "shall enter", "pursuant to", "hereby",
        "\narticle 1", "\nsection 1", "\n# article", "\n## article", "§",
    ),
    "study": (
        "\nabstract", "# abstract", "# methods", "\nmethods", "et al", "doi", "confidence interval",
        "95% ci", "p < 0", "p<0", "(n = ", "(n=", "peer-reviewed", "participants were",
        "randomised", "randomized", "we surveyed",
    ),
    "press": (
        "for immediate release", "press contact", "media contact", "today announced",
        "announced today", "has announced", "about the company",
    ),
    "blog": ("posted by", "read more", "in this post", "in my experience", "my take", "my opinion"),
    "marketing": (
        "buy now", "order now", "shop now", "sign up today", "get started today", "free trial",
        "book a demo", "industry-leading", "world-leading", "our customers love", "contact sales",
    ),
    "report": (
        "this report", "executive summary", "key findings", "recommendations",
        "this document provides", "this document outlines", "this review",
    ),
}  # fmt: skip


def guess_kind(title: str, uri: str, text: str, usual: Kind) -> Kind:
    """The kind with most cues, or `usual` for the format."""
    if usual in _CERTAIN:
        return usual
    scores: dict[Kind, float] = {usual: _USUAL}
    folder, _, file = uri.rpartition("/")
    places = ((_FOLDER, set(words(folder))), (_TITLE, set(words(title))), (_FILE, set(words(file))))
    for kind, cues in _NAMES.items():
        named = max((weight for weight, found in places if not cues.isdisjoint(found)), default=0.0)
        if named:
            scores[kind] = scores.get(kind, 0.0) + named
    head = "\n" + text[:_HEAD].lower()
    for kind, phrases in _WORDING.items():
        worded = sum(_WORDED for phrase in phrases if phrase in head)
        if worded:
            scores[kind] = scores.get(kind, 0.0) + min(worded, _MOST_WORDED)
    return max(scores, key=lambda kind: scores[kind])
