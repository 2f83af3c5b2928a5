"""Small made-up folders, and a report on each as the offline model writes it, without a server."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache

from activities.offline.claims import choose, claimed
from activities.offline.relevance import aim_at

from activities.evidence.conflicts.finder import candidates
from activities.offline.conversation import Hit, JsonObject, Sentence, read_request
from activities.offline.passages import gather
from activities.offline.scoring import score
from activities.offline.transport import Reply
from activities.offline.verifier import verify
from activities.offline.writer import write
from activities.sources.sentences import sentences
from workflows.contracts.evidence import Claim, Quote

CITED = re.compile(r"(?:\s?\[\d+\])+")


@dataclass(frozen=True)
class Folder:
    question: str
    facets: tuple[tuple[str, str], ...]
    files: dict[str, tuple[str, str]]
    """Title → kind and text."""


@dataclass(frozen=True)
class Report:
    title: str
    summary: str
    sections: dict[str, str]
    disputed: int

    @property
    def told(self) -> list[str]:
        """The sentences of fact in the sections, without citations and marks of dispute."""
        found = []
        for block in "\n\n".join(self.sections.values()).split("\n\n"):
            if block and not block.startswith(("_", "- ", "“")):
                bare = CITED.sub("", re.sub(r" \(Contested: .*?\.\)", "", block))
                bare = re.sub(r"(?:The \w+|According to the \w+) “[^”]+”(?: says)?: ", "", bare)
                found += [s.strip("“” ") for s in re.split(r"(?<=[.!?])\s+(?=[A-Z0-9“])", bare)]
        return found


@cache
def report_on(name: str) -> Report:
    folder = FOLDERS[name]
    numbers = {title: n for n, title in enumerate(folder.files, 1)}
    claims = _claims(folder)
    brief: JsonObject = {
        "question": folder.question,
        "today": "2026-01-05",
        "kind": "overview",
        "facets": [
            {"id": title, "title": title, "question": question, "missing": [], "reason": "",
             "status": "found"}
            for title, question in folder.facets
        ],
        "claims": [{**c, "cite": sorted({numbers[q["source_id"]] for q in c["quotes"]}),
                    "verdict": "supported", "origins": 1} for c in claims],
        "sources": [{"n": n, "title": title, "date": None, "kind": folder.files[title][0],
                     "uri": title} for title, n in numbers.items()],
        "contradictions": _contradictions(folder, claims, numbers),
        "gaps": [],
        "unreadable": [],
        "revise": [],
        "previous": None,
    }  # fmt: skip
    draft = _answered("DraftAnswer", brief)
    return Report(
        title=draft["title"],
        summary=draft["summary"],
        sections={s["facet_id"]: s["markdown"] for s in draft["sections"]},
        disputed=len(brief["contradictions"]),
    )


def _claims(folder: Folder) -> list[JsonObject]:
    hits = [
        Hit(title, title, None, kind,
            tuple(Sentence(title, text[s.start : s.end]) for s in sentences(text)))
        for title, (kind, text) in folder.files.items()
    ]  # fmt: skip
    found: list[JsonObject] = []
    for title, question in folder.facets:
        aim = aim_at(folder.question, title, question, {}, len(hits))
        chosen = choose(score(gather(hits), aim), aim, {})
        best = chosen[0].worth if chosen else 1.0
        found += [
            {**claimed(c, best, aim, "2026-01-05"), "id": f"{title}-{i}", "facet_id": title}
            for i, c in enumerate(chosen)
            if all(c.window.text != other["text"] for other in found)
        ]
    return found


def _contradictions(
    folder: Folder, claims: list[JsonObject], numbers: dict[str, int]
) -> list[JsonObject]:
    held = [
        Claim(id=c["id"], facet_id=c["facet_id"], text=c["text"],
              quotes=tuple(Quote(source_id=q["source_id"], text=q["text"]) for q in c["quotes"]))
        for c in claims
    ]  # fmt: skip
    told = {c["id"]: c for c in claims}
    found = []
    for i, candidate in enumerate(candidates(held)):
        group = [told[cid] for cid in dict.fromkeys(candidate.claim_ids)]
        shown = [
            {**c, "quotes": [{**q, "title": q["source_id"], "context": q["text"]}
                             for q in c["quotes"]]}
            for c in group
        ]  # fmt: skip
        group_of = {"claims": shown, "kind": candidate.kind, "about": candidate.about}
        asked = {"question": folder.question, "groups": [group_of]}
        (judged,) = _answered("VerifierAnswer", asked)["groups"]
        if judged["relation"] == "contradicts":
            sides = [
                {**side, "cite": sorted({numbers[q["source_id"]] for cid in side["claim_ids"]
                                         for q in told[cid]["quotes"]})}
                for side in judged["sides"]
            ]  # fmt: skip
            facets = sorted({told[cid]["facet_id"] for cid in candidate.claim_ids})
            found.append({**judged, "id": f"x{i}", "sides": sides, "facet_ids": facets})
    return found


def _answered(form: str, brief: JsonObject) -> JsonObject:
    body = {
        "model": "offline",
        "output_config": {"format": {"schema": {"title": form}}},
        "messages": [{"role": "user", "content": f"<brief>{json.dumps(brief)}</brief>"}],
    }
    reply: Reply = (write if form == "DraftAnswer" else verify)(read_request(body))
    return reply.answer


FOLDERS = {
    "mail and minutes": Folder(
        "Why was the move to Harrow Lane delayed, and what does the move cost?",
        (
            ("Delay of the move", "Why was the move to Harrow Lane delayed?"),
            ("Cost of the move", "What does the move to Harrow Lane cost?"),
        ),
        {
            "Harrow Lane": (
                "mail",
                """From: Dana Whitlock <dana@norbury.example>
