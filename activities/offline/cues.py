"""Cue words that tell how far a statement may be carried: hedges and the scope it holds for.

Both functions quote the text's own words and return "" where it has no such cue.
"""

from __future__ import annotations

import re

_HEDGES = re.compile(
    r"\b(?:an? )?(?:estimat(?:e[sd]?|ed at|ion)|project(?:ed|ions?)(?= (?:to|that|at|for|by|cost|"
    r"saving|growth|demand|rev))|forecasts?|planned|plans to|is planning|expect(?:s|ed)(?: to)?|"
    r"anticipat(?:es?|ed)|target(?:s|ed|ing)?(?= (?:of|to|is|for|by|a\b))|aims? to|intends? to|"
    r"proposed|preliminary|provisional|draft|unaudited|unconfirmed|anecdotal(?:ly)?|assum(?:es?|ed|"
    r"ing|ption)|might|may(?= (?:be|have|not|also|reach|lead|cause|reduce|increase|rise|fall))|"
    r"could|appears? to|seems? to|suggests?|likely|reportedly|allegedly|claims? (?:that|to)|"
    r"is said to|believed to|up to(?= [\d$€£])|subject to|pending|tentative(?:ly)?)\b",
    re.I,
)
_AS_OF = re.compile(
    r"\bas (?:of|at) (?:the )?(?:end of )?(?:(?:Q[1-4]|H[12]|early|mid|late|\d{1,2})[ -]?)?"
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)?"
    r"\s?(?:\d{1,2},? )?(?:19|20)\d\d",
    re.I,
)
_FUTURE = re.compile(
    r"\b(?:by|from|until|in)\s+(?:the end of |Q[1-4] |early |mid-?|late )?(20\d\d)\b", re.I
)
_NUMBERED = (
    r"(?:\d[\d,.]*|one|two|three|four|five|six|seven|eight|nine|ten|twelve|a single|several)"
)
_SCOPE = re.compile(
    rf"\b(?:(?:a |the )?(?:survey|sample|poll|panel|study|interviews?|trial|pilot|cohort) "
    rf"(?:of|with|among|covering|at|on|in) (?:[\w,.’'-]+ ?){{1,6}}"
    rf"|{_NUMBERED} (?:of the |of its |of our )?(?:respondents|participants|passengers|patients|"
    rf"employees surveyed|interviewees|households|interviews|responses)(?: surveyed)?"
    rf"|(?:only|just) (?:on |in |at |for |to )?(?:the )?{_NUMBERED} [\w-]+(?: [\w-]+)?"
    rf"|{_NUMBERED} [\w-]+(?: [\w-]+)? only"
    rf"|(?:on|in|at) (?:one|a single|two|three) (?:[\w-]+ )?(?:routes?|sites?|cit(?:y|ies)|depots?|"
    rf"stores?|plants?|locations?|branch(?:es)?|region|regions|hospitals?|schools?|departments?)"
    rf"|(?:excluding|excludes|not including|does not include|except for|apart from|other than) "
    rf"(?:[\w,’'-]+ ?){{1,6}}"
    rf"|(?:limited|restricted|confined) to (?:[\w’'-]+ ?){{1,6}}"
    rf"|(?:pilot|trial) (?:phase|programme|program|project|period|run|scheme|group|site)"
    rf"|during the (?:pilot|trial|test)"
    rf"|(?:under|in) (?:laboratory|test|controlled|winter|summer|ideal) conditions"
    rf"|on average|for (?:the )?first (?:year|quarter|half|\w+ (?:weeks|months|years)))",
    re.I,
)


def hedges(text: str, today: str = "") -> str:
    """What makes a statement less than settled: hedging words, a stated date, a time to come."""
    found = [f"“{hit.group().strip()}”" for hit in _HEDGES.finditer(text)]
    found += [hit.group().strip() for hit in _AS_OF.finditer(text)]
    if today[:4].isdigit():
        found += [
            f"lies ahead: {hit.group().strip()}"
            for hit in _FUTURE.finditer(text)
            if int(hit.group(1)) > int(today[:4])
        ]
    return "; ".join(dict.fromkeys(found[:3]))


def scope(text: str) -> str:
    """What a statement is limited to, in the text's own words."""
    found = [hit.group().strip(" ,.") for hit in _SCOPE.finditer(text)]
    return "; ".join(dict.fromkeys(found[:2]))
