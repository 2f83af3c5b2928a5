"""The offline judge of a draft: a sentence is entailed where its words stand in what it cites.

The engine's own sentences are passages word for word, so this is all that has to be found out. A
remark, a heading and a title say nothing about the sources.
"""

from __future__ import annotations

import re

from activities.evidence.text.terms import words
from activities.offline.request import Conversation, JsonObject, Reply

_LEAD = re.compile(r"^\s*(?:[-*+]\s+)?\*\*[^*\n]+\*\*:?")
_CITATION = re.compile(r"\[\d{1,5}\]")
_SAID_OF_SIDES = frozenset({"dated", "likely", "reason", "why", "they", "may", "differ"})
_OWN = frozenset({"title", "heading", "remark"})


def judge_draft(conversation: Conversation) -> Reply:
    brief = conversation.brief
    sides = {contradiction["id"]: contradiction for contradiction in brief["contradictions"]}
    return Reply(
        {
            "verdicts": [
                _judge(sentence, brief["claims"], sides) for sentence in brief["sentences"]
            ],
            "named_gaps": [],
        }
    )


def _judge(
    sentence: JsonObject, claims: list[JsonObject], sides: dict[str, JsonObject]
) -> JsonObject:
    said = words(_CITATION.sub(" ", _LEAD.sub("", sentence["text"])))
    cited = set(sentence["cite"])
    texts = [
        " ".join(words(text))
        for claim in claims
        if cited & set(claim["cite"])
        for text in (claim["text"], *claim["quotes"])
    ]
    if sentence["kind"] in _OWN or any(" ".join(said) in text for text in texts):
        return {"id": sentence["id"], "verdict": "entailed"}
    if contradiction := sides.get(sentence["part"]):
        # An entry is put together from what is known of each side.
        known = set(words(" ".join([*texts, *_strings(contradiction)]))) | _SAID_OF_SIDES
        if set(said) <= known:
            return {"id": sentence["id"], "verdict": "entailed"}
    return {
        "id": sentence["id"],
        "verdict": "unsupported",
        "reason": "it does not stand in a claim that is cited there",
    }


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in _strings(one)]
