"""What differs and may all be true is no contradiction."""

from __future__ import annotations

import pytest

from activities.offline.coexistence import Side, coexist


def _sides(
    one: str, other: str, values: tuple[str, str] = ("", ""), sources: str = "ab"
) -> list[Side]:
    return [
        Side(text, value, frozenset(source))
        for text, value, source in zip((one, other), values, sources, strict=True)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "one", "other", "values"),
    [
        ("name", "Ask the clerk about creating a file.", "Ask the clerk about editing a file.",
         ("creating", "editing")),
        ("name", "You can use the forms for parental leave at the desk.",
         "You can use the forms for donated leave at the desk.", ("parental", "donated")),
        ("number", "If locks are on, codes under 8 digits are weak.",
         "If locks are not on, codes under 15 digits are weak.", ("8", "15")),
        ("number", "The Venby index dropped 100 points on Tuesday.",
         "The Venby index rose 20 points by late morning.", ("100", "20")),
        ("number", "It was trading at 105 crowns.", "The bond was trading at 104 crowns.",
         ("105", "104")),
        ("name", "Mr Holm is in jail on charges of fraud.",
         "Mr Holm is in jail and on trial for fraud.", ("on charges of", "and on trial for")),
        ("polarity", "The plan has not been written yet, and may surprise.",
         "Accepting a goal promises no plan that has yet to be written by the team.", ("", "")),
    ],
)  # fmt: skip
def test_what_may_hold_together_is_not_set_against_each_other(
    kind: str, one: str, other: str, values: tuple[str, str]
) -> None:
    assert coexist(kind, _sides(one, other, values))


@pytest.mark.parametrize(
    ("kind", "one", "other", "values"),
    [
        ("number", "The harbour line carried 412,000 passengers in 2024.",
         "The harbour line carried 367,500 passengers in 2024.", ("412,000", "367,500")),
        ("number", "The Orla bridge cost EUR 41 million.", "The Orla bridge cost EUR 58 million.",
         ("EUR 41 million", "EUR 58 million")),
        ("number", "The average charging time at Venby is 9.4 minutes.",
         "The average charging time at Venby was 7.5 minutes.", ("9.4", "7.5")),
        ("name", "MV Eider was converted by Holm Marine.", "MV Eider was converted by Brekk Yard.",
         ("Holm Marine", "Brekk Yard")),
        ("polarity", "The board has not approved a crew of five on MV Eider.",
         "The board has approved a crew of five on MV Eider.", ("", "")),
    ],
)  # fmt: skip
def test_two_values_for_one_thing_stay_a_contradiction(
    kind: str, one: str, other: str, values: tuple[str, str]
) -> None:
    assert not coexist(kind, _sides(one, other, values))


@pytest.mark.parametrize(
    ("titles", "apart"),
    [
        (("Night Train (film)", "The Last Ferry"), True),
        (("Night Train (film)", "Night Train (film)"), False),
        (("Night Train: annual report 2014", "The Last Ferry"), False),
        (("How films are released", "The Last Ferry"), False),
    ],
)
def test_what_has_no_name_is_what_its_entry_is_called(titles: tuple[str, str], apart: bool) -> None:
    said = ("The film was released on 3 May 2005.", "The film was released on 4 June 2014.")
    sides = [
        Side(text, text[-11:-1], frozenset(source), frozenset([title]))
        for text, source, title in zip(said, "ab", titles, strict=True)
    ]
    assert coexist("date", sides) is apart


def test_what_one_page_gives_twice_is_two_things() -> None:
    one, other = "Access takes 5 days at the agency.", "Access takes 3 days at the agency."
    assert coexist("number", _sides(one, other, ("5 days", "3 days"), "aa"))
