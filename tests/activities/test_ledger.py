"""The ledger: mechanical checks, joining, origins, and contradictions that keep every side."""

from __future__ import annotations

import time

import pytest

from activities.evidence.ledger import Ledger, check, join, open_candidates, origin_count, origins
from activities.evidence.quotes import StoredText, sketch
from workflows.contracts.evidence import (
    Claim,
    Contradiction,
    Difference,
    Findings,
    Quote,
    Ruling,
    Rulings,
    Side,
    Source,
    Verdict,
)

TEXT = "The Tau line carried 412,000 passengers in 2024. It opened in May 2019."


def source(sid: str, text: str = TEXT, date: str | None = "2025-01-01") -> Source:
    return Source(
        id=sid, uri=f"{sid}.md", title=sid, date=date, sha256=sid * 8, sketch=sketch(text)
    )


def claim(cid: str, text: str, *quotes: tuple[str, str], facet: str = "f") -> Claim:
    return Claim(
        id=cid,
        facet_id=facet,
        text=text,
        quotes=tuple(Quote(source_id=sid, text=words) for sid, words in quotes),
    )


def ledger(*claims: Claim, **texts: str) -> Ledger:
    sources = {sid for c in claims for sid in c.source_ids}
    found = Findings(
        facet_id="f",
        claims=claims,
        sources=tuple(source(sid, texts.get(sid, sid)) for sid in sorted(sources)),
    )
    stored = {sid: StoredText(texts.get(sid, TEXT)) for sid in sources}
    return Ledger.checked(found, stored)


CARRIED = "The Tau line carried 412,000 passengers in 2024."


def test_a_quote_that_stands_supports_its_claim_and_gets_its_place() -> None:
    checked = check(claim("c", CARRIED, ("s", CARRIED)), {"s": StoredText(TEXT)})
    assert checked.verdict is Verdict.SUPPORTED
    assert (checked.quotes[0].start, checked.quotes[0].end) == (0, len(CARRIED))


def test_a_short_quote_is_placed_beside_the_long_one_of_its_claim() -> None:
    text = "Usage:\n\nRun the pump.\n\n## Mill\n\nUsage:\n\nTurn the sails of the mill."
    said = claim("c1", "Usage: Turn the sails of the mill.", ("s1", "Usage:"),
                 ("s1", "Turn the sails of the mill."))  # fmt: skip
    (checked,) = ledger(said, s1=text).claims
    assert [quote.start for quote in checked.quotes] == [text.rindex("Usage"), text.index("Turn")]
    assert {quote.section for quote in checked.quotes} == {"Mill"}


def test_a_quote_that_does_not_stand_fails_its_claim_and_is_never_cited() -> None:
    checked = check(claim("c", "It sank.", ("s", "The line sank.")), {"s": StoredText(TEXT)})
    assert checked.verdict is Verdict.FAILED
    assert not checked.citable


def test_a_check_that_could_not_run_leaves_the_claim_unverified() -> None:
    checked = check(claim("c", CARRIED, ("s", CARRIED)), {})
    assert checked.verdict is Verdict.UNVERIFIED
    assert checked.citable


def test_a_number_that_is_not_in_the_quote_is_not_verified() -> None:
    wrong = claim("c", "The Tau line carried 500,000 passengers.", ("s", CARRIED))
    checked = check(wrong, {"s": StoredText(TEXT)})
    assert checked.verdict is Verdict.UNVERIFIED
    assert "500,000" in checked.notes


def test_claims_that_agree_become_one_with_all_quotes_and_facets() -> None:
    one = ledger(claim("a-1", CARRIED, ("s1", CARRIED), facet="a"))
    two = ledger(claim("b-1", CARRIED, ("s2", CARRIED), facet="b"))
    joined = join([one, two])
    (kept,) = joined.claims
    assert kept.source_ids == ("s1", "s2")
    assert kept.bears_on("a")
    assert kept.bears_on("b")
    assert joined.claim("b-1") == kept
    assert joined.numbers == {"s1": 1, "s2": 2}


