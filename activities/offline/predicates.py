"""Whether a line says something of something: a statement has a verb of its own, a fragment none.

"Changes made before ticketing", "Serving as the final decision-maker" and "Conference events that
cost less than $2500" are items of a list whose lead-in says what they are; alone they say nothing.
Good enough to tell them from statements; no parser. In doubt a line is a statement.
"""

from __future__ import annotations

import re
from functools import lru_cache

from activities.offline.grammar import AUXILIARIES
from activities.offline.lexicon import DETERMINERS, PAST, VERBS, listed

_WORD = re.compile(r"[A-Za-z]+(?:['’][a-z]+)?")
# What begins with one of these hangs on the noun before it, up to the next comma.
_HANGING = re.compile(
    r"(?:,\s*)?\b(?:(?:in|at|of|to|for|with|by|on|from|under|after) which|which|who|whom|whose|"
    r"where|that|(?:but |and |or )?(?:before|after|until|once|when|if|because(?! of)|while|"
    r"unless))\b[^,;:.]*(?:[,;:.]|$)",
    re.I,
)
_SUBORDINATE = re.compile(
    r"^(?:because(?! of)|although|though|whereas|while|so that|if|when|unless|until|since|once)\b",
    re.I,
)
_CONTRACTED = re.compile(r"(?:n['’]t|['’](?:s|re|ve|ll|d|m))$", re.I)
_ORDERS = listed(
    """
    add allow always apply ask assign avoid be build call change check choose click collect
    complete configure confirm consider contact create define delete disable do document don't
    enable encrypt ensure enter establish follow give go help hold identify implement include
    install keep learn let limit log look maintain make manage meet monitor move navigate never
    only open perform pick plan prefer prepare prevent print provide put read record reduce
    refer remove rename replace request require restrict review rotate run save schedule secure
    see select send separate set share show sign start stop store submit take talk test track
    train try turn update upload use validate verify view wait watch work write
    """
)


@lru_cache(maxsize=20_000)
def is_fragment(text: str) -> bool:
    """Whether a line has no verb of its own that could say something of its subject."""
    words = [word.lower().replace("’", "'") for word in _WORD.findall(text)]
    if len(words) < 3:
        return True
    if is_order(text):
        return False
    if _SUBORDINATE.match(text):
        # "Because most firms do not want to." has a clause that hangs and none to hang on.
        return "," not in text and " then " not in text and words[0] in {"because", "whereas"}
    if words[0] in AUXILIARIES:
        return True  # "Can have a path other than …": who can, stands in the line above
    own = [w.lower().replace("’", "'") for w in _WORD.findall(_HANGING.sub(" ", text))]
    if any(word in AUXILIARIES or _CONTRACTED.search(word) for word in own):
        # "Files to be kept" and "tools used to do so" help nobody to a verb.
        return False
    after = {word: own[i + 1] if i + 1 < len(own) else "" for i, word in enumerate(own)}
    if words[0].endswith("ing") and len(words[0]) > 5:
        # "Starring A and directed by B", "Meeting the needs of …".
        return not any(
            (w in _FINITE and (w.endswith("s") or w in PAST))
            or (w.endswith("ed") and after[w] not in {"by", "with", "to", "in", "as"})
            for w in own[1:]
        )
    return not any(
        w in _FINITE or (w.endswith("ed") and len(w) > 4) or _may_act(w, after[w]) for w in own[1:]
    )


_FINITE = (VERBS | PAST) - {word for word in VERBS if word.endswith("ing")}


def _may_act(word: str, after: str) -> bool:
    """A third person of a verb that the list does not know: "catalogs the …", "houses a …"."""
    ends = len(word) > 4 and word.endswith("s") and not word.endswith(("ss", "us", "is", "'s"))
    return ends and (after in DETERMINERS or after in {"to", "about", "approximately", "not"})


def is_order(text: str) -> bool:
    """Whether a sentence tells its reader to do something."""
    found = _WORD.search(text)
    return found is not None and found.group().lower() in _ORDERS
