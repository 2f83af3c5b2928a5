"""Where the documents of a corpus come from: a folder on this machine, or a bucket."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

SUFFIXES = frozenset(
    {".csv", ".docm", ".docx", ".eml", ".htm", ".html", ".json", ".jsonl", ".log", ".markdown"}
    | {".md", ".mdown", ".mkd", ".ndjson", ".pdf", ".pptm", ".pptx", ".rest", ".rst", ".tab"}
    | {".mbox", ".text", ".tsv", ".txt", ".xhtml", ".xlsm", ".xlsx"}
)
"""The formats that can be parsed; other files are skipped."""

MAX_FILE_BYTES = 50 * 1024 * 1024
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "CVS", "__MACOSX"})
# A file changed twice within a tick of its file system's clock shows one time for two contents.
_SETTLED_SECONDS = 2.0


class CorpusError(ValueError):
    """A corpus that cannot be made or found; the message says what to do."""


@dataclass(frozen=True, slots=True)
class ScannedFile:
    """A file as its source lists it, and where the store has it. A stamp that is empty says
    nothing."""

    path: str
    size: int
    stamp: str = ""
    sha256: str = ""
    problem: str = ""
    pack: str = ""
    position: int = 0


class DocumentSource(Protocol):
    async def scan(self) -> tuple[list[ScannedFile], int]:
        """The files that can be parsed, by path, and how many others there are."""

    async def read(self, file: ScannedFile) -> bytes: ...


def open_source(location: str) -> DocumentSource:
    return _Bucket(location) if "://" in location else _Folder(Path(location))


def is_readable(path: str) -> bool:
    return PurePosixPath(path).suffix.lower() in SUFFIXES


class _Bucket:
    """The objects below an address, through `obstore`."""

    def __init__(self, location: str) -> None:
        from obstore.store import LocalStore, from_url

        is_local = location.startswith("file://")
        self._objects = LocalStore.from_url(location) if is_local else from_url(location)

    async def scan(self) -> tuple[list[ScannedFile], int]:
        listed = [item async for batch in self._objects.list() for item in batch]
        visible = [item for item in listed if not is_hidden(item["path"])]
        files = [
            ScannedFile(
                path=item["path"],
                size=item["size"],
                stamp=f"{item['e_tag'] or ''} {item['last_modified'].isoformat()}",
            )
            for item in visible
            if is_readable(item["path"])
        ]
        return sorted(files, key=lambda file: file.path), len(visible) - len(files)

    async def read(self, file: ScannedFile) -> bytes:
        found = await self._objects.get_async(file.path)
        return bytes(await found.bytes_async())


def is_hidden(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return any(part.startswith((".", "~$")) or part in _SKIPPED_FOLDERS for part in parts)


class _Folder:
    """A folder on this machine.

    Nothing outside it is reached: symbolic links that lead out of it are not followed, hidden files
    and folders are left alone.
    """

    def __init__(self, folder: Path) -> None:
        self._root = folder.resolve()
        self._places: dict[str, str] = {}

    async def scan(self) -> tuple[list[ScannedFile], int]:
        return await asyncio.to_thread(self._scan)

    async def read(self, file: ScannedFile) -> bytes:
        return await asyncio.to_thread(Path(self._places[file.path]).read_bytes)

    def _scan(self) -> tuple[list[ScannedFile], int]:
        if not self._root.is_dir():
            raise CorpusError(
                f"there is no folder {self._root} on this machine: name the folder that holds the"
                " documents, or `corpus add` it on the machine that has it"
            )
        found: list[ScannedFile] = []
        skipped = 0
        for entry, path in self._walk():
            if not is_readable(path):
                skipped += 1
                continue
            status = entry.stat()
            settled = time.time() - status.st_mtime > _SETTLED_SECONDS
            stamp = str(status.st_mtime_ns) if settled else ""
            found.append(ScannedFile(path=path, size=status.st_size, stamp=stamp))
            self._places[path] = entry.path
        return sorted(found, key=lambda file: file.path), skipped

    def _walk(self) -> Iterator[tuple[os.DirEntry[str], str]]:
        """Files below the root, with their posix paths. Links to folders are not entered."""
        waiting = [(str(self._root), "")]
        while waiting:
            directory, prefix = waiting.pop()
            try:
                entries = list(os.scandir(directory))
            except OSError:
                continue  # a folder that went away, or that we may not read
            for entry in entries:
                if entry.name.startswith((".", "~$")):
                    continue
                path = prefix + _encodable(entry.name)
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in _SKIPPED_FOLDERS:
                            waiting.append((entry.path, path + "/"))
                    elif entry.is_file() and self._is_inside(entry):
                        yield entry, path
                except OSError:
                    continue  # a broken link

    def _is_inside(self, entry: os.DirEntry[str]) -> bool:
        return not entry.is_symlink() or Path(entry.path).resolve().is_relative_to(self._root)


def _encodable(name: str) -> str:
    """A name that can be stored, also where the disk holds bytes that are not UTF-8."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
