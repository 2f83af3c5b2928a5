"""A look at a zip-based file before a parser opens it: encrypted, broken or built to explode."""

from __future__ import annotations

import zipfile
from pathlib import Path

_MOST_BYTES = 500 * 1024 * 1024
_MOST_MEMBERS = 20_000
# XML compresses about 20 to 1; a bomb 1000 to 1. Small members may be all zeros and harmless.
_MOST_RATIO = 200
_RATIO_FROM = 10 * 1024 * 1024


class UnsafeArchiveError(ValueError):
    """The archive should not be opened."""


def check_archive(path: Path) -> None:
    """Raise `UnsafeArchiveError` unless `path` is a zip file of sane size."""
    if not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            start = file.read(8)
        if start == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
            raise UnsafeArchiveError(
                "is encrypted or in an old Office format; remove the password "
                "or save it as .docx, .pptx or .xlsx"
            )
        raise UnsafeArchiveError("is damaged: not a zip archive; save the file again")
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    size = sum(member.file_size for member in members)
    packed = sum(member.compress_size for member in members)
    if len(members) > _MOST_MEMBERS or size > _MOST_BYTES:
        raise UnsafeArchiveError(
            f"would unpack to {size:,} bytes in {len(members):,} parts, "
            "which looks like a zip bomb; split the file if it is genuine"
        )
    if size > _RATIO_FROM and size > _MOST_RATIO * max(packed, 1):
        raise UnsafeArchiveError(
            f"unpacks to {size // max(packed, 1)} times its size, which looks like a zip bomb; "
            "save the file again if it is genuine"
        )