To: Ops Board <ops@norbury.example>
Subject: Harrow Lane move

Hi all,

Hope you are well.

The move to Harrow Lane is delayed by seven weeks because the sprinkler system failed its test.

The move to Harrow Lane will cost EUR 1.84 million. This includes EUR 120,000 for a longer lease.

Let me know if you have questions about the move.

Best regards,
Dana Whitlock
Head of Logistics | Norbury Trading
Tel: +44 20 7946 0011
This e-mail and any attachments are confidential.
""",
            ),
            "Minutes of 11 March": (
                "minutes",
                """MINUTES OF THE OPERATIONS BOARD
Present: D. Whitlock, P. Raman

2. Harrow Lane
2.1 Ms Whitlock reported that the delay of the move is caused by pumps with a lead time of 5 weeks.
2.2 The move to Harrow Lane will cost EUR 1.7 million.
Page 1 of 2
""",
            ),
            "Move decision": (
                "mail",
                """From: T. Osei
Subject: decision

Dear colleagues,

The move to Harrow Lane is delayed by seven weeks because the sprinkler system failed its test.
However, the board keeps the move in its plan for 2025.
Kind regards
Tunde
""",
            ),
        },
    ),
    "technical documentation": Folder(
        "How are requests retried, and how is the request timeout set?",
        (
            ("Retries", "How are requests retried?"),
            ("Request timeout", "How is the request timeout set?"),
        ),
        {
            "Retries": (
                "page",
                """# Retries

[Home](index.md) > [Guide](guide.md) > Retries

The client retries a failed request **3 times** by default; see `max_retries`.

```python
client = Client(max_retries=5)
client.retry() == True
```

$ client --retries 5 --verbose

Requires-Dist: retrylib>=2; extra == 'retry'

A request is retried only where the server answers with `503` or closes the connection[^1].

[^1]: Retries were added in version 2.
""",
            ),
            "Request timeout": (
                "page",
                """Timeouts
========

The request timeout is set with :code:`request_timeout` and is _always_ given in seconds.
Its default is 60 seconds. <br>

This page describes the request timeout in detail.
See https://client.example/timeouts for more.
""",
            ),
        },
    ),
    "encyclopaedia": Folder(
        "When was the Venby lighthouse built, and how tall is it?",
        (
            ("Building of the lighthouse", "When was the Venby lighthouse built?"),
            ("Height of the lighthouse", "How tall is the Venby lighthouse?"),
        ),
        {
            "Venby lighthouse": (
                "page",
                """Venby lighthouse Venby lighthouse is a lighthouse in Orla , built in 1871 .

History [ edit ] The Venby lighthouse was built by the Orla harbour board in 1871.

The lighthouse is 41 metres tall and has 212 steps.

Retrieved from https : //wiki.example/index.php ? title=Venby
Categories : Lighthouses built in 1871
This page was last edited on 3 May 2022.
""",
            ),
            "Orla coast": (
                "page",
                """Jump to navigation

The Venby lighthouse was built in 1874. It replaced a beacon.
The Venby lighthouse is the tallest of the coast at a height of 41 metres.
Read more about lighthouses
""",
            ),
        },
    ),
    "press": Folder(
        "What did the Orla bridge cost, and how many cars use the Orla bridge?",
        (
            ("Cost of the bridge", "What did the Orla bridge cost?"),
            ("Cars on the bridge", "How many cars use the Orla bridge?"),
        ),
        {
            "Courier": (
                "press",
                """The Orla bridge cost EUR 41 million, the county said on Monday.
An average of 9,000 cars a day use the Orla bridge.
Subscribe now to read more.
© Courier. All rights reserved.
""",
            ),
            "Observer": (
                "press",
                """The Orla bridge cost EUR 41 million, the county said on Monday.
An average of 9,000 cars a day use the Orla bridge.
""",
            ),
            "Audit report": (
                "report",
                """The Orla bridge cost EUR 58 million.
We are committed to excellence in all our bridges.
Month: May; Cars: 9,400; Bridge: Orla.
""",
            ),
        },
    ),
}  # fmt: skip
