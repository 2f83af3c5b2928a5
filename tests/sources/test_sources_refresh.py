"""The index follows the folder, reads only what changed, and survives company."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from activities.sources import reading as reading_module
from activities.sources.corpus import Corpus
from activities.sources.database import Database, IndexBusyError, IndexDamagedError
from activities.sources.folder import list_folder
from activities.sources.refresh import IndexReport


def settle(*paths: Path) -> None:
    """Give files an age, as a file changed this very moment is always looked at again."""
    then = time.time_ns() - 10_000_000_000
    for path in paths:
        os.utime(path, ns=(then, then))


def places(corpus: Corpus) -> dict[str, tuple[str, ...]]:
    return {document.uri: document.also_at for document in corpus.documents()}


def test_nothing_changed_nothing_parsed(folder: Path, corpus: Corpus) -> None:
    for number in range(3):
        (folder / f"{number}.txt").write_text(f"Text number {number}.")
    (folder / "broken.pdf").write_bytes(b"%PDF broken")
    (folder / "film.mp4").write_bytes(b"1")
    settle(*folder.iterdir())
    first = corpus.refresh()
    assert (first.added, first.parsed, first.documents, first.skipped) == (3, 4, 3, 1)
    again = corpus.refresh()
    assert again == IndexReport(0, 3, 0, first.unreadable, 3, 0, 1)
    assert again.unreadable[0].uri == "broken.pdf"


def test_changed_touched_and_removed_files(folder: Path, corpus: Corpus) -> None:
    for name in ("changed", "touched", "removed"):
        (folder / f"{name}.txt").write_text(f"The {name} file.")
    corpus.refresh()
    (folder / "changed.txt").write_text("The altered file.")
    (folder / "touched.txt").touch()
    (folder / "removed.txt").unlink()
    report = corpus.refresh()
    assert (report.added, report.kept, report.removed, report.parsed) == (1, 1, 2, 1)
    assert [hit.document.uri for hit in corpus.search("altered")] == ["changed.txt"]
    assert corpus.search("removed") == []


def test_a_change_within_the_clocks_tick_is_seen(folder: Path, corpus: Corpus) -> None:
    path = folder / "a.txt"
    path.write_text("Old words.")
    before = path.stat().st_mtime_ns
    corpus.refresh()
    path.write_text("New words.")
    os.utime(path, ns=(before, before))
    assert corpus.refresh().added == 1


def test_only_changed_records_of_a_file_are_replaced(folder: Path, corpus: Corpus) -> None:
    path = folder / "a.jsonl"
    path.write_text('{"text": "One."}\n{"text": "Two."}\n')
    corpus.refresh()
    path.write_text('{"text": "One."}\n{"text": "Three."}\n{"text": "Four."}\n')
    report = corpus.refresh()
    assert (report.added, report.kept, report.removed) == (2, 1, 1)


def test_a_broken_file_that_was_mended_is_read(folder: Path, corpus: Corpus) -> None:
    (folder / "a.json").write_text("{")
    assert len(corpus.refresh().unreadable) == 1
    (folder / "a.json").write_text('{"text": "Whole."}')
    report = corpus.refresh()
    assert (report.unreadable, report.documents) == ((), 1)


def test_an_index_made_anew_gives_the_same_answers(folder: Path, tmp_path: Path) -> None:
    for number in range(20):
        (folder / f"{number}.txt").write_text(f"Ferry number {number % 3} sails at noon.")
    answers = []
    for place in ("one", "two"):
        with Corpus.open(folder, tmp_path / place) as corpus:
            corpus.refresh()
            answers.append(corpus.search("ferry number 2", limit=20))
    assert answers[0] == answers[1]


def test_a_killed_refresh_goes_on_where_it_was(folder: Path, tmp_path: Path) -> None:
    for number in range(30):
        (folder / f"{number:02}.txt").write_text(f"Text number {number}.")
    settle(*folder.iterdir())
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom activities.sources.corpus import Corpus\n"
        "sys.modules['activities.sources.refresh']._BATCH_DOCUMENTS = 10\n"
        "def die(done, total):\n    if done >= 20: os._exit(9)\n"
        "Corpus.open(Path(sys.argv[1]), Path(sys.argv[2])).refresh(die)\n"
    )
    arguments = [sys.executable, "-c", script, str(folder), str(tmp_path / "index")]
    root = Path(__file__).parents[2]
    assert subprocess.run(arguments, cwd=root, check=False).returncode == 9
    with Corpus.open(folder, tmp_path / "index") as corpus:
        report = corpus.refresh()
    assert (report.kept, report.added, report.parsed) == (20, 10, 10)


def test_links_out_of_the_folder_and_hidden_files_are_left_alone(
    folder: Path, tmp_path: Path, corpus: Corpus
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("Secret words.")
    (folder / "link.txt").symlink_to(outside / "secret.txt")
    (folder / "linked").symlink_to(outside)
    (folder / "broken.txt").symlink_to(outside / "nothing.txt")
    (folder / "loop").symlink_to(folder)
    (folder / ".git").mkdir()
    (folder / ".git" / "config.txt").write_text("Hidden words.")
    (folder / ".hidden.txt").write_text("Hidden words.")
    (folder / "~$lock.docx").write_text("Lock words.")
    (folder / "real.txt").write_text("Real words.")
    (folder / "inner.txt").symlink_to(folder / "real.txt")
    corpus.refresh()
    assert places(corpus) == {"inner.txt": ("real.txt",)}


def test_names_that_are_not_unicode_can_be_indexed(folder: Path, corpus: Corpus) -> None:
    try:
        Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.txt")).write_text("Coffee words.")
    except OSError:
        pytest.skip("this disk takes no such names")
    corpus.refresh()
    assert corpus.search("coffee")[0].document.uri == "caf\ufffd.txt"


def test_no_folder_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match="name the folder"):
        Corpus.open(tmp_path / "nothing", tmp_path / "index")


def test_a_damaged_index_says_what_to_do(folder: Path, tmp_path: Path) -> None:
    with Corpus.open(folder, tmp_path / "index") as corpus:
        corpus.refresh()
    for file in (tmp_path / "index").glob("*.sqlite3"):
        file.write_bytes(b"not a database at all" * 100)
    with pytest.raises(IndexDamagedError, match="delete it"):
        Corpus.open(folder, tmp_path / "index")


def test_waiting_for_another_refresh_ends(tmp_path: Path) -> None:
    database = Database(tmp_path / "i.sqlite3")
    with (
        database.refreshing(),
        pytest.raises(IndexBusyError, match="try again"),
        database.refreshing(0.1),
    ):
        pass
    database.close()


def test_two_processes_refresh_at_once(folder: Path, tmp_path: Path) -> None:
    for number in range(300):
        (folder / f"{number}.txt").write_text(f"Ferry number {number} sails.")
    settle(*folder.iterdir())
    script = (
        "import sys\nfrom pathlib import Path\nfrom activities.sources.corpus import Corpus\n"
        "print(Corpus.open(Path(sys.argv[1]), Path(sys.argv[2])).refresh().parsed)\n"
    )
    arguments = [sys.executable, "-c", script, str(folder), str(tmp_path / "index")]
    root = Path(__file__).parents[2]
    running = [
        subprocess.Popen(arguments, cwd=root, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    parsed = [int(process.communicate(timeout=60)[0]) for process in running]
    assert sorted(parsed) == [0, 0, 300]
    with Corpus.open(folder, tmp_path / "index") as corpus:
        assert len(corpus) == 300
        assert len(list(corpus.documents())) == 300
        assert corpus.frequency(["ferry"]) == {"ferry": 300}


def test_searching_while_the_folder_changes(folder: Path, corpus: Corpus) -> None:
    (folder / "0.txt").write_text("Ferry number 0 sails.")
    corpus.refresh()
    problems: list[Exception] = []
    done = threading.Event()

    def search() -> None:
        while not done.is_set():
            try:
                for hit in corpus.search("ferry sails"):
                    assert hit.passage.text.startswith("Ferry number")
            except Exception as error:
                problems.append(error)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(1, 15):
        (folder / f"{number}.txt").write_text(f"Ferry number {number} sails.")
        (folder / f"{number - 1}.txt").unlink()
        corpus.refresh()
    done.set()
    for thread in threads:
        thread.join()
    assert problems == []


def test_processes_give_what_one_gives(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(200):
        (folder / f"{number}.md").write_text(f"# Title {number}\n\nText of {number}.")
    with Corpus.open(folder, tmp_path / "one") as corpus:
        corpus.refresh()
        alone = list(corpus.documents())
    monkeypatch.setattr(reading_module, "_WORTH_A_POOL", 0)
    with Corpus.open(folder, tmp_path / "two") as corpus:
        assert corpus.refresh().parsed == 200
        assert list(corpus.documents()) == alone


class _Killer:
    """Ends the process that unpickles it, as a crashing parser would."""

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return os._exit, (9,)


def test_a_file_that_kills_its_process_is_unreadable_and_the_others_are_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_module, "_WORTH_A_POOL", 0)
    for name in ("a", "b", "c"):
        (folder / f"{name}.txt").write_text(f"Text of {name}.")
    known: dict[str, Any] = {"b.txt": _Killer()}
    found = list(reading_module.read_files(list_folder(folder).files, known))
    assert [each.file.relative for each in found] == ["a.txt", "b.txt", "c.txt"]
    parsed = [each.parsed for each in found if each.parsed is not None]
    assert [len(each.documents) for each in parsed] == [1, 0, 1]
    assert "crashes" in parsed[1].unreadable[0].reason


def test_files_with_the_same_words_are_one_document_with_several_places(
    folder: Path, corpus: Corpus
) -> None:
    (folder / "a.txt").write_text("The quay is closed in winter.")
    (folder / "b.md").write_text("The **quay** is closed\nin winter!")
    (folder / "c.txt").write_text("The quay is open.")
    report = corpus.refresh()
    assert (report.added, report.documents) == (2, 2)
    assert places(corpus) == {"a.txt": ("b.md",), "c.txt": ()}
    assert corpus.search("quay closed")[0].document.also_at == ("b.md",)
    assert corpus.refresh().documents == 2


@pytest.mark.parametrize("change", ["removed", "altered"])
def test_a_copy_takes_the_place_of_its_original(folder: Path, corpus: Corpus, change: str) -> None:
    for name in "abc":
        (folder / f"{name}.txt").write_text("The quay is closed in winter.")
    settle(*folder.iterdir())
    corpus.refresh()
    if change == "removed":
        (folder / "a.txt").unlink()
    else:
        (folder / "a.txt").write_text("Nothing of the kind.")
    corpus.refresh()
    assert places(corpus)["b.txt"] == ("c.txt",)
    assert [hit.document.uri for hit in corpus.search("quay winter")] == ["b.txt"]