def test_numbers_once_given_stay_when_more_is_joined() -> None:
    first = join([ledger(claim("a-1", CARRIED, ("s1", CARRIED)))])
    other = "It opened in May 2019."
    later = join([first, ledger(claim("b-1", other, ("s0", other)))])
    assert later.numbers == {"s1": 1, "s0": 2}


def test_copies_of_one_text_are_one_origin() -> None:
    story = " ".join(f"word{i}" for i in range(120))
    copied = ledger(
        claim("c", "word3 word4", ("p1", "word3 word4"), ("p2", "word3 word4")),
        p1=story, p2=story + " printed here too",
    )  # fmt: skip
    assert origin_count(copied.claims[0], origins(copied)) == 1


def test_a_long_sentence_printed_in_two_papers_is_one_origin() -> None:
    words = " ".join(f"word{i}" for i in range(20))
    papers = ledger(
        claim("c", words, ("p1", words), ("p2", words)),
        p1=words + " " + " ".join(f"one{i}" for i in range(99)),
        p2=words + " " + " ".join(f"two{i}" for i in range(99)),
    )
    assert len(set(origins(papers).values())) == 2
    assert origin_count(papers.claims[0], origins(papers)) == 1


OTHER = "The Tau line carried 367,500 passengers in 2024."


def conflicting() -> Ledger:
    return ledger(
        claim("a", CARRIED, ("s1", CARRIED)),
        claim("b", OTHER, ("s2", OTHER)),
        s1=f"{CARRIED} Counts are taken at the gates by the harbour office each week.",
        s2=f"{OTHER} Tickets sold on board by the crew are added from the log books.",
    )


def settled(book: Ledger, cid: str = "x1") -> Rulings:
    sides = tuple(
        Side(text=c.text, claim_ids=(c.id,), source_ids=c.source_ids) for c in book.claims
    )
    return Rulings(
        rulings=tuple(Ruling(claim_id=c.id, verdict=Verdict.QUALIFIED) for c in book.claims),
        contradictions=(Contradiction(id=cid, about="riders", sides=sides, explanation="counts"),),
        settled=(tuple(sorted(c.id for c in book.claims)),),
    )


def test_the_same_measure_with_another_number_is_a_candidate_until_it_is_settled() -> None:
    book = conflicting()
    (candidate,) = open_candidates(book, {})
    assert set(candidate.claim_ids) == {"a", "b"}
    ruled = join([book], [settled(book)])
    assert open_candidates(ruled, {}) == ()
    assert [c.verdict for c in ruled.claims] == [Verdict.QUALIFIED] * 2


def test_copies_of_one_text_are_no_conflict() -> None:
    long = " ".join(f"word{i}" for i in range(120))
    book = ledger(
        claim("a", CARRIED, ("s1", CARRIED)),
        claim("b", OTHER, ("s2", OTHER)),
        s1=f"{CARRIED} {long}", s2=f"{OTHER} {long}",
    )  # fmt: skip
    assert open_candidates(book, {}) == ()


def test_a_source_that_calls_itself_superseded_does_not_contradict() -> None:
    book = ledger(
        claim("a", CARRIED, ("s1", CARRIED)),
        claim("b", OTHER, ("s2", OTHER)),
        s1=f"Status: superseded. {CARRIED} Counts are taken at the gates each week.",
        s2=f"{OTHER} Tickets sold on board by the crew are added from the log books.",
    )
    (candidate,) = open_candidates(book, {})
    assert book.superseded == ("s1",)
    assert candidate.relation == "superseded"


def test_differences_are_kept_apart_from_contradictions_when_ledgers_join() -> None:
    book = conflicting()
    found = settled(book).contradictions[0]
    series = Difference(**found.model_dump(), relation="other_period")
    joined = join([book], [Rulings(differences=(series,)), Rulings(differences=(series,))])
    assert joined.contradictions == ()
    assert [d.relation for d in joined.differences] == ["other_period"]


