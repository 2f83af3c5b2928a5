"""Drafts as Claude writes them, with the claims they are held against.

`CORRECT` must pass untouched. `FALSE` names beside each draft the words that are false about its
claims; everything else in it is right and must survive. A part that a draft does not give is the
one in `PARTS`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from activities.evidence.ledger import Ledger
from workflows.contracts.evidence import Claim, Contradiction, Quote, Side, Source, Verdict
from workflows.contracts.facets import Facet, Plan, QuestionKind
from workflows.contracts.state import Gap


@dataclass(frozen=True)
class Case:
    name: str
    language: str = "en"
    summary: str = ""
    sections: dict[str, str] = field(default_factory=dict)
    conclusion: str = ""
    entry: str = ""
    gaps: str = ""
    derived: tuple[tuple[str, str, tuple[int, ...]], ...] = ()
    false: tuple[str, ...] = ()
    kind: QuestionKind = QuestionKind.OVERVIEW
    title: str = ""


QUESTIONS = {
    "en": "What is known about the harbour line in 2023, its costs, its noise and its crews?",
    "de": "Was ist über Wärmepumpen, ihre Förderung und ihren Lärm bekannt?",
}
TITLES = {"en": "The harbour line in 2023", "de": "Wärmepumpen: Bestand, Förderung, Lärm"}
_CLAIMS = {
    "en": [
        ("riders", 1, "The harbour line carried 412,000 passengers in 2023."),
        ("riders", 2, "A gangway count put the line's ridership in 2023 at 367,500."),
        ("costs", 3, "The programme was budgeted at EUR 18.4 million."),
        ("costs", 4, "The programme's final cost was EUR 23 million."),
        ("noise", 5, "Two thirds of residents said noise was no concern."),
        ("noise", 5, "12 % of residents reported sleeping badly."),
        ("crews", 6, "Five crew members are required on each crossing from 1 January 2026."),
        ("crews", 6, "Charging failed on 31 of 90 winter days at the Telle quay."),
    ],
    "de": [
        ("bestand", 1, "Die Zahl der Wärmepumpen stieg von 412.000 im Jahr 2022 auf 518.000 im"
                       " Jahr 2023."),
        ("bestand", 2, "45 % der Haushalte heizen mit Gas."),
        ("geld", 3, "Die Förderung beträgt höchstens 70 % der Kosten."),
        ("geld", 3, "Die Antragsfrist endet am 31. Dezember 2026."),
        ("geld", 4, "The subsidy programme has a budget of EUR 1.8 billion."),
        ("laerm", 5, "Zwei Drittel der Befragten halten den Lärm für kein Problem."),
    ],
}  # fmt: skip
_FACETS = {
    "en": {"riders": "Passengers", "costs": "Costs", "noise": "Noise", "crews": "Crews"},
    "de": {"bestand": "Bestand", "geld": "Förderung", "laerm": "Lärm"},
}
GAPS = {
    "en": Gap(id="g1", kind="thin", facet_id="crews", question="What about winter timetables?",
              text="Nothing was found on winter timetables."),
    "de": Gap(id="g1", kind="thin", facet_id="laerm", question="Wie laut sind neue Geräte?",
              text="Messwerte zum Schallpegel neuer Geräte wurden nicht gefunden."),
}  # fmt: skip
PARTS: dict[str, dict[str, str]] = {
    "en": {
        "summary": "The line carried 412,000 passengers in 2023 by one account [1] and 367,500 by"
                   " another [2]; its programme cost EUR 23 million [4].",
        "riders": "One source gives 412,000 passengers for 2023 [1], another 367,500 [2].",
        "costs": "The budget was EUR 18.4 million [3]; the final cost EUR 23 million [4].",
        "noise": "Two thirds of residents said noise was no concern [5].",
        "crews": "From 1 January 2026 every crossing needs five crew members [6].",
        "conclusion": "Taken together, the line is well used and cost more than was planned.",
        "entry": "- One source counts 412,000 people [1].\n- A gangway count gives 367,500 [2].",
        "gaps": "- Nothing was found on winter timetables.",
    },
    "de": {
        "summary": "2023 gab es 518.000 Wärmepumpen [1]; gefördert werden höchstens 70 % der"
                   " Kosten [3].",
        "bestand": "Die Zahl stieg von 412.000 (2022) auf 518.000 (2023) [1].",
        "geld": "Die Förderung deckt höchstens 70 % der Kosten; die Frist endet am 31. Dezember"
                " 2026 [3].",
        "laerm": "Zwei Drittel der Befragten halten den Lärm für kein Problem [5].",
        "conclusion": "Insgesamt nimmt der Bestand zu, und die Förderung ist befristet.",
        "entry": "",
        "gaps": "- Messwerte zum Schallpegel neuer Geräte wurden nicht gefunden.",
    },
}  # fmt: skip


def ledger(language: str) -> Ledger:
    claims = [
        Claim(id=f"c{n}", facet_id=facet, text=text, verdict=Verdict.SUPPORTED, relevance=0.9,
              quotes=(Quote(source_id=f"s{source}", text=text),))
        for n, (facet, source, text) in enumerate(_CLAIMS[language], 1)
    ]  # fmt: skip
    sources = sorted({source for _, source, _ in _CLAIMS[language]})
    apart = Contradiction(
        id="x1",
        about="passengers in 2023",
        sides=(
            Side(text=claims[0].text, claim_ids=("c1",), source_ids=("s1",)),
            Side(text=claims[1].text, claim_ids=("c2",), source_ids=("s2",)),
        ),
        explanation="they count in different ways",
    )
    return Ledger(
        sources={f"s{n}": Source(id=f"s{n}", uri=f"s{n}.md", title=f"Document {n}", sha256="0")
                 for n in sources},
        claims=tuple(claims),
        contradictions=(apart,) if language == "en" else (),
        numbers={f"s{n}": n for n in sources},
    )  # fmt: skip


def plan(case: Case) -> Plan:
    return Plan(
        kind=case.kind,
        facets=tuple(
            Facet(id=name, title=title, question=f"{title}?", boundary="-", prefer="-", reason="-")
            for name, title in _FACETS[case.language].items()
        ),
    )


def answer(case: Case) -> dict[str, object]:
    """The draft as the writer sends it."""
    parts = PARTS[case.language]
    entry = case.entry or parts["entry"]
    return {
        "title": case.title or TITLES[case.language],
        "summary": case.summary or parts["summary"],
        "sections": [{"facet_id": name, "markdown": case.sections.get(name, parts[name])}
                     for name in _FACETS[case.language]],
        "conclusion": case.conclusion or parts["conclusion"],
        "derived": [{"result": result, "expression": expression, "cite": list(cite), "about": ""}
                    for result, expression, cite in case.derived],
        "contradictions": [{"contradiction_id": "x1", "markdown": entry}] if entry else [],
        "gaps": case.gaps or parts["gaps"],
    }  # fmt: skip


CORRECT = (
    Case(
        "several citations in one pair of brackets, a count and a right difference",
        summary="Five points matter. Ridership was 412,000 or 367,500 in 2023, depending on the"
                " count [1, 2]. The two differ by 44,500. The programme cost EUR 23 million [4].",
        derived=(("44,500", "412000 - 367500", (1, 2)),),
    ),
    Case(
        "ranges of citations and footnote marks",
        summary="Ridership in 2023 is disputed: 412,000 or 367,500 [1-2]. The budget of EUR 18.4"
                " million was not kept: the cost was EUR 23 million [3–4].",
        sections={"noise": "Two thirds of residents said that noise was no concern[^5]."},
    ),
    Case(
        "headings, bold leads and nested lists",
        sections={"costs": "### What it cost\n\n**Budget.** The plan was EUR 18.4 million [3].\n\n"
                           "**Outcome:** In the end it was EUR 23 million [4].\n\n"
                           "- Two figures matter:\n    - planned: EUR 18.4 million [3]\n"
                           "    - final: EUR 23 million [4]"},
    ),
    Case(
        "a table with citations in its cells",
        kind=QuestionKind.COMPARISON,
        sections={"costs": "| Stage | Cost | Source |\n|---|---:|---|\n| Budget |"
                           " EUR 18.4 million | [3] |\n| Final | EUR 23 million | [4] |"},
    ),
    Case(
        "a table cited once below it",
        sections={"costs": "| Stage | Cost |\n|:--|--:|\n| Budget | EUR 18.4 million |\n| Final |"
                           " EUR 23 million |\n\nBoth are the programme's own figures [3][4]."},
    ),
    Case(
        "an overrun in money and in percent, both calculated",
        sections={"costs": "The programme cost EUR 23 million instead of EUR 18.4 million [3][4]."
                           " That is EUR 4.6 million, or 25 %, more than was budgeted."},
        derived=(("EUR 4.6 million", "23 - 18.4", (3, 4)),
                 ("25 %", "(23 - 18.4) / 18.4 * 100", (3, 4))),
    ),
    Case(
        "a conclusion without a citation that repeats figures of its section",
        sections={"riders": "One source gives 412,000 passengers for 2023 [1], another 367,500"
                            " [2].\n\nSo whether the line carried 412,000 or 367,500 depends on who"
                            " counted, and how."},
    ),
    Case(
        "a share in words given in percent",
        summary="Some 67 % of residents were not concerned about noise, and 12 % slept badly [5].",
    ),
    Case(
        "sentences of which only the last one is cited",
        sections={"noise": "Noise divides the residents. Most are not troubled: two thirds said it"
                           " was no concern. But 12 % reported sleeping badly [5]."},
    ),
    Case(
        "a remark in italics on what was not found",
        sections={"crews": "From 1 January 2026 every crossing needs five crew members [6].\n\n"
                           "*No timetable for the winter was found.*"},
    ),
    Case(
        "a recommendation with its conditions",
        kind=QuestionKind.DECISION,
        summary="**Recommendation:** keep the line, on two conditions.\n\n1. The quay at Telle is"
                " made reliable: charging failed on 31 of 90 winter days [6].\n2. Costs are"
                " watched: the programme went from EUR 18.4 million to EUR 23 million [3, 4].",
    ),
    Case(
        "an order in time",
        kind=QuestionKind.TIMELINE,
        sections={"crews": "1. **2023:** the line is counted twice [1][2].\n2. **1 January 2026:**"
                           " five crew members are required [6]."},
    ),
    Case(
        "a share calculated from a count",
        sections={"crews": "Charging failed on 31 of 90 winter days at Telle, about a third of"
                           " them [6]."},
        derived=(("a third", "31 / 90", (6,)),),
    ),
    Case(
        "a rounder figure, a time span and the year of the question",
        summary="In 2023 the line carried about 410,000 people by one count [1]. Three years later"
                " five crew members are required [6].",
    ),
    Case(
        "block quotes and inline code with brackets",
        sections={"noise": "> “Two thirds of residents said noise was no concern.” [5]\n\nThe table"
                           " `answers[1, 2]` holds it [5]."},
    ),
    Case(
        "a gap in other words",
        gaps="- The timetables for the winter months could not be found anywhere.",
    ),
    Case(
        "a contradiction told in prose with its reason",
        entry="The two counts for 2023 are 44,500 apart: 412,000 [1] against 367,500 [2]. They"
              " count in different ways [1][2].",
        derived=(("44,500", "412000 - 367500", (1, 2)),),
    ),
    Case(
        "thousands with spaces, and a citation as a link",
        sections={"riders": "It carried 412 000 passengers [1](#source-1), or 367 500 [2]."},
    ),
    Case(
        "German numbers, dates and shares",
        language="de",
        summary="Im Jahr 2023 gab es 518.000 Wärmepumpen nach 412.000 im Jahr zuvor [1]. Gefördert"
                " werden bis zu 70 Prozent der Kosten; Anträge sind bis zum 31. Dezember 2026"
                " möglich [3].",
    ),
    Case(
        "German money from an English claim",
        language="de",
        sections={"geld": "Das Programm ist mit 1,8 Milliarden Euro ausgestattet [4] und deckt"
                          " höchstens 70 % der Kosten [3]."},
    ),
    Case(
        "a German calculation and conclusion",
        language="de",
        sections={"bestand": "Der Bestand wuchs von 412.000 auf 518.000 Geräte [1], also um 106.000"
                             " oder 25,7 %."},
        conclusion="Zusammengenommen heißt das: Der Bestand wächst schnell, obwohl noch 45 % mit"
                   " Gas heizen [2]. Fünf Fragen bleiben.",
        derived=(("106.000", "518000 - 412000", (1,)),
                 ("25,7 %", "(518000 - 412000) / 412000 * 100", (1,))),
    ),
    Case(
        "German headings, table and share in words",
        language="de",
        sections={"laerm": "#### Lärm\n\n| Meinung | Anteil |\n|---|---|\n| kein Problem | zwei"
                           " Drittel (rund 67 %) |\n\nDas ist die Mehrheit der Befragten [5]."},
    ),
)  # fmt: skip


FALSE = (
    Case(
        "the opposite of the claim, with its own citation",
        sections={"noise": "Two thirds of residents reject the line because of noise [5]. And 12 %"
                           " of residents reported sleeping badly [5]."},
        false=("reject the line",),
    ),
    Case(
        "a figure that stands in no claim",
        summary="The line carried 412,000 passengers [1]. It earned EUR 9.7 million [4].",
        false=("9.7 million",),
    ),
    Case(
        "a wrong calculation",
        sections={"costs": "The budget was EUR 18.4 million [3]; it cost EUR 23 million [4]. That"
                           " is EUR 5.2 million more."},
        derived=(("EUR 5.2 million", "23 - 18.4", (3, 4)),),
        false=("5.2 million",),
    ),
    Case(
        "a calculation with a figure of no claim",
        sections={"riders": "It carried 412,000 [1]. That is 19 % more than before."},
        derived=(("19 %", "(412000 - 346000) / 346000 * 100", (1,)),),
        false=("19 %",),
    ),
    Case(
        "a citation that leads nowhere",
        sections={"costs": "The budget was EUR 18.4 million [3]. The final cost was EUR 23 million"
                           " [9]."},
        false=("[9]",),
    ),
    Case(
        "a conclusion that follows from nothing",
        conclusion="Taken together, the line is well used. It should be closed at once.",
        false=("closed at once",),
    ),
    Case(
        "a row of a table with another row's figure",
        sections={"costs": "| Stage | Cost |\n|---|---|\n| Budget | EUR 23 million [3] |\n| Final |"
                           " EUR 23 million [4] |"},
        false=("| Budget | EUR 23",),
    ),
    Case(
        "a heading that makes a false statement",
        sections={"riders": "### Ridership doubled\n\nOne source gives 412,000 passengers for 2023"
                            " [1], another 367,500 [2]."},
        false=("Ridership doubled",),
    ),
    Case(
        "a fact dressed as a remark",
        sections={"crews": "From 1 January 2026 every crossing needs five crew members [6].\n\n_The"
                           " crews are on strike._"},
        false=("on strike",),
    ),
    Case(
        "one side of a contradiction declared the right one",
        entry="The line carried 412,000 passengers, which is right [1]. The gangway count of"
              " 367,500 is wrong [2].",
        false=("which is right", "is wrong"),
    ),
    Case(
        "a wrong German share",
        language="de",
        sections={"laerm": "Drei Viertel der Befragten halten den Lärm für kein Problem [5]."},
        false=("Drei Viertel",),
    ),
    Case(
        "a German date of the wrong year, beside a right sentence",
        language="de",
        sections={"geld": "Die Förderung deckt höchstens 70 % der Kosten [3]. Die Frist endet am"
                          " 31. Dezember 2027 [3]."},
        false=("Dezember 2027",),
    ),
    Case(
        "a count that does not fit, in a lead of its own",
        summary="**Three accidents.** The line carried 412,000 passengers in 2023 [1].",
        false=("Three accidents",),
    ),
    Case(
        "a title that says what no claim says",
        title="The harbour line is bankrupt",
        false=("bankrupt",),
    ),
)  # fmt: skip
