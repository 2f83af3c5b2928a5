"""Cue words: what a statement hedges, is limited to, advises, denies, and whom it addresses.

`hedges` and `scope` quote the text's own words and return "" where it has no such cue. Text that
gives orders to whoever summarises it is data; `addresses_machine` finds it so that it is neither
obeyed nor quoted.
"""

from __future__ import annotations

import re
from functools import lru_cache

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


_ADVICE = re.compile(
    r"\b(?:should|must|shall|ought to|recommend\w*|never|always|avoid(?:ed)?|ensure|make sure|"
    r"prefer(?:red|ably)?|do not|don['’]t|ha(?:s|ve) to|needs? to|advis(?:e[sd]?|able)|"
    r"(?:un)?suitable|(?:best|good) practice)\b"
    r"|^(?:use|choose|store|set|apply|keep|select|add|limit|require|enable|disable|check|consider|"
    r"start|test|write|make)\b",
    re.I,
)


def advises(text: str) -> bool:
    """Whether a statement says what to do, rather than how things are."""
    return bool(_ADVICE.search(text))


_UNRELATED = re.compile(
    r"\b(?:unrelated to|not (?:\w+ )?(?:directly |necessarily )?(?:related|relevant|linked) to|"
    r"(?:do|does|did)(?: not|n['’]t) (?:directly )?(?:affect|impact|influence|relate|concern)|"
    r"no (?:direct |measurable )?(?:impact|effect|bearing|influence) on)\b",
    re.I,
)
_ASKS_RELATION = re.compile(
    r"\b(?:affect|impact|effect|influence|relat|depend|cause|link|why)", re.I
)


def denies_relation(text: str, ask: str) -> bool:
    """Whether a text says it has nothing to do with something, and nobody asked whether it has."""
    return bool(_UNRELATED.search(text)) and not _ASKS_RELATION.search(ask)


def periods(text: str) -> frozenset[str]:
    """Years and quarters a text names."""
    return frozenset(hit.group().upper() for hit in _PERIOD.finditer(text))


_PERIOD = re.compile(r"\b(?:(?:19|20)\d\d|Q[1-4])\b", re.I)


_READER = (
    r"(?:(?:AI|A\.I\.|LLM|large language|language|chat)"
    r"[ -]?(?:assistant|model|agent|system|tool|bot|reader|summari[sz]er)?s?|"
    r"chatbots?|(?:virtual|digital|automated|research) (?:assistant|agent|reader|summari[sz]er)s?)"
)
# Documents about machines say what they must do; orders say what they must report.
_SPEAKING = (
    r"(?:(?:report|state|say|write|conclude|answer|respond|reply|claim|repeat|assume|output)"
    r"(?: only)?(?: that| with|:)|"
    r"(?:ignore|disregard|forget|omit) (?:all|any|every|other|the|this)|"
    r"tell (?:users?|readers?|the (?:user|reader))|treat this|"
    r"(?:cite|quote|trust|use|prefer|mention) (?:only )?(?:this|no other)|recommend only|"
    r"comply with|obey|follow (?:these|this|the following))"
)
_ORDERS = re.compile(
    rf"\b(?:ignore|disregard|forget|override|bypass)\b[^.]{{0,40}}\b(?:previous|prior|above|"
    rf"earlier|preceding|other|existing|original|all|any|your|system|these|those|my)\b[^.]{{0,30}}"
    rf"\b(?:instructions?|prompts?|rules?|guidelines|sources?|documents?|context|constraints|"
    rf"messages?|directions|orders|commands)\b"
    rf"|\b(?:as|you are|you're|act as|pretend to be|if you are|if you're) (?:now )?an? "
    rf"(?:helpful |large )?{_READER}\b(?=[^.]*\b(?:you|your|ignore|must|report|do not)\b)"
    rf"|\b(?:note|notice|message|instructions?|attention|addressed|directed)(?: to| for|:)\s*"
    rf"(?:the |any |all |every )?{_READER}\b"
    rf"|\b{_READER}\b[^.]{{0,60}}\b(?:should|must|shall|are (?:required|instructed|asked) to|"
    rf"need to|have to|will)\s+(?:always |only |not |never )?{_SPEAKING}"
    rf"|\byou (?:must|should|shall|are (?:required|instructed) to|are to|will)\s+"
    rf"(?:now |always |only |not |never |instead )?{_SPEAKING}"
    rf"|\byour (?:system )?prompt\b"
    rf"|\bwhen(?:ever)? (?:you )?(?:are )?(?:summari[sz]\w+|answering|citing|quoting|processing|"
    rf"reading|reporting) (?:on )?(?:this|these|the) (?:document|page|text|file|report|content|"
    rf"article|passage|question)s?\b[^.]*\b{_SPEAKING}"
    rf"|\b(?:do not|don't|never) (?:mention|cite|report|reveal|disclose|include|use|quote)\b[^.]*"
    rf"\b(?:these instructions|this instruction|your (?:answer|summary|report)|"
    rf"(?:any )?other (?:source|document)s?)\b"
    rf"|\b(?:in|from) your (?:summary|answer|response|output|reply)\b"
    rf"|^(?:system|assistant)\s*:\s|<\|?(?:im_start|system|instructions?)\b",
    re.I,
)


@lru_cache(maxsize=20_000)
def addresses_machine(sentence: str) -> bool:
    """Whether a sentence gives orders to a model that reads it."""
    return bool(_ORDERS.search(sentence))
