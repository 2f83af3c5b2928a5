"""The home page: documents of one's own, what a job will cost, and search, over real HTTP."""

from __future__ import annotations

import re
import secrets
from html import unescape
from typing import Any

import httpx2
import pytest

from console.client import jobs
from console.client.job_list import Estimate, PastJob
from console.web.home import find_excerpt
from console.web.people import Role
from console.web.rendering import mark_code
from tests.console.api.conftest import QUESTION, Api
from tests.console.api.test_uploads import pack, send
from tests.console.conftest import eventually
from tests.job.conftest import DOCUMENTS
from workflows.contracts.facets import Effort


def start(web: httpx2.Client, *files: tuple[str, bytes], **fields: str) -> httpx2.Response:
    """Send the form as a browser does, which sends a nameless file where none was chosen."""
    parts = [("files", file) for file in files or (("", b""),)]
    values = {"question": QUESTION, "effort": "quick", **fields}
    return web.post("/", data=values, files=parts)


def browse(api: Api, role: Role, **more: Any) -> httpx2.Client:
    """A new person, on the pages of the console."""
    client = api.sign_in(f"p{secrets.token_hex(6)}", role, **more)
    client.base_url = httpx2.URL(api.url.removesuffix("/api/v1"))
    return client


def load_report(api: Api, job_id: str) -> dict[str, Any]:
    with browse(api, Role.ADMIN) as web:
        report: dict[str, Any] = web.get(f"/jobs/{job_id}/report.json").json()
    return report


def choices(web: httpx2.Client) -> list[str]:
    return re.findall(r'<option value="(upload-[\w-]+|harbour)"', web.get("/").text)


def test_uploaded_documents_become_a_corpus_of_who_uploaded_them(api: Api) -> None:
    documents = [(path, text.encode()) for path, text in DOCUMENTS.items()]
    with (
        browse(api, Role.RESEARCHER, tenant="law", labels=("hr",)) as ada,
        browse(api, Role.RESEARCHER, tenant="sales") as bob,
        browse(api, Role.RESEARCHER, tenant="law") as cyd,
    ):
        wishes = {"audience": "the board", "length": "one page", "rubric": "- costs\n- risks"}
        sent = start(ada, *documents, **wishes)
        assert sent.status_code == 303, sent.text
        job_id = sent.headers["location"].partition("?")[0].rpartition("/")[2]
        api.wait(job_id, "completed")
        report = load_report(api, job_id)
        assert report["documents"] == len(documents)
        assert [point["point"] for point in report["rubric"]] == ["costs", "risks"]
        [name] = [name for name in choices(ada) if name.startswith("upload-")]
        again = start(ada, known_corpus=name)
        assert again.status_code == 303, "it is chosen from the list"
        api.wait(again.headers["location"].partition("?")[0].rpartition("/")[2], "completed")
        for other in (bob, cyd):
            assert name not in choices(other), "another tenant, or without the label"
            assert start(other, known_corpus=name).status_code == 422
            assert "harbour" in choices(other), "it belongs to everybody"


@pytest.mark.parametrize(
    ("files", "fields", "message"),
    [
        ([("program.exe", b"MZ")], {}, "cannot be uploaded"),
        ([("a.zip", b"no archive")], {}, "cannot be unpacked"),
        ([("a.zip", pack({"b.exe": b"MZ"}))], {}, "No file can be read"),
        ([("../a.md", b"Text.")], {}, "cannot be uploaded"),
        ([("a.md", b"Text.")], {"known_corpus": "harbour"}, "Choose one of these"),
        ([("a.md", b"Text.")], {"question": ""}, "Choose the files again"),
        ([], {"known_corpus": "harbour", "rubric": "point\n" * 100}, "has 100 points"),
        ([], {"known_corpus": "harbour", "tone": "x" * 900}, "“Tone” has 900 characters"),
    ],
)
def test_documents_that_cannot_be_taken_start_nothing(
    api: Api, files: list[tuple[str, bytes]], fields: dict[str, str], message: str
) -> None:
    before = api.web.get("/corpora").json()
    with browse(api, Role.RESEARCHER) as web:
        page = start(web, *files, **fields)
    assert page.status_code == 422
    assert message in unescape(page.text)
    assert api.web.get("/corpora").json() == before


