"""Plainly stated conflicts in many wordings are found; what only looks like one is left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.test_conflicts import claims
from workflows.conflicts import Candidate, candidates
from workflows.evidence import Claim, Quote

Texts = tuple[str, str]

# The date is the value here, not a period.
ANOTHER_DATE: list[Texts] = [
    (
        "The Harlow tram line became driverless on 4 May 2021.",
        "The Harlow tram line became driverless on 19 July 2021.",
    ),
    (
        "The Harlow tram line became driverless on 4 May 2021.",
        "The Harlow tram line has been driverless since 19 July 2021, when the last drivers were retrained.",
    ),
    (
        "The Pella museum opened on 12 June 2014.",
        "The Pella museum, a gift of the Orsini family, opened on 2 September 2014.",
    ),
    (
        "The lease of the Corran warehouse was signed on 8 January 2020.",
        "The lease of the Corran warehouse was signed on 30 January 2020 after long talks with the bank.",
    ),
    (
        "The gunboat Arrow entered service in 1932.",
        "The gunboat Arrow entered service in 1934 and was sunk ten years later.",
    ),
    (
        "Veltra Pharma was listed on the stock exchange on 3 November 2015.",
        "Veltra Pharma was listed on the stock exchange on 13 November 2016.",
    ),
    (
        "The new curriculum took effect on 1 August 2022.",
        "The new curriculum took effect on 1 September 2022 in all schools.",
    ),
    (
        "Dr Lena Ortiz was appointed head of surgery in March 2019.",
        "Dr Lena Ortiz was appointed head of surgery in May 2019, after a year as deputy.",
    ),
    (
        "On 5 April 2018 the Kestrel dam was handed over to the county.",
        "The Kestrel dam was handed over to the county on 25 April 2018.",
    ),
    (
        "The Sarno mine closed in 1987.",
        "The Sarno mine closed in 1991, and 400 families left the valley.",
    ),
    (
        "Hotel Aurora has been closed since 9 October 2020.",
        "Hotel Aurora has been closed since 2 November 2020, to the regret of the town.",
    ),
]
# The clause around the value decides, not the whole sentence.
LONG_TAILS: list[Texts] = [
    (
        "The Alder bakery was shut for 12 days after the flood and reopened on 4 June.",
        "The Alder bakery was shut for 21 days after the flood, and the street had to buy its bread from the petrol station, which sells 3 kinds and no rye.",
    ),
    (
        "The Ronda hospital treated 340 patients during the heatwave, most of them over seventy.",
        "The Ronda hospital treated 430 patients during the heatwave and turned nobody away, although two wards were closed for repair.",
    ),
    (
        "Unit sales of the Corvo scooter reached 18,000 in 2023, helped by a tax rebate that ended in December.",
        "Unit sales of the Corvo scooter reached 12,500 in 2023.",
    ),
    (
        "The inquiry into the Marsh Lane collapse lasted 14 months and heard sixty witnesses.",
        "The inquiry into the Marsh Lane collapse lasted 20 months, longer than any other the ministry has paid for.",
    ),
    (
        "Lake Temmen lost 2.4 metres of water in 2022, which the farmers blame on the new wells.",
        "Lake Temmen lost 1.1 metres of water in 2022.",
    ),
    (
        "The Oberon satellite weighs 412 kg at launch and carries two cameras built in Turin.",
        "The Oberon satellite weighs 512 kg at launch.",
    ),
    (
        "The average waiting time at the Dorset clinic is 35 minutes, according to the manager.",
        "The average waiting time at the Dorset clinic was 52 minutes, and some patients waited 3 hours.",
    ),
    (
        "Bramwell College employs 210 teachers, a third of them part-time.",
        "Bramwell College employs 168 teachers.",
    ),
    (
        "The new library cost EUR 9.4 million to build.",
        "The new library cost EUR 12.1 million, of which the city paid half.",
    ),
    (
        "The Tarn bridge is 412 metres long.",
        "At 450 metres long, the Tarn bridge is the longest in the province.",
    ),
    (
        "Roughly 30 per cent of Kessel's residents commute to the capital.",
        "Some 45 per cent of Kessel's residents commute to the capital, the census shows.",
    ),
]
# Only one name can fill the role.
BY_WHOM: list[Texts] = [
    (
        "The Fenwick lighthouse was rebuilt in stone by Macrae Brothers at their own cost between 1901 and 1904.",
        "The Fenwick lighthouse was rebuilt in stone by the Admiralty, and what the masons left over went into the harbour wall.",
    ),
    (
        "The Alcazar theatre was designed by Pilar Rojas.",
        "The Alcazar theatre was designed by Tomas Vidal, who also drew the market hall.",
    ),
    (
        "Nordhaus built the Ostrava stadium.",
        "Kepler Bau built the Ostrava stadium, its largest job so far.",
    ),
    (
        "The Meridian fund is headed by Alice Okafor.",
        "The Meridian fund is headed by Daniel Brandt, a former banker.",
    ),
    (
        "The cleaning contract for Terminal B was awarded to Lumen Services.",
        "The cleaning contract for Terminal B was awarded to Brightway, the airport said.",
    ),
    (
        "The opera Selene was written by Marta Kovacs.",
        "The opera Selene was written by Jonas Feld in a single summer.",
    ),
    (
        "Zoltan Biro is the chief engineer of the Danube Works.",
        "Piroska Nagy is the chief engineer of the Danube Works.",
    ),
    (
        "The Delta vaccine was developed by Helix Labs in Basel.",
        "The Delta vaccine was developed by Genovia, which owns the patent.",
    ),
    (
        "Castor Shipping operates the Lima terminal.",
        "Pollux Ports operates the Lima terminal under a lease from the state.",
    ),
]
# Said and denied, with other tails and fuller names.
DENIALS: list[Texts] = [
    (
        "The Commission has not licensed the use of drones over Lake Garda.",
        "The Commission for Civil Aviation has licensed the use of drones over Lake Garda, the Gazette has learned.",
    ),
    (
        "The leak at the Velen plant did not begin in the pump room.",
        "Workers say that the leak at the Velen plant began in the pump room.",
    ),
    (
        "A permit was not required for the Quarry Road works.",
        "A permit was required for the Quarry Road works, and none had been asked for.",
    ),
    (
        "The auditors found no errors in the accounts of the Selby Trust.",
        "The auditors found errors in the accounts of the Selby Trust, among them a missing invoice.",
    ),
    (
        "The board of Arcadia rejected the merger.",
        "The board of Arcadia Foods approved the merger on Friday, a spokesman said.",
    ),
    (
        "The Halden tunnel is not open to lorries.",
        "The Halden tunnel is open to lorries, but only at night.",
    ),
    (
        "The report concluded that the vaccine was safe for children.",
        "According to a parents' group, the vaccine was not safe for children.",
    ),
    (
        "Rainfall in the Loire basin increased in 2023.",
        "Rainfall in the Loire basin decreased in 2023, which worries the growers.",
    ),
    (
        "Captain Moreau was aware of the storm warning.",
        "The harbour office maintains that Captain Moreau was not aware of the storm warning.",
    ),
]
# One key, one column, two values.
SAME_ROW: list[Texts] = [
    (
        "Vessel: MV Ibis; Car spaces: 84; Crew: 6.",
        "Vessel: MV Ibis; Car spaces: 72; Crew: 6.",
    ),
    (
        "Site: Norra; Item: Roof; Cost, EUR million: 3.1.",
        "Site: Norra; Item: Roof; Cost, EUR million: 4.0.",
    ),
    (
        "School: Elm Park; Year: 2023; Pupils: 412.",
        "School: Elm Park; Year: 2023; Pupils: 398; Remark: counted in May.",
    ),
    (
        "Model: Corvo S; Range, km: 120; Battery, kWh: 4.2.",
        "Lot: 3; Model: Corvo S; Range, km: 95; Battery, kWh: 4.2.",
    ),
    (
        "Clinic: Dorset; Quarter: Q1 2024; Beds: 80.",
        "Clinic: Dorset; Quarter: Q1 2024; Beds: 64.",
    ),
    (
        "Bridge: Tarn; Opened: 4 May 1998; Length, m: 412.",
        "Bridge: Tarn; Opened: 9 June 1999; Length, m: 412.",
    ),
]
# Rows of other things, other periods, recurring events, heads of letters, unrelated counts.
LEFT_ALONE: list[Texts] = [
    (
        "Part: Roof tiles; EUR million: 8.5; Share: 4.",
        "Source: State fund; EUR million: 72; Remark: paid in two parts.",
    ),
    (
        "Vessel: MV Ibis; Car spaces: 84.",
        "Vessel: MV Heron; Car spaces: 34.",
    ),
    (
        "School: Elm Park; Year: 2023; Pupils: 412.",
        "School: Elm Park; Year: 2024; Pupils: 398.",
    ),
    (
        "Month: 2025-03; Visitors: 1049; Mean stay, minutes: 9.2.",
        "Month: 2025-04; Visitors: 1031; Mean stay, minutes: 8.9.",
    ),
    (
        "Item: Total; EUR million: 214.6.",
        "Part: Total; EUR million: 31.2.",
    ),
    (
        "Group: Adults; Tickets: 400; Share, per cent: 61.",
        "Group: Children; Tickets: 120; Share, per cent: 18.",
    ),
    (
        "From Norra: 06:15; Bus: 7; At Elm: 06:37.",
        "From Norra: 07:15; Bus: 7; At Elm: 07:37.",
    ),
    (
        "At the end of 2024 the Alder company had 231 staff.",
        "At the end of 2025 the Alder company had 240 staff.",
    ),
    (
        "We had 86 teachers at the end of 2021.",
        "The college had 91 teachers at the end of 2022, 5 more than a year before.",
    ),
    (
        "Kessel exported 412 tonnes of wool in 2019.",
        "Kessel exported 367 tonnes of wool in 2020.",
    ),
    (
        "In the first quarter of 2024 Corvo sold 3,100 scooters.",
        "In the second quarter of 2024 Corvo sold 2,800 scooters.",
    ),
    (
        "The Dorset clinic treated 12,400 patients in 2022, after 11,900 in 2021.",
        "The Dorset clinic treated 13,050 patients in 2023.",
    ),
    (
        "By December 2023 the Tarn project had spent EUR 4 million.",
        "By June 2024 the Tarn project had spent EUR 6 million.",
    ),
    (
        "From: Ann Lee To: Bob Ray Date: Fri, 9 Jan 2026 06:12 Subject: frozen pipe",
        "From: Bob Ray To: Ann Lee Date: Fri, 9 Jan 2026 06:31 Subject: RE: frozen pipe",
    ),
    (
        "Date: 3 March 2025",
        "Date: 16 June 2025",
    ),
    (
        "Page 3 of 12",
        "Page 4 of 12",
    ),
    (
        "Section 4.2 Costs of the programme",
        "Section 5.1 Costs of the programme",
    ),
    (
        "31 passengers were led off the Ibis by the crew.",
        "There were 203 passengers on board.",
    ),
    (
        "The committee met on 3 March 2025.",
        "The committee met on 16 June 2025.",
    ),
    (
        "The Harlow tram line was inspected on 4 May 2021.",
        "The Harlow tram line was inspected on 19 July 2021.",
    ),
    (
        "Twelve nurses on the night shift at Ronda were trained in 2023.",
        "Forty nurses at Ronda work part-time.",
    ),
    (
        "The Tarn bridge was designed by Pilar Rojas.",
        "The Tarn bridge was opened by the Queen.",
    ),
    (
        "The plan for Elm Park was approved by the council.",
        "The plan for Elm Park was approved by the ministry.",
    ),
    (
        "The inquiry did not find that the leak began in the pump room.",
        "The leak did not begin in the pump room.",
    ),
    (
        "Has the Commission licensed drones over Lake Garda?",
        "The Commission has not licensed drones over Lake Garda.",
    ),
    (
        "The auditors found no errors in the accounts of the Selby Trust.",
        "The auditors found errors in the tender papers of the Velen plant.",
    ),
    (
        "The Fenwick lighthouse has one lamp.",
        "The Fenwick lighthouse has no lift.",
    ),
    (
        "The museum sold 4,000 tickets on Saturday.",
        "The museum sold 90 guidebooks on Saturday.",
    ),
    (
        "Two of the six ferries at Norra are new.",
        "Six ferries serve Norra.",
    ),
    (
        "The Ronda hospital has 340 beds and 12 theatres.",
        "The Ronda hospital has 12 theatres, and 4 of them stand empty.",
    ),
    (
        "The Sarno mine opened in 1903.",
        "The Sarno mine closed in 1991.",
    ),
    (
        "The Sarno mine produced 40,000 tonnes in 1950.",
        "The Sarno mine, which closed in 1991, produced 12,000 tonnes in 1990.",
    ),
]


def only(texts: Texts) -> Candidate:
    (found,) = candidates(claims(*texts))
    return found


@pytest.mark.parametrize("texts", ANOTHER_DATE, ids=lambda texts: texts[0])
def test_the_same_event_on_another_date(texts: Texts) -> None:
    found = only(texts)
    assert found.kind == "date"
    assert found.about.startswith("when ")


@pytest.mark.parametrize("texts", LONG_TAILS, ids=lambda texts: texts[0])
def test_another_number_in_a_clause_with_another_tail(texts: Texts) -> None:
    assert only(texts).kind == "number"


@pytest.mark.parametrize("texts", BY_WHOM, ids=lambda texts: texts[0])
def test_another_name_in_the_same_role(texts: Texts) -> None:
    assert only(texts).kind == "name"


@pytest.mark.parametrize("texts", DENIALS, ids=lambda texts: texts[0])
def test_a_statement_and_its_denial(texts: Texts) -> None:
    found = only(texts)
    assert found.kind == "polarity"
    assert found.about.startswith("whether ")


@pytest.mark.parametrize("texts", SAME_ROW, ids=lambda texts: texts[0])
def test_one_row_with_two_values(texts: Texts) -> None:
    assert only(texts).kind in ("number", "date")


@pytest.mark.parametrize("texts", LEFT_ALONE, ids=lambda texts: texts[0])
def test_what_is_no_conflict_is_left_alone(texts: Texts) -> None:
    assert candidates(claims(*texts)) == ()


@pytest.mark.parametrize(
    ("texts", "about", "values"),
    [
        (LONG_TAILS[0], "Alder bakery: shut after the flood", ["12 days", "21 days"]),
        (LONG_TAILS[5], "Oberon satellite: weight at launch", ["412 kg", "512 kg"]),
        (LONG_TAILS[8], "new library: cost", ["EUR 9.4 million", "EUR 12.1 million"]),
        (LONG_TAILS[7], "Bramwell College: teachers", ["210 teachers", "168 teachers"]),
        (ANOTHER_DATE[2], "when the Pella museum opened", ["12 June 2014", "2 September 2014"]),
        (BY_WHOM[2], "who built the Ostrava stadium", ["Nordhaus", "Kepler Bau"]),
        (BY_WHOM[6], "chief engineer of the Danube Works", ["Zoltan Biro", "Piroska Nagy"]),
        (DENIALS[2], "whether a permit was required for the Quarry Road works",
         ["not required", "required"]),
        (SAME_ROW[0], "MV Ibis: car spaces", ["84", "72"]),
        (SAME_ROW[1], "Norra, Roof: cost", ["EUR 3.1 million", "EUR 4.0 million"]),
    ],
)  # fmt: skip
def test_a_conflict_is_named_as_a_reader_would(texts: Texts, about: str, values: list[str]) -> None:
    found = only(texts)
    assert found.about == about
    assert [side.value for side in found.sides] == values


def test_a_question_states_nothing() -> None:
    assert (
        candidates(claims("Did Elm Park cost EUR 3 million?", "Elm Park cost EUR 4 million.")) == ()
    )


def test_one_source_that_lists_two_figures_does_not_contradict_itself() -> None:
    texts = "Option one needs 240 kWh for the trip.", "Option one needs 310 kWh for the trip."
    both = [
        claim.model_copy(update={"quotes": (Quote(source_id="s", text=claim.text),)})
        for claim in claims(*texts)
    ]
    assert candidates(both) == ()


def test_the_planted_contradictions_of_the_sample_are_found_and_no_decoy() -> None:
    """Verbatim sentences of the sample corpus, all in one pool."""
    truth = json.loads((Path(__file__).parent / "sample_truth.json").read_text("utf-8"))
    known: dict[tuple[str, str], Claim] = {}

    def stated(side: dict[str, str]) -> str:
        key = side["file"], side["quote"]
        quote = Quote(source_id=key[0], text=key[1])
        claim = Claim(id=f"c{len(known):03d}", facet_id="f", text=key[1], quotes=(quote,))
        return known.setdefault(key, claim).id

    planted = [
        [(side["value"], stated(side)) for side in conflict["sides"]]
        for conflict in truth["contradictions"]
    ]
    decoys = [[stated(quote) for quote in decoy["quotes"]] for decoy in truth["decoys"]]
    parted = {
        frozenset((x, y))
        for found in candidates(list(known.values()))
        for one in found.sides
        for other in found.sides
        if one is not other
        for x in one.claim_ids
        for y in other.claim_ids
    }
    missed = [
        (a, b)
        for sides in planted
        for value, a in sides
        for other, b in sides
        if value != other and frozenset((a, b)) not in parted
    ]
    assert missed == []
    assert not [d for d in decoys for a in d for b in d if frozenset((a, b)) in parted]
