"""Whether a sentence says what it is about, or leans on the one before it.

"It fell by half", "In her view …", "For example, …" and "the first is …" mean nothing to a reader
who has not read what stands above them; `leans` finds such sentences by their grammar.
"""

from __future__ import annotations

import re
from functools import lru_cache

from activities.offline.residue import plain

_LEANS = re.compile(
    r"^(?:(?:on|in|at|for|with|by|from|of|after|before|during|under|to|besides|despite|since|"
    r"within|through|because of|due to|based on|given|unlike|like) "
    r"(?:this|that|these|those|such|both|it|them)\b(?! (?:year|quarter|month|week|country))|"
    r"(?:when|if|as|because|since|while|once|where|although|though|unless|until|after|before) "
    r"(?:it|they|he|she|this|that|these|those)\b|"
    r"(?:it|its|they|their|them|he|his|she|her|this|that|these|those|such|both|neither|"
    r"the (?:latter|former|same|above|below|following|results?|figures?|number|rate|increase|"
    r"decrease|reduction|improvement|change|rest|remainder|sum|amount|total|estimate|excess)\b"
    r"(?! of| for| in)|"
    r"as (?:a result|such|noted|mentioned|described|discussed|stated|explained|seen)|"
    r"consequently|therefore|thus|hence|accordingly|similarly|likewise|instead|"
    r"however|nevertheless|conversely|by contrast|in contrast|for (?:example|instance)|"
    r"in (?:turn|addition|other words|short|fact|particular|this)|additionally|moreover|"
    r"furthermore|also|meanwhile|then|alternatively|otherwise|again|first(?:ly)?(?=,)|second(?:ly)?(?=,)|"
    r"third(?:ly)?(?=,)|finally|lastly|next(?=,)|afterwards|"
    r"another|others|one (?:of (?:them|these)|such)|here|there (?:it|they)|of which|"
    r"(?:the )?(?:first|second|third)(?: one)? (?:is|was|has|says)|"
    r"and|but|so|or|yet|nor|who|which|whose|not only|put another way|that (?:is|said|means))\b)",
    re.I,
)
_TIMED_THIS = re.compile(
    r"^(?:this|that|these|those) (?:year|quarter|month|week|summer|winter|spring|autumn|decade)\b",
    re.I,
)
# "In 2024 the company had five, among them …": five what stands in the sentence before.
_BARE_COUNT = re.compile(
    r"\b(?:had|has|were|was|saw|recorded|counted|made) "
    r"(?:two|three|four|five|six|seven|eight|nine|ten|\d+)(?:[,;](?!\d)|\.$)",
    re.I,
)
# "Keeping her costs …", "In his view the …": whose, stands before; a name in front would tell.
_WHOSE = re.compile(r"^(?:[A-Z]?[a-z'’-]+ ){0,4}(?:he|she|him|her|his|hers)\b")
# "99% of the time it is …": only words of grammar, time and number stand before the pronoun.
_WHAT = re.compile(
    r"^(?:(?:[\d.,%]+|in|on|at|of|by|the|a|an|all|most|some|many|much|more|both|each|time|times|"
    r"day|days|year|years|now|today|cases?|general|practice|fact|usually|often|sometimes|also|"
    r"further|then|still),? )+(?:it|they|them|these|those)\b(?! (?:is|was) \w+ed (?:that|to)\b)",
    re.I,
)
# "… catalogs these patterns": which ones stands before, unless the sentence itself has named them.
_THESE = re.compile(r"\b(?:these|those) ([a-z]{4,})\b")


@lru_cache(maxsize=20_000)
def leans(sentence: str) -> bool:
    """Whether a sentence says what it is about only together with the one before it."""
    text = plain(sentence)
    if _TIMED_THIS.match(text):
        return False
    return bool(
        _LEANS.match(text)
        or _BARE_COUNT.search(text)
        or _WHOSE.match(text)
        or _WHAT.match(text)
        or _points_back(text)
    )


def _points_back(text: str) -> bool:
    found = _THESE.search(text)
    if not found or found[1] in _NO_THING:
        return False
    return found[1].rstrip("s")[:5].lower() not in text[: found.start()].lower()


_NO_THING = frozenset(
    {"with", "from", "that", "which", "under", "using", "affected", "concerned", "involved", "over",
     "aged", "near", "already", "days", "whose", "living", "working", "without", "found"}
)  # fmt: skip