def test_a_reader_uploads_nothing(api: Api) -> None:
    with browse(api, Role.READER) as web:
        assert start(web, ("a.md", b"Text.")).status_code == 403
        assert 'type="file"' not in web.get("/").text


def test_only_the_form_with_files_may_be_large(api: Api) -> None:
    large = b"a" * 2_000_000
    with browse(api, Role.RESEARCHER) as web:
        assert web.post("/", data={"question": large.decode()}).status_code == 413
        sent = start(web, ("large.txt", large), question="")
        assert sent.status_code == 422, "it was read"
        assert web.post("/jobs/x/steer", files=[("a", ("a.md", large))]).status_code == 413


def test_jobs_are_found_by_question_and_by_the_text_of_their_report(
    api: Api, finished: str
) -> None:
    def search(**params: Any) -> str:
        with browse(api, Role.READER) as web:
            return unescape(web.get("/", params=params).text)

    href = f'href="/jobs/{finished}"'
    # The server's list of jobs follows a moment after their end.
    assert eventually(lambda: href in search(q="PASSENGERS harbour"))
    assert href in search(q=finished)
    text = load_report(api, finished)["report_markdown"]
    word = max(set(re.findall(r"[a-z]{6,}", text)) - set(QUESTION.lower().split()), key=len)
    by_report = search(q=word)
    assert href in by_report
    assert f"<mark>{word}</mark>" in by_report
    assert href not in search(q="passengers xylophone")
    assert "Nothing was found." in search(q="<script>")
    assert href not in search(q="passengers", status="failed")


def test_what_is_found_is_shown_within_its_words() -> None:
    text = "word " * 60 + "Here stands it. " + "word " * 60
    found = find_excerpt(text, ["stands", "word"])
    assert found is not None
    before, match, after = found
    assert before.startswith("word ")
    assert before.endswith("Here ")
    assert match == "stands"
    assert after.startswith(" it. word")
    assert after.endswith("word")
    assert find_excerpt(text, ["stands", "nowhere"]) is None


def test_the_estimate_has_the_median_and_the_range(api: Api, finished: str) -> None:
    past = [PastJob(Effort.QUICK, usd, usd * 60) for usd in (3.0, 1.0, 2.0)]
    other = PastJob(Effort.DEEP, 20.0, 7200.0)
    text = Estimate.of([*past, other, None], Effort.QUICK).describe()
    assert text == "About $2.00 and 2 min; 3 finished jobs: $1.00 to $3.00, 1 min to 3 min."
    assert "as in 1 finished job" in Estimate.of([other], Effort.DEEP).describe()
    with browse(api, Role.RESEARCHER) as web:
        assert eventually(lambda: "<strong>Quick:</strong> About $0.00 and " in web.get("/").text)
        page = web.get("/").text
    assert "No deep job has finished with this model yet: the budget is the limit." in page


VAGUE = "What about the harbour line?"


def fields(page: str) -> dict[str, str]:
    """What a browser would send again: the question and the name of the job."""
    question = re.search(r'<textarea id="question"[^>]*>([^<]*)<', page)
    name = re.search(r'name="id" value="([^"]*)"', page)
    assert question
    assert name
    return {"question": unescape(question[1]), "id": unescape(name[1])}