def test_a_ruling_cannot_rescue_a_claim_whose_quote_does_not_stand() -> None:
    book = ledger(claim("a", "It sank.", ("s", "It sank.")))
    rescued = Rulings(rulings=(Ruling(claim_id="a", verdict=Verdict.SUPPORTED),))
    assert join([book], [rescued]).claims[0].verdict is Verdict.FAILED


def test_joining_keeps_every_side_under_the_names_claims_have_now() -> None:
    book = conflicting()
    ruled = join([book], [settled(book)])
    again = ledger(claim("z", OTHER, ("s9", OTHER)), s9=OTHER)
    joined = join([again, ruled])
    (contradiction,) = joined.contradictions
    assert {joined.claim(cid).text for cid in contradiction.claim_ids} == {CARRIED, OTHER}
    assert len(contradiction.sides) == 2


def test_the_widest_account_of_a_contradiction_is_kept_once() -> None:
    book = conflicting()
    twice = join([book], [settled(book, "x1"), settled(book, "x2")])
    assert len(twice.contradictions) == 1


def test_nothing_joins_to_nothing() -> None:
    assert join([]) == Ledger()


def test_checking_grows_linearly_with_the_number_of_claims() -> None:
    """A ratio in one run, generous: ten times the claims may not cost fifty times the time."""

    def seconds(count: int) -> float:
        texts = {f"s{i}": f"Berth {i} handled {i * 7} crates." for i in range(count)}
        claims = tuple(claim(f"c{i}", texts[f"s{i}"], (f"s{i}", texts[f"s{i}"]))
                       for i in range(count))  # fmt: skip
        began = time.process_time()
        book = ledger(*claims, **texts)
        took = time.process_time() - began
        assert all(c.verdict is Verdict.SUPPORTED for c in book.claims)
        return took

    small = min(seconds(100) for _ in range(3))
    assert min(seconds(1000) for _ in range(3)) < 50 * small


@pytest.mark.parametrize(
    ("given", "kept"),
    [("2024", "2024"), ("2024-02", "2024-02"), ("2024-02-29", "2024-02-29"), (None, None),
     ("2024-02-30", None), ("2024-13", None), ("last spring", None)],
)  # fmt: skip
def test_a_date_that_does_not_parse_is_no_date(given: str | None, kept: str | None) -> None:
    assert source("s", date=given).date == kept


def test_joined_claims_keep_every_doubt_and_each_sources_confidence_and_date() -> None:
    surer = claim("a-1", CARRIED, ("s1", CARRIED)).model_copy(
        update={"confidence": 0.9, "uncertain": "an estimate", "not_to_overstate": "one line only"}
    )
    doubtful = claim("b-1", CARRIED, ("s2", CARRIED)).model_copy(
        update={"confidence": 0.4, "uncertain": "no method given"}
    )
    (kept,) = join([ledger(surer), ledger(doubtful)]).claims
    assert (kept.uncertain, kept.not_to_overstate) == (
        "an estimate; no method given",
        "one line only",
    )
    assert [(q.source_id, q.confidence, q.date) for q in kept.quotes] == [
        ("s1", 0.9, "2025-01-01"),
        ("s2", 0.4, "2025-01-01"),
    ]
    (again,) = join([ledger(surer), ledger(doubtful), ledger(doubtful)]).claims
    assert again.uncertain == kept.uncertain, "a doubt is not repeated"


def test_a_source_that_nothing_cites_any_more_gives_up_its_number() -> None:
    other = "It opened in May 2019."
    known = ledger(claim("a-1", CARRIED, ("s1", CARRIED)), claim("a-2", other, ("s2", other)))
    refuted = Ruling(claim_id="a-1", verdict=Verdict.FAILED, entailment="unsupported")
    after = join([known], [Rulings(rulings=(refuted,))])
    assert after.numbers == {"s2": 2}
    assert [d.cause for d in after.all_dropped()] == ["unsupported"]
