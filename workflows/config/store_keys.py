"""The keys of objects in the store. Job ids come from clients and must not leave their folder.

An id becomes one segment of a key. Letters, digits and a few signs stay; everything else, slashes
included, is percent-encoded, so that two ids never share a folder and none is inside another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from urllib.parse import quote

STORE_ID = "store-id"
_LONGEST = 160
"""Characters of one segment: a file name may have 255 bytes, and suffixes are added."""


def safe(name: str) -> str:
    """The name as one segment of a key; different names give different segments."""
    segment = quote(name, safe="@+=,:", errors="surrogatepass")
    if not segment.strip("."):
        # "", "." and ".." have a meaning in a file system; a percent sign alone encodes nothing.
        segment = "%" + segment.replace(".", "2E")
    if len(segment) > _LONGEST:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        segment = f"{segment[: _LONGEST - 33].rstrip('%')}%{digest}"
    return segment


def journal_folder(job: str) -> str:
    return f"journal/{safe(job)}"


def templates_folder(job: str) -> str:
    return f"templates/{safe(job)}"


def checkpoints_folder(job: str) -> str:
    return f"checkpoints/{safe(job)}"


def checkpoint_key(job: str, run: str, n: int, name: str) -> str:
    return f"{checkpoints_folder(job)}/{safe(run)}/{n:03}-{safe(name)}.json"


def control_key(job: str) -> str:
    return f"control/{safe(job)}.json"


def reports_folder(job: str) -> str:
    return f"reports/{safe(job)}"


def report_key(job: str, version: int, run: str) -> str:
    return f"{reports_folder(job)}/{version:04}-{safe(run)}.json"


def corpus_key(name: str) -> str:
    return f"corpora/{safe(name)}.json"


def scan_key(name: str) -> str:
    return f"scans/{safe(name)}.json"


def listing_key(version: str) -> str:
    return f"listings/{safe(version)}.json"


def pack_key(pack: str) -> str:
    return f"packs/{safe(pack)}.json"


def original_key(sha256: str) -> str:
    return f"originals/{sha256}"


def parsed_key(parsers: int, pack: str) -> str:
    """What the parsers of a version made of the files of a pack."""
    return f"parsed/{safe(pack)}-v{parsers}.json"


def index_key(version: str, parsers: int) -> str:
    return f"indexes/{safe(version)}-v{parsers}.json"


def index_part_key(sha256: str) -> str:
    return f"index-parts/{sha256}"


def newest_index_key(name: str, labels: Iterable[str]) -> str:
    """The last index that was made of a corpus for these labels: the next one starts from it."""
    digest = hashlib.sha256("\0".join(sorted(labels)).encode()).hexdigest()[:16]
    return f"newest-indexes/{safe(name)}-{digest}.json"
