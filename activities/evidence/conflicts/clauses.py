"""Clauses: the stretch of a sentence that speaks of one thing.

A value is judged by the clause it stands in, since what follows after "and", "which" or a comma
with a new verb is another statement. Cut by plain English grammar; where a cut is doubtful the
clause stays whole, which costs a comparison and never invents one.
"""

from __future__ import annotations

import re
from functools import lru_cache

from activities.evidence.words import WORD, word_list

AUXILIARY = word_list(
    """is are was were be been has have had will would shall should can could may might must do
    does did remains remained became becomes become"""
)
# Past forms and plain verbs that no ending gives away.
VERBS = word_list(
    """built won led ran made wrote drew sold bought paid held took gave got began sank struck laid
    used met set put cut went came left found sent spent lost rose fell grew kept told said says
    cost costs saw stood stands lies sits starts ends opens closes stays comes goes runs leads
    heads owns holds takes carries uses needs gives makes has lasts employs serves operates
    covers counts includes supplies builds designs produces publishes flew sang spoke broke drove
    rode chose froze stole wore tore threw knew blew ate swam hung dug stuck swung shot hit shut
    let fought brought thought caught sought slept meant felt dealt lent heard understood read
    fed hid fled slid bore beat bid burst shone wound lay joined"""
)
_SPEAKS = (
    r"(?:said|says|say|found|finds|knows?|knew|reports?|reported|shows?|showed|shown|states?|"
    r"stated|concludes?|concluded|notes?|noted|writes|wrote|claims?|claimed|believes?|believed|"
    r"learn(?:s|ed|t)|understands|understood|confirm(?:s|ed)|announced|argue[sd]?|told\s\w+|"
    r"estimate[sd]?|expects?|expected|think|thinks|thought|told|tells|warn(?:s|ed)|"
    r"insists?|insisted|denied|denies|suggest(?:s|ed)?|maintain(?:s|ed)?)"
)
_VERB = "|".join(sorted(AUXILIARY | VERBS))
_CUT = re.compile(
    r"\s*;\s+|\s+[\u2013\u2014-]\s+|:\s+"
    r"|,?\s+(?=(?:but|whereas|while|although|though|because|including|excluding|not\sincluding)\s)"
    r"|,\s+(?=(?:and|or|nor|so|yet|then|after|before|with|as|when|where|which|who|whose|whom|if|"
    r"unless|since|until|than|longer|more|less|according|making|both|compared|up|down|not|"
    r"among|most|many|some|"
    r"of\swhom|of\swhich|in\swhich|for\swhich|at\swhich|an?\s\w+\sof|"
    r"(?:the|an?)\s[\w-]+\s(?:(?:on|in|at|for|of|after|by)\s)?(?:which|whom|when|who))\s)"
    r"|,\s+(?=\w+\s(?:minutes|hours|days|weeks|months|years)\s"
    r"(?:behind|before|after|later|earlier|ahead|late|early)\b)"
    rf"|\s+(?=and\s+(?:(?:then|later|also|now|so)\s+)?(?:{_VERB}|[a-z]{{3,}}ed)\s)"
    r"|,\s+(?=[a-z]{3,}(?:ed|ing|ly)\b|(?:built|made|held|led|run|known)\s)"
    rf"|,\s+(?=(?:[Tt]he\s)?(?:[\w'\u2019-]+\s){{1,6}}?(?:(?:has|have|had)\s)?{_SPEAKS}\b)"
    rf"|(?<=\s){_SPEAKS}(?P<that>\sthat)\s+"
)
_SUBORDINATE = re.compile(
    r"(?:When|If|While|Although|Though|Because|Once|Whereas|As soon as|Since then|According to)\b"
)
_OPENING = re.compile(
    r"^(?:[Ii]n|[Oo]n|[Aa]t|[Bb]y|[Ff]or|[Ff]rom|[Ww]ith|[Ww]ithout|[Aa]fter|[Bb]efore|[Ss]ince|"
    r"[Uu]ntil|[Dd]uring|[Uu]nder|[Oo]f|[Aa]s|[Aa]ccording|[Tt]o|[Ll]ast|[Tt]his|[Ee]ach)\s"
)
_LEAST = 2  # words a clause must have to stand by itself


@lru_cache(maxsize=16384)
def clauses(sentence: str) -> tuple[tuple[int, int], ...]:
    """Places of the clauses of a sentence, in order, without overlap."""
    found: list[tuple[int, int]] = []
    start = 0
    if _SUBORDINATE.match(sentence):
        comma = sentence.find(", ")
        if comma > 0:
            found.append((0, comma))
            start = comma + 2
    for cut in _CUT.finditer(sentence, start):
        end, following = cut.span()
        if cut["that"]:
            end = cut.start("that")
        before = sentence[start:end]
        if len(before.split()) < _LEAST or (cut["that"] is None and _introduces(before)):
            continue
        found.append((start, end))
        start = following
    found.append((start, len(sentence)))
    return tuple(found)


def _introduces(text: str) -> bool:
    """Whether a clause is only the opening phrase of what follows: "In 2025, ..."."""
    if not _OPENING.match(text):
        return False
    return not any(word in AUXILIARY or word in VERBS for word in WORD.findall(text)[1:])


def verb_place(text: str) -> tuple[int, int] | None:
    """Where the verb of a clause stands, as far as endings and neighbours tell."""
    for hit in WORD.finditer(text):
        word = hit.group()
        if word[0].isupper():
            continue
        if word in AUXILIARY or word in VERBS:
            return _auxiliaries(text, hit)
        if len(word) > 4 and word.endswith("ed") and word[-3] != "e":
            if not _ADJECTIVE.search(text, 0, hit.start()):
                return hit.span()
            continue
        if len(word) > 3 and word.endswith("s") and _OBJECT.match(text, hit.end()):
            return hit.span()
    return None


# An "-ed" after one of these describes a noun: "in unplanned downtime".
_ADJECTIVE = re.compile(
    r"\b(?:the|an?|its|their|our|his|her|of|in|on|at|for|with|by|to|from|under|all|most|some|no|"
    r"this|these|those|each|every)\s$",
    re.IGNORECASE,
)
_OBJECT = re.compile(
    r"\s(?:an?|the|its|their|his|her|about|just|only|nearly|almost|some|over|up to|to|EUR|USD|NOK|"
    r"[$\u20ac\u00a3]|\d)(?=[\s\d])|\s?[\d\x00]"
)
_CHAIN = re.compile(
    r"(?:\s(?:not|never|no longer|also|now|still|just|only|already|"
    r"is|are|was|were|be|been|being|has|have|had|to))+\b"
)


def _auxiliaries(text: str, hit: re.Match[str]) -> tuple[int, int]:
    """An auxiliary with all that belongs to it: "has not been"."""
    chain = _CHAIN.match(text, hit.end()) if hit.group() in AUXILIARY else None
    return hit.start(), chain.end() if chain else hit.end()
