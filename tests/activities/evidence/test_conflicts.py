"""Conflicts: what is stated differently is found and named for what it is; the rest is left alone.

`conflict_shapes.json` holds pairs of sentences by the kind of value that differs; `left_alone` are
pairs that only look like a conflict: other things, other periods, heads of letters, other counts.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.evidence.conflicts.agreement import groups_of_agreement
from activities.evidence.conflicts.finder import Candidate, candidates
from activities.evidence.conflicts.statements import Document
from activities.evidence.conflicts.value_relations import calls_itself_superseded, edition
from workflows.contracts.evidence import Claim, Quote

SHAPES: Mapping[str, list[list[str]]] = json.loads(
    (Path(__file__).parent / "conflict_shapes.json").read_text("utf-8")
)
STATED = [(kind, texts) for kind, pairs in SHAPES.items() if kind != "left_alone"
          for texts in pairs]  # fmt: skip


def agree(a: Claim, b: Claim) -> bool:
    return len(groups_of_agreement([a, b])) == 1


def claim(n: int, text: str, quote: str = "", facet: str = "f") -> Claim:
    return Claim(
        id=f"c{n:04d}", facet_id=facet, text=text,
        quotes=(Quote(source_id=f"s{n}", text=quote or text),),
    )  # fmt: skip


def claims(*texts: str) -> list[Claim]:
    return [claim(n, text) for n, text in enumerate(texts)]


def contradictions(found: Sequence[Candidate]) -> list[Candidate]:
    return [candidate for candidate in found if candidate.relation == "contradicts"]


def values(candidate: Candidate) -> list[str]:
    return [side.value for side in candidate.sides]


@pytest.mark.parametrize(("kind", "texts"), STATED, ids=lambda value: str(value)[:60])
def test_a_value_stated_differently_is_a_contradiction(kind: str, texts: list[str]) -> None:
    (found,) = contradictions(candidates(claims(*texts)))
    assert found.kind == kind
    assert [side.claim_ids for side in found.sides] == [("c0000",), ("c0001",)]


@pytest.mark.parametrize("texts", SHAPES["left_alone"], ids=lambda texts: str(texts[0])[:60])
def test_what_is_no_conflict_is_left_alone(texts: list[str]) -> None:
    assert contradictions(candidates(claims(*texts))) == []


ANSWERS = [
    ("When was the Tau quay opened?", ["1998", "2001"],
     "The Tau quay opened in 1998 after long debate, and was rebuilt in 2011.",
     "Opened to traffic in 2001, the Tau quay replaced an older pier."),
    ("How many berths does the Tau quay have?", ["six", "nine"],
     "Visitors find six berths at the Tau quay.",
     "With its nine berths the Tau quay is the largest of the fjord, visitors say."),
    ("Who designed the Tau quay?", ["Anna Bell", "Tom Reed"],
     "Anna Bell designed the Tau quay.",
     "The drawings of the Tau quay were designed by Tom Reed."),
    ("What is the date of birth of Ada Hill?", ["3 May 1901", "4 June 1902"],
     "Ada Hill, a painter, was born in Moss on 3 May 1901.",
     "Date of birth: 4 June 1902; name: Ada Hill."),
    ("What is the population of Moss?", ["3,559", "4,102"],
     "The population, 3,559 in all, of Moss is growing.",
     "Moss has a population of 4,102."),
]  # fmt: skip


@pytest.mark.parametrize(("question", "expected", "one", "other"), ANSWERS)
def test_the_question_tells_which_value_is_the_answer(
    question: str, expected: list[str], one: str, other: str
) -> None:
    (found,) = contradictions(candidates(claims(one, other), questions={"f": question}))
    assert sorted(v.split(" people")[0] for v in values(found)) == sorted(expected)
    assert found.about == question.rstrip("?")


@pytest.mark.parametrize(
    ("question", "one", "other"),
    [
        ("When was the Tau quay opened?", "The Tau quay opened in 1998.",
         "The Moss pier opened in 2001."),
        ("How many films does Karel Lind have?", "He directed 102 films, says Karel Lind.",
         "Karel Lind appeared in 61 films."),
        ("How large a body does the Tau parser accept?",
         "The Tau parser accepts a body of 1048576.",
         "The body can be read by the Tau parser in two ways."),
        ("Who sold the Tau quay, which opened in 1998?", "The county sold it.",
         "The Tau quay opened in 2001."),
    ],
)  # fmt: skip
def test_what_does_not_answer_the_question_is_not_compared(
    question: str, one: str, other: str
) -> None:
    assert candidates(claims(one, other), questions={"f": question}) == ()


def test_a_yearly_figure_is_a_series_and_not_contested() -> None:
    (found,) = candidates(
        claims(*(f"Kessel exported {n} tonnes of wool in {year}."
                 for n, year in ((412, 2019), (367, 2020), (390, 2021))))
    )  # fmt: skip
    assert found.relation == "other_period"
    assert len(found.sides) == 3


QUAY = ("The Tau quay cost 40 million kroner.", "The Tau quay cost 55 million kroner.")


@pytest.mark.parametrize(
    ("documents", "relation"),
    [
        ({"s0": Document("Tau quay"), "s1": Document("Tau quay")}, "contradicts"),
        ({"s0": Document(superseded=True)}, "superseded"),
        ({"s0": Document(edition=edition("report-2021.md")),
          "s1": Document(edition=edition("report-2022.md"))}, "other_period"),
        ({"s0": Document(edition=edition("docs/release-1.2.0.md")),
          "s1": Document(edition=edition("docs/release-1.3.0.md"))}, "superseded"),
        ({"s0": Document("Quays (Norway)"), "s1": Document("Quays (Denmark)")}, "other_entity"),
    ],
)  # fmt: skip
def test_the_documents_tell_how_two_values_relate(
    documents: Mapping[str, Document], relation: str
) -> None:
    (found,) = candidates(claims(*QUAY), documents=documents)
    assert found.relation == relation


def test_different_definitions_on_both_sides_are_no_contradiction() -> None:
    (found,) = candidates(
        claims("The Tau quay cost 40 million kroner excluding roads.",
               "The Tau quay cost 55 million kroner including roads.")
    )  # fmt: skip
    assert found.relation == "other_definition"


def test_copies_and_one_source_never_contradict() -> None:
    copies = {"s0": Document(origin="s0"), "s1": Document(origin="s0")}
    assert candidates(claims(*QUAY), documents=copies) == ()
    quote = Quote(source_id="s0", text="x")
    one_source = [c.model_copy(update={"quotes": (quote,)}) for c in claims(*QUAY)]
    assert candidates(one_source) == ()


def test_numbered_files_are_not_versions_of_one_document() -> None:
    documents = {f"s{n}": Document(edition=edition(f"notes/doc-{n}.md")) for n in (0, 1)}
    (found,) = candidates(claims(*QUAY), documents=documents)
    assert found.relation == "contradicts"


def test_a_pronoun_is_resolved_by_the_title_alone() -> None:
    texts = claims(
        "It was released by Fox on 3 May 1948.", "It was released by Fox on 7 June 1950."
    )
    assert candidates(texts) == ()
    same = {"s0": Document("Night Train"), "s1": Document("Night Train")}
    assert len(candidates(texts, documents=same)) == 1


@pytest.mark.parametrize(
    ("title", "opening", "superseded"),
    [
        ("Travel policy", "Status: superseded. See the policy of May.", True),
        ("Travel policy [OUTDATED]", "Staff travel by train.", True),
        ("Travel policy", "This document has been replaced by the handbook.", True),
        ("Travel policy", "This policy supersedes the one of 2019.", False),
        ("Travel policy", "The old boiler was replaced in May.", False),
    ],
)
def test_a_file_that_calls_itself_out_of_date(title: str, opening: str, superseded: bool) -> None:
    assert calls_itself_superseded(title, opening) is superseded


def test_sides_hold_all_claims_of_a_value_and_the_oldest_date() -> None:
    (found,) = candidates(
        claims(*QUAY, "The Tau quay cost 40 million kroner in all."),
        dates={"s0": "2024-06-30", "s1": None, "s2": "2021-02-01"},
    )
    assert [(side.claim_ids, side.date) for side in found.sides] == [
        (("c0000", "c0002"), "2021-02-01"), (("c0001",), ""),
    ]  # fmt: skip


def test_program_code_is_not_compared() -> None:
    code = "retry(Tau, limit=[{}], mode=_fast) # Tau::quay limit={{}}"
    assert candidates(claims(code.format(3), code.format(5))) == ()


entities = st.sampled_from(["Tau", "Bergen", "Moss"])
measures = st.sampled_from(["quay cost {} million kroner", "ferry carried {} passengers daily"])
years = st.sampled_from(["", " in 2022", " in 2023"])
texts = st.builds(
    lambda who, what, n, when: f"The {who} {what.format(n)}{when}.",
    entities, measures, st.integers(10, 40), years,
)  # fmt: skip


@given(st.lists(texts, max_size=8), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_order_of_claims_does_not_matter(found: list[str], random: object) -> None:
    original = claims(*found)
    shuffled = list(original)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert candidates(original) == candidates(shuffled)
    named = [{original[n].id for n in group} for group in groups_of_agreement(original)]
    again = [{shuffled[n].id for n in group} for group in groups_of_agreement(shuffled)]
    assert sorted(map(sorted, named)) == sorted(map(sorted, again))


@given(texts, texts)
@settings(deadline=None)
def test_agreement_is_symmetric_and_never_a_conflict(a: str, b: str) -> None:
    one, two = claims(a, b)
    assert agree(one, one)
    assert agree(one, two) == agree(two, one)
    if agree(one, two):
        assert candidates([one, two]) == ()


def test_time_grows_with_the_claims_not_with_their_pairs() -> None:
    syllables = ["ba", "ke", "lo", "mi", "nu", "ra", "se", "ti", "vo", "du"]

    def word(n: int) -> str:
        return "".join(syllables[int(digit)] for digit in f"{n:04d}").capitalize()

    def seconds(count: int) -> float:
        many = claims(
            *(f"The {word(n // 2)} harbour cost {10 + n % 7} million kroner." for n in range(count))
        )
        began = time.process_time()
        assert candidates(many)
        return time.process_time() - began

    small = min(seconds(300) for _ in range(2))
    assert seconds(3000) < 30 * small