def test_a_vague_question_is_asked_back_and_the_job_has_the_answers(api: Api) -> None:
    with browse(api, Role.RESEARCHER) as web:
        page = start(web, question=VAGUE, known_corpus="harbour", clarify="yes")
        assert page.status_code == 200
        assert page.text.count("<fieldset") > 2
        assert "Before it starts" in page.text
        answers = {"answer-0": "Power supply of the harbour line", "other-1": "<b>2024</b>"}
        sent = fields(page.text) | answers
        page = start(web, known_corpus="harbour", clarify="yes", step="answers", **sent)
        better = "What about the harbour line (Power supply of the harbour line; <b>2024</b>)?"
        assert fields(page.text)["question"] == better
        assert "<b>2024</b>" not in page.text
        assert 'name="clarify" value="yes">' in page.text, "it is not asked twice"
        begun = start(web, known_corpus="harbour", **fields(page.text))
        assert begun.status_code == 303, begun.text
        job_id = begun.headers["location"].partition("?")[0].rpartition("/")[2]
        assert job_id == fields(page.text)["id"]
        api.wait(job_id, "completed")
    plan = load_report(api, job_id)["plan"]
    assert "Power supply" in plan["facets"][0]["title"]


@pytest.mark.parametrize("step", ["start", pytest.param("answers", marks=pytest.mark.slow)])
def test_no_answer_is_needed(api: Api, step: str) -> None:
    with browse(api, Role.RESEARCHER) as web:
        page = start(web, question=VAGUE, known_corpus="harbour", clarify="yes")
        sent = fields(page.text) | {"answer-0": "", "other-0": " "}
        begun = start(web, known_corpus="harbour", clarify="yes", step=step, **sent)
        assert begun.status_code == 303, begun.text
        job_id = begun.headers["location"].partition("?")[0].rpartition("/")[2]
        assert api.wait(job_id, "completed")["question"] == VAGUE


def test_a_job_starts_without_questions_where_nobody_can_ask_them(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nobody(_: object) -> bool:
        return False

    monkeypatch.setattr(jobs, "has_worker", nobody)
    with browse(api, Role.RESEARCHER) as web:
        begun = start(web, question=VAGUE, known_corpus="harbour", clarify="yes")
        assert begun.status_code == 303
        assert "was not checked" in web.get(begun.headers["location"]).text


def test_a_title_with_markup_is_suggested_as_text(api: Api) -> None:
    title = "<script>alert(1)</script> of the quay"
    documents = [
        (f"{n}.md", f"# {n} {title}\n\nThe quay is {n} years old.\n".encode())
        for n in ("ten", "twenty", "thirty")
    ]
    with browse(api, Role.RESEARCHER) as web:
        page = start(web, *documents, question="What about the quay?", clarify="yes")
    assert "Before it starts" in page.text
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;alert(1)" in page.text


def test_labels_decide_what_is_suggested(api: Api) -> None:
    names = ("pay/dismissals", "ten", "twenty", "thirty")
    documents = ((f"{name}.md", f"# {name} at the mole\n\nThe mole.".encode()) for name in names)
    assert send(api, "moles", *documents, labels="pay/*=hr").status_code == 200
    for labels in ((), ("hr",)):
        with browse(api, Role.RESEARCHER, labels=labels) as web:
            page = start(web, question="What about moles?", known_corpus="moles", clarify="yes")
        assert "twenty at the mole" in page.text
        assert ("dismissals at the mole" in page.text) is bool(labels)


def test_messages_show_commands_as_code_and_nothing_else_as_markup() -> None:
    shown = mark_code("Set `RESEARCH_HOME`: `resume <b>`, <i>now</i>.")
    assert shown == (
        "Set <code>RESEARCH_HOME</code>: <code>resume &lt;b&gt;</code>, &lt;i&gt;now&lt;/i&gt;."
    )


def test_an_operator_deletes_a_job_on_its_page(api: Api) -> None:
    with browse(api, Role.OPERATOR) as web, browse(api, Role.RESEARCHER) as other:
        begun = start(web, known_corpus="harbour")
        page = begun.headers["location"].partition("?")[0]
        api.wait(page.rpartition("/")[2], "completed")
        assert "Yes, delete it" in web.get(page).text
        assert "Yes, delete it" not in other.get(page).text
        assert other.post(f"{page}/delete").status_code == 403
        deleted = web.post(f"{page}/delete")
        assert deleted.status_code == 303, deleted.text
        assert "is deleted: " in web.get(deleted.headers["location"]).text
        assert web.get(page).status_code == 404
