"""What a job makes of meaning: the judge's word decides, at the wire, with a scripted model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.simulator.brains import Brain, ByTitle, Offline, Turn, json_answer, use
from tests.simulator.jobs import Office, Wire, blocks, brief, credentials, office, refused, temporal
from tests.simulator.simulator import Simulator
from workflows.contracts.result import ResearchResult
from workflows.contracts.state import Gap

__all__ = ["credentials", "office", "temporal"]

JsonObject = dict[str, Any]
Answer = Callable[[JsonObject], JsonObject]

QUESTION = "What do households think of heat pumps, and how many have one?"
NOISE = "Two thirds of the households that were asked said noise was no concern."
PRICE = "The median installation cost 14,200 euros in 2024."
SURVEY = "Of all respondents, 45 % said that they already heat with a pump."
PANEL = "Only 12 % of the panel's homes were heated that way when interviewers called."
OTHER = "The county has nine weather stations."
INSTALLERS = [f"The Alder works employed {n} heat pump installers in 2024." for n in (41, 58, 73)]
DOCUMENTS = {
    "noise.md": f"# Household survey on noise\n\nDate: 2024-05-02\n\n{NOISE} It was asked in May.",
    "price.md": f"# Installation prices\n\nDate: 2024-09-01\n\n{PRICE} Prices exclude grants.",
    "survey.md": f"# Survey of the trade body\n\nDate: 2024-06-01\n\n{SURVEY} It ran online.",
    "panel.md": f"# Panel of homes: heat pumps\n\n{PANEL} The panel covers all regions.",
    "works1.md": f"# Yearbook\n\nDate: 2025-01-02\n\n{INSTALLERS[0]} Apprentices are left out.",
    "works2.md": f"# Trade register\n\nDate: 2025-03-09\n\n{INSTALLERS[1]} Firms report in March.",
    "works3.md": f"# Newspaper\n\nDate: 2025-05-30\n\n{INSTALLERS[2]} The mayor was pleased.",
    "other.md": f"# Weather stations\n\nDate: 2023-01-01\n\n{OTHER} One is on a roof.",
}  # fmt: skip


def facet(name: str) -> JsonObject:
    return {
        "id": name,
        "title": f"Heat pumps and {name}",
        "question": f"What is known about heat pumps and {name}?",
        "boundary": "the other facets",
        "prefer": "surveys",
        "reason": "named in the question",
    }


def claim(text: str, quote: str, **more: Any) -> JsonObject:
    return {"text": text, "quote": quote, "confidence": 0.9, "relevance": 0.9, **more}


def researcher(found: dict[str, Sequence[JsonObject]], follow_up: Answer | None = None) -> Brain:
    """Searches once, then claims what it is told to, by facet; `follow_up` answers gaps."""

    def research(body: JsonObject) -> Turn:
        asked = brief(body)
        if not blocks(body, "tool_result"):
            words = (
                "heat pumps households noise survey panel homes installation weather stations"
                " Alder works installers"
            )
            return Turn([use("search", query=words, aim="everything")])
        name = asked["facet"]["title"].removeprefix("Heat pumps and ")
        is_gap = asked["ask"] != asked["facet"]["question"]
        said = (
            follow_up(body)
            if is_gap and follow_up
            else {"summary": name, "claims": found.get(name, ()), "exhausted": True}
        )
        claims = [quoted(entry, body) for entry in said["claims"]]
        return json_answer({**said, "claims": claims})

    return research


def quoted(entry: JsonObject, body: JsonObject) -> JsonObject:
    """The claim with the source that holds its quote, from what the search brought."""
    results = [
        part
        for result in blocks(body, "tool_result")
        for part in result["content"]
        if part["type"] == "search_result"
    ]
    text = entry["quote"]
    source = next((r["source"] for r in results if text in str(r["content"])), "nowhere")
    plain = {key: value for key, value in entry.items() if key != "quote"}
    return {**plain, "quotes": [{"source_id": source, "text": text}]}


def planner(*names: str) -> Brain:
    return lambda _: json_answer({"kind": "overview", "facets": [facet(n) for n in names]})


def evaluator(*answers: JsonObject) -> Brain:
    """What is said of each draft in turn; nothing is wrong with later ones."""
    said = iter(answers)
    return lambda _: json_answer({"judgements": [], "gaps": [], **next(said, {})})


def entailed(body: JsonObject, **others: JsonObject) -> Turn:
    """Every claim is entailed but those of which a word is given with another judgement."""
    judged = []
    for entry in brief(body)["claims"]:
        found = [rest for word, rest in others.items() if word in entry["text"]]
        judged.append({"claim_id": entry["id"], **(found[0] if found else {"verdict": "entailed"})})
    return json_answer({"claims": judged})


class Job:
    """A job on the documents, with the brains that a test cares about."""

    def __init__(self, **brains: Brain) -> None:
        ruled: dict[str, Brain] = {
            "PlanReview": lambda _: json_answer({"changes": []}),
            "EntailmentAnswer": entailed,
            "RelationsAnswer": lambda _: json_answer({"groups": []}),
            "EvaluationAnswer": evaluator(),
            **brains,
        }
        self.wire = Wire(Simulator(ByTitle(ruled, Offline())))

    async def run(self, office: Office, tmp_path: Path, **request: Any) -> ResearchResult:
        folder = tmp_path / "corpus"
        folder.mkdir()
        for name, words in DOCUMENTS.items():
            (folder / name).write_text(words, "utf-8")
        result = await office.run(self.wire, QUESTION, corpus=str(folder), **request)
        assert refused(self.wire.simulator.records) == []
        return result

    def asked(self, title: str) -> list[JsonObject]:
        return [
            brief(body)
            for body in self.wire.bodies
            if body["output_config"]["format"]["schema"]["title"] == title
        ]


def only(gaps: Sequence[Gap]) -> Gap:
    (found,) = gaps
    return found


# Every claim beside its quote


REJECTED = "Two thirds of households reject heat pumps because of noise."


async def test_a_claim_that_its_quote_denies_is_not_published(
    office: Office, tmp_path: Path
) -> None:
    reason = "the quote says that noise was no concern"
    job = Job(
        PlanDraft=planner("noise", "prices"),
        ResearchAnswer=researcher(
            {"noise": [claim(REJECTED, NOISE)], "prices": [claim(PRICE, PRICE)]}
        ),
        EntailmentAnswer=lambda body: entailed(
            body, reject={"verdict": "unsupported", "reason": reason}
        ),
    )
    result = await job.run(office, tmp_path, max_passes=0)
    assert REJECTED.rstrip(".") not in result.report_markdown
    kept = next(c for c in result.claims if c.text == REJECTED)
    assert (kept.verdict, kept.entailment) == ("failed", "unsupported")
    (dropped,) = result.dropped
    assert (dropped.text, dropped.cause) == (REJECTED, "unsupported")
    assert reason in dropped.reason
    assert "1 claims were dropped (1 unsupported)" in result.report_markdown
    # What the judge was shown.
    (shown,) = [
        c for b in job.asked("EntailmentAnswer") for c in b["claims"] if "reject" in c["text"]
    ]
    assert shown["quotes"][0]["context"].endswith(f"{NOISE} It was asked in May.")
    assert {
        b["model"] for b in job.wire.bodies if "EntailmentAnswer" in str(b["output_config"])
    } == {"claude-haiku-5-5"}


async def test_a_facet_that_loses_its_claims_is_thin_and_is_followed_up(
    office: Office, tmp_path: Path
) -> None:
    better = "Two thirds of the households that were asked were not concerned about noise."
    first = researcher({"noise": [claim(REJECTED, NOISE)], "prices": [claim(PRICE, PRICE)]})
    second = researcher({"noise": [claim(better, NOISE)]})

    def research(body: JsonObject) -> Turn:
        is_second = bool(brief(body)["known_claims"])
        turn = (second if is_second else first)(body)
        assert isinstance(turn, Turn)
        return turn

    job = Job(
        PlanDraft=planner("noise", "prices"),
        ResearchAnswer=research,
        EntailmentAnswer=lambda body: entailed(
            body, reject={"verdict": "unsupported", "reason": "it says the opposite"}
        ),
        GapRulingsAnswer=lambda body: json_answer(
            {"gaps": [{"gap_id": g["id"], "status": "closed", "reason": "it says how many"}
                      for g in brief(body)["gaps"]]}
        ),
    )  # fmt: skip
    result = await job.run(office, tmp_path, max_passes=1)
    lost = only(result.gaps)
    assert (lost.id, lost.kind, lost.status, lost.reason) == (
        "lost-noise", "thin", "closed", "it says how many",
    )  # fmt: skip
    assert better.rstrip(".") in result.report_markdown
    assert REJECTED.rstrip(".") not in result.report_markdown


async def test_an_overstated_claim_is_written_as_corrected(office: Office, tmp_path: Path) -> None:
    strong = "Installations cost 14,200 euros, grants included."
    weaker = "The median installation cost 14,200 euros in 2024, before grants."
    job = Job(
        PlanDraft=planner("prices"),
        ResearchAnswer=researcher({"prices": [claim(strong, PRICE)]}),
        EntailmentAnswer=lambda body: entailed(
            body,
            included={"verdict": "overstated", "correction": weaker, "reason": "grants are not in"},
        ),
    )
    result = await job.run(office, tmp_path, max_passes=0)
    (kept,) = result.claims
    assert (kept.text, kept.stated, kept.entailment) == (weaker, strong, "overstated")
    assert (kept.verdict, kept.notes) == ("supported", "grants are not in")
    assert weaker.rstrip(".") in result.report_markdown
    assert strong.rstrip(".") not in result.report_markdown


async def test_a_judge_that_cannot_run_leaves_claims_unverified(
    office: Office, tmp_path: Path
) -> None:
    refusing = Turn([], "refusal", {"type": "refusal", "category": None, "explanation": None})
    job = Job(
        PlanDraft=planner("prices"),
        ResearchAnswer=researcher({"prices": [claim(PRICE, PRICE)]}),
        EntailmentAnswer=lambda _: refusing,
    )
    result = await job.run(office, tmp_path, max_passes=0)
    (kept,) = result.claims
    assert (kept.verdict, kept.entailment) == ("unverified", None)
    assert "could not be judged" in kept.notes
    assert PRICE.rstrip(".") in result.report_markdown
    assert result.dropped == ()


async def test_figures_that_stand_in_no_quote_are_shown_to_the_judge(
    office: Office, tmp_path: Path
) -> None:
    job = Job(
        PlanDraft=planner("prices"),
        ResearchAnswer=researcher({"prices": [claim("It cost 14,200 euros for 87 %.", PRICE)]}),
    )
    await job.run(office, tmp_path, max_passes=0)
    (shown,) = job.asked("EntailmentAnswer")[0]["claims"]
    assert [figure for figure in shown["figures_not_in_quotes"] if "87" in figure]
    assert not [figure for figure in shown["figures_not_in_quotes"] if "14" in figure]


async def test_dropped_claims_are_counted_and_named(office: Office, tmp_path: Path) -> None:
    job = Job(
        PlanDraft=planner("prices"),
        ResearchAnswer=researcher(
            {"prices": [
                claim(PRICE, PRICE),
                claim(SURVEY, SURVEY),
                claim("Pumps are free.", "Pumps are free."),
            ]}
        ),
    )  # fmt: skip
    result = await job.run(office, tmp_path, max_passes=0, max_claims=1)
    assert {(d.text, d.cause) for d in result.dropped} == {
        (SURVEY, "over_limit"), ("Pumps are free.", "quote_not_found"),
    }  # fmt: skip


# Claims against each other


def contradiction(body: JsonObject, *sides: str) -> Turn:
    """A contradiction of the claims that hold these words, in the group that holds them all."""
    found, asked = [], brief(body)
    for group in asked["groups"]:
        claims = [c for c in asked["claims"] if c["id"] in group["claim_ids"]]
        ids = [[c["id"] for c in claims if side in c["text"]] for side in sides]
        if all(ids):
            entry = {
                "group": group["group"],
                "claim_ids": [cid for side in ids for cid in side],
                "relation": "contradicts",
                "about": "homes with a heat pump",
                "sides": [
                    {"text": "", "claim_ids": side, "value": word}
                    for side, word in zip(ids, sides, strict=True)
                ],
                "cause": "population",
                "explanation": "one asked online, the other by interviewers",
            }
            found.append(entry)
    return json_answer({"groups": found})


async def test_two_surveys_in_their_own_words_are_put_before_the_judge_and_contested(
    office: Office, tmp_path: Path
) -> None:
    job = Job(
        PlanDraft=planner("surveys", "homes"),
        ResearchAnswer=researcher(
            {
                "surveys": [claim(SURVEY, SURVEY), claim(NOISE, NOISE)],
                "homes": [claim(PANEL, PANEL), claim(PRICE, PRICE)],
            }
        ),
        RelationsAnswer=lambda body: contradiction(body, "45 %", "12 %"),
    )
    result = await job.run(office, tmp_path, max_passes=0)
    (contested,) = result.contradictions
    assert [side.context.value for side in contested.sides] == ["45 %", "12 %"]
    assert contested.cause == "population"
    told = result.report_markdown.partition("## Where the sources disagree")[2]
    assert "45 %" in told
    assert "12 %" in told


async def test_a_difference_that_is_no_contradiction_is_told_as_what_it_is(
    office: Office, tmp_path: Path
) -> None:
    def other_period(body: JsonObject) -> Turn:
        turn = contradiction(body, "45 %", "12 %")
        text = turn.content[0]["text"].replace("contradicts", "other_period")
        return Turn([{"type": "text", "text": text}])

    job = Job(
        PlanDraft=planner("surveys"),
        ResearchAnswer=researcher({"surveys": [claim(SURVEY, SURVEY), claim(PANEL, PANEL)]}),
        RelationsAnswer=other_period,
    )
    result = await job.run(office, tmp_path, max_passes=0)
    assert result.contradictions == ()
    (difference,) = result.differences
    assert difference.relation == "other_period"
    assert "Where the sources disagree" not in result.report_markdown
    assert "for different periods" in result.report_markdown


async def test_a_ruling_on_two_of_three_sides_goes_back(office: Office, tmp_path: Path) -> None:
    def forget(body: JsonObject) -> Turn:
        """Names two sides; the third only when it is told."""
        figures = ("41", "58", "73") if len(body["messages"]) > 1 else ("41", "58")
        return contradiction(body, *figures)

    job = Job(
        PlanDraft=planner("installers"),
        ResearchAnswer=researcher({"installers": [claim(text, text) for text in INSTALLERS]}),
        RelationsAnswer=forget,
    )
    result = await job.run(office, tmp_path, max_passes=0)
    (contested,) = result.contradictions
    assert [side.context.value for side in contested.sides] == ["41", "58", "73"]
    asked = [b for b in job.wire.bodies if "RelationsAnswer" in str(b["output_config"])]
    assert [len(body["messages"]) for body in asked] == [1, 3]
    told = result.report_markdown.partition("## Where the sources disagree")[2]
    assert all(figure in told for figure in ("41", "58", "73"))


# Sources


async def test_undated_and_weak_sources_are_marked_and_the_writer_is_told(
    office: Office, tmp_path: Path
) -> None:
    def judge(body: JsonObject) -> Turn:
        entries = brief(body)["claims"]
        weak = [q["source_id"] for e in entries for q in e["quotes"] if "trade body" in q["title"]]
        return json_answer(
            {
                "claims": [{"claim_id": e["id"], "verdict": "entailed"} for e in entries],
                "weak_sources": [{"source_id": s, "reason": "it sells pumps"} for s in weak],
            }
        )

    job = Job(
        PlanDraft=planner("surveys"),
        ResearchAnswer=researcher({"surveys": [claim(SURVEY, SURVEY), claim(PANEL, PANEL)]}),
        EntailmentAnswer=judge,
    )
    result = await job.run(office, tmp_path, max_passes=0)
    marks = {source.uri: source.marks for source in result.sources}
    assert marks == {"survey.md": ("weak: it sells pumps",), "panel.md": ("undated",)}
    told = {source["uri"]: source["marks"] for source in job.asked("DraftAnswer")[0]["sources"]}
    assert told == {uri: list(found) for uri, found in marks.items()}
    assert "weak: it sells pumps" in result.report_markdown.partition("## Sources")[2]
