"""Reference documentation as pip finds it: `python -m benchmarks.quality.documentation`.

The documents are those that the projects' source distributions hold, in pinned
versions. They are written to `out/bench/docs/PROJECT/` and are no part of the project.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from benchmarks.quality.sets import ROOT

DOCUMENTATION = ROOT / "out" / "bench" / "docs"
PROJECTS = {
    "alembic": "1.20.1",
    "black": "26.10.1",
    "flask": "3.1.3",
    "gunicorn": "27.0.1",
    "pip": "26.3",
    "pytest": "9.2.0",
    "scrapy": "2.19.0",
    "trio": "0.35.0",
}
_FOLDERS = ("docs", "doc")
_ENDINGS = (".rst", ".md", ".txt")


def download(place: Path = DOCUMENTATION) -> None:
    """Download what is missing; raises CalledProcessError where pip cannot."""
    for name, version in PROJECTS.items():
        folder = place / name
        if folder.is_dir():
            continue
        with tempfile.TemporaryDirectory() as archives:
            subprocess.run(
                [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary",
                 ":all:", "--dest", archives, f"{name}=={version}"],
                check=True,
            )  # fmt: skip
            (archive,) = Path(archives).iterdir()
            count = _write_documents(archive, folder)
        print(f"{name} {version}: {count} documents")


def _write_documents(archive: Path, folder: Path) -> int:
    count = 0
    with tarfile.open(archive) as packed:
        for path, member in _list_documents(packed):
            file = packed.extractfile(member)
            if file is not None:
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(file.read())
                count += 1
    return count


def _list_documents(packed: tarfile.TarFile) -> Iterator[tuple[PurePosixPath, tarfile.TarInfo]]:
    for member in packed:
        path = PurePosixPath(member.name)
        inside = len(path.parts) > 2 and path.parts[1] in _FOLDERS and ".." not in path.parts
        if member.isfile() and inside and path.suffix in _ENDINGS:
            yield PurePosixPath(*path.parts[2:]), member


if __name__ == "__main__":
    download()
