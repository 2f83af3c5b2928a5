"""What is form into the console's forms: checked as the commands check, said beside the field."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.web.forms import FormValues, name_fields, parse_job, parse_plan, plan_fields
from workflows.config.settings import Settings
from workflows.contracts.facets import Facet, Plan, QuestionKind

SETTINGS = Settings.read({})


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("Something is written here.")
    return folder


def plan() -> Plan:
    facets = tuple(
        Facet(id=name, title=f"The {name}", question=f"What is known of {name}?",
              boundary="all else", prefer="any", reason="it is asked")
        for name in ("harbour", "lighthouse")
    )  # fmt: skip
    return Plan(kind=QuestionKind.OVERVIEW, facets=facets)


def test_a_form_that_is_in_order_becomes_the_options_of_a_job(docs: Path) -> None:
    form = FormValues({"question": "What?", "corpus": str(docs), "budget_usd": "$2.50",
                   "max_passes": "1", "approve": "yes", "effort": "quick"})  # fmt: skip
    options = parse_job(form, SETTINGS)
    assert options is not None
    assert (options.budget_usd, options.max_passes, options.approve, options.corpus) == (
        2.5,
        1,
        True,
        str(docs),
    )


def test_everything_that_is_wrong_is_said_at_once_each_beside_its_field(docs: Path) -> None:
    form = FormValues({"question": " ", "corpus": str(docs / "gone"), "budget_usd": "-1",
                   "max_passes": "many", "effort": "huge", "id": "../x",
                   "model": "gpt"})  # fmt: skip
    assert parse_job(form, SETTINGS) is None
    wrong = {"question", "corpus", "budget_usd", "max_passes", "effort", "id", "model"}
    assert set(form.errors) == wrong
    assert not any("--" in text for text in form.errors.values()), "fields have names, not options"
    assert form["budget_usd"] == "-1", "what was form stays"


def test_nothing_to_read_is_said_beside_the_folder() -> None:
    form = FormValues({"question": "What?"})
    assert parse_job(form, SETTINGS) is None
    assert "nothing to read" in form.error("corpus")


def test_a_folder_beyond_the_allowed_ones_is_refused(docs: Path, tmp_path: Path) -> None:
    inside = Settings.read({"RESEARCH_CORPORA": str(docs)})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.md").write_text("words")
    for path in (tmp_path / "other", docs / ".." / "other"):
        form = FormValues({"question": "What?", "corpus": str(path)})
        assert parse_job(form, inside) is None
        assert "RESEARCH_CORPORA" in form.error("corpus")
    assert parse_job(FormValues({"question": "What?", "corpus": str(docs)}), inside) is not None


def test_a_plan_that_was_only_read_is_not_an_edited_one() -> None:
    form = FormValues(plan_fields(plan()))
    assert parse_plan(form, plan()) is None
    assert form.errors == {}


def test_a_plan_is_edited_facet_by_facet() -> None:
    fields = plan_fields(plan()) | {
        "title-0": "The old harbour", "drop-1": "yes",
        "title-2": "The ferries", "question-2": "Who sails them?",
    }  # fmt: skip
    changed = parse_plan(FormValues(fields), plan())
    assert changed is not None
    assert [facet.title for facet in changed.facets] == ["The old harbour", "The ferries"]
    assert changed.facets[0].id == "harbour"
    assert changed.facets[1].id == "the-ferries"


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"question-0": " "}, "question-0"),
        ({"drop-0": "yes", "drop-1": "yes"}, "plan"),
        ({"title-1": "The harbour", "question-1": "What is known of harbour?"}, "plan"),
        ({"title-2": "Without a question"}, "question-2"),
    ],
)
def test_a_plan_that_cannot_be_taken_says_where(fields: dict[str, str], where: str) -> None:
    form = FormValues(plan_fields(plan()) | fields)
    assert parse_plan(form, plan()) is None
    assert where in form.errors


def test_a_command_in_a_message_becomes_the_name_of_an_action() -> None:
    said = name_fields(
        "The job x is complete: `result x` writes it, `python starter.py fork x` too."
    )
    assert said == "The job x is complete: “result” writes it, “fork” too."
