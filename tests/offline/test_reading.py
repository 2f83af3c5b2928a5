"""What a reader would mark in a report of the offline model, over small folders of four kinds."""

from __future__ import annotations

import re

import pytest
from activities.offline.gist import Gist
from activities.offline.headings import heading
from activities.offline.title import title

from tests.offline.readers import CITED, FOLDERS, Report, report_on

_RESIDUE = re.compile(
    r"\*\*|\]\(|</?\w+>|\[ ?edit ?\]|\[\^|:\w+:`|==|>=|\s--\w|https? ?:|@|\s\|\s|(?<!\w)_\w+_(?!\w)"
    r"|^#|\$ \w|'' ?\.",
    re.M,
)
_FURNITURE = re.compile(
    r"\b(?:From|To|Subject|Present|Tel|Categories|Requires-Dist|Retrieved from)\s?:|Hope you"
    r"|regards|Dear |Let me know|Page \d|Jump to|Read more|Subscribe|rights reserved|last edited"
    r"|MINUTES|This page|confidential|navigation",
    re.I,
)


@pytest.fixture(params=sorted(FOLDERS))
def report(request: pytest.FixtureRequest) -> Report:
    return report_on(request.param)


def _everything(report: Report) -> str:
    return "\n\n".join([report.summary, *report.sections.values()])


def test_every_part_of_the_question_has_findings(report: Report) -> None:
    for name, markdown in report.sections.items():
        assert CITED.search(markdown), name


def test_no_sentence_is_told_twice(report: Report) -> None:
    folded = [re.sub(r"\W+", " ", sentence.lower()).strip() for sentence in report.told]
    assert len(folded) == len(set(folded)), folded


def test_sentences_are_whole(report: Report) -> None:
    assert report.told
    for sentence in report.told:
        assert re.match(r"[A-Z0-9“\"`]", sentence), sentence
        assert re.search(r"[.!]”?$", sentence), sentence
        assert len(sentence.split()) > 3, sentence


def test_no_markup_is_left(report: Report) -> None:
    assert not _RESIDUE.search(re.sub(r"^_.*_$", "", _everything(report), flags=re.M))


def test_no_header_greeting_or_navigation_is_quoted(report: Report) -> None:
    assert not _FURNITURE.search(_everything(report))


def test_no_paragraph_opens_with_a_word_that_points_at_nothing(report: Report) -> None:
    for block in _everything(report).split("\n\n"):
        assert not re.match(r"(?:This|It|Its|They|However|These|That)\b", block), block


def test_the_title_is_short(report: Report) -> None:
    assert 1 < len(report.title.split()) <= 13
    assert report.title[0].isupper()


def test_a_disputed_point_is_marked_once(report: Report) -> None:
    assert "\n".join(report.sections.values()).count("(Contested: ") == report.disputed


def test_the_summary_is_short_and_touches_each_part(report: Report) -> None:
    assert len(report.summary.split()) <= 125
    for name, markdown in report.sections.items():
        opening = CITED.sub("", markdown).split(".")[0][:40]
        words = set(re.findall(r"\w{4,}", name.lower()))
        said = set(re.findall(r"\w{4,}", CITED.sub("", report.summary).lower()))
        assert opening in CITED.sub("", report.summary) or words & said, name


@pytest.mark.parametrize(
    ("folder", "values"),
    [
        ("mail and minutes", ("1.84 million", "1.7 million")),
        ("encyclopaedia", ("1871", "1874")),
        ("press", ("41 million", "58 million")),
    ],
)
def test_the_summary_gives_all_sides_of_a_contested_headline(
    folder: str, values: tuple[str, ...]
) -> None:
    report = report_on(folder)
    assert report.disputed == 1
    assert all(value in report.summary for value in values), report.summary


def test_names_of_programs_keep_their_underscores() -> None:
    told = "\n".join(report_on("technical documentation").sections.values())
    assert "`max_retries`" in told
    assert "`request_timeout`" in told


def test_a_copy_of_a_story_is_cited_and_not_repeated() -> None:
    cars = report_on("press").sections["Cars on the bridge"]
    assert cars.count("9,000 cars") == 1
    assert "[1][2]" in cars


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is known about staff turnover at the warehouse and what is being done about it?",
         "Staff turnover at the warehouse"),
        ("How can Norbury Trading, given its limited budget, improve warehouse safety before 2027?",
         "How Norbury Trading can improve warehouse safety before 2027"),
        ("Before we vote, what is known about moving our depots to Venby: what it costs and who "
         "pays for it?", "Moving our depots to Venby"),
        ("When was Venby founded?", "When was Venby founded?"),
        ("Describe the history of the Orla canal", "History of the Orla canal"),
        ("What causes landslips and what prevents them?", "Causes of landslips and prevention"),
        ("How should a depot store fuel, and which tanks are recommended?",
         "How should a depot store fuel?"),
    ],
)  # fmt: skip
def test_a_title_says_what_the_question_is_about(question: str, expected: str) -> None:
    assert title(question) == expected


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("which tanks are recommended", "Recommended tanks"),
        ("which films were directed by Ada Lund", "Films directed by Ada Lund"),
        ("what prevents them", "Prevention"),
        ("what happens to unused leave", "What happens to unused leave"),
        ("what do they have to do about reviews", "Reviews"),
    ],
)
def test_a_heading_is_no_piece_of_a_question(clause: str, expected: str) -> None:
    assert heading(clause) == expected


def test_what_tells_most_of_the_question_counts_most() -> None:
    gist = Gist(
        "What are the drawbacks of Orla editions?",
        ["Orla is old.", "Orla has drawbacks.", "Orla has many users.", "Orla editions end."],
    )
    assert gist.share("Orla editions have drawbacks.") == 1.0
    assert gist.share("Orla is old.") < gist.share("The drawback is its price.")
    assert gist.share("The end is near.", "Orla editions") > gist.share("The end is near.")
