"""The files of a corpus folder, and which of them have changed.

Nothing outside the folder is reached: symbolic links that lead out of it are not followed, hidden
files and folders are left alone.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from activities.sources.formats.parsing import SUFFIXES

_SKIPPED_FOLDERS = {"__pycache__", "node_modules", "CVS", "__MACOSX"}


@dataclass(frozen=True, slots=True)
class File:
    """A file as the folder lists it. `relative` is its posix path inside the folder."""

    relative: str
    path: Path
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Listing:
    files: tuple[File, ...]
    skipped: int


def list_folder(folder: Path) -> Listing:
    """All readable files, sorted, and how many of other formats there are."""
    root = folder.resolve()
    if not root.is_dir():
        raise NotADirectoryError(
            f"{folder} is not a folder; name the folder that holds the documents"
        )
    found: list[File] = []
    skipped = 0
    for entry, relative in _walk(root):
        if PurePosixPath(relative).suffix.lower() not in SUFFIXES:
            skipped += 1
            continue
        status = entry.stat()
        found.append(File(relative, Path(entry.path), status.st_size, status.st_mtime_ns))
    found.sort(key=lambda file: file.relative)
    return Listing(tuple(found), skipped)


def file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _walk(root: Path) -> Iterator[tuple[os.DirEntry[str], str]]:
    """Files below the root, with their posix paths. Links to folders are not entered."""
    waiting = [(str(root), "")]
    while waiting:
        directory, prefix = waiting.pop()
        try:
            entries = list(os.scandir(directory))
        except OSError:
            continue  # a folder that went away, or that we may not read
        for entry in entries:
            if entry.name.startswith((".", "~$")):
                continue
            relative = prefix + _encodable(entry.name)
            try:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _SKIPPED_FOLDERS:
                        waiting.append((entry.path, relative + "/"))
                elif entry.is_file() and _is_inside(entry, root):
                    yield entry, relative
            except OSError:
                continue  # a broken link


def _is_inside(entry: os.DirEntry[str], root: Path) -> bool:
    return not entry.is_symlink() or Path(entry.path).resolve().is_relative_to(root)


def _encodable(name: str) -> str:
    """A name that can be stored, also where the disk holds bytes that are not UTF-8."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
