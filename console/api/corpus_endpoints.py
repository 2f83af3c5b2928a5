"""Corpora of the store: list, read, upload to, remove."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, File, Form, Path, Response, UploadFile
from pydantic import BaseModel, WithJsonSchema

from activities.storage.corpus_versions import CorpusHead
from console.api.dependencies import Console, Operator, Reader, describe_problems
from console.client import corpora
from console.client.corpora import FileRecord

router = APIRouter(tags=["corpora"])

Name = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]
# The words that generators of clients know a file by.
Upload = Annotated[UploadFile, WithJsonSchema({"type": "string", "format": "binary"})]
Labels = Annotated[
    list[str] | None,
    Form(description="Files that only jobs with a label see, as `PATTERN=LABEL`."),
]


class CorpusDetails(BaseModel):
    corpus: CorpusHead
    files: list[FileRecord]


@router.get("/corpora")
async def list_corpora(_: Reader, console: Console) -> list[CorpusHead]:
    return await corpora.list_heads(console.settings)


@router.get("/corpora/{name}")
async def get_corpus(name: Name, _: Reader, console: Console) -> CorpusDetails:
    """A corpus, and those of its files that the person's labels allow."""
    head, files = await corpora.list_files(console.settings, name)
    return CorpusDetails(corpus=head, files=files)


@router.post("/corpora/{name}/files", responses=describe_problems(409, 413))
async def upload_files(
    name: Name,
    files: Annotated[list[Upload], File()],
    _: Operator,
    console: Console,
    labels: Labels = None,
) -> CorpusHead:
    """Add files to a corpus, or replace those of the same name; a .zip archive is unpacked.

    The first job that reads the new version has it indexed.
    """
    rules = corpora.read_rules(labels) if labels else None
    received = [(file.filename or "", file.file) for file in files]
    return await corpora.upload(console.settings, name, received, rules)


@router.delete("/corpora/{name}", status_code=204)
async def remove_corpus(name: Name, _: Operator, console: Console) -> Response:
    """Forget a corpus. Jobs that read one of its versions go on."""
    await corpora.remove(console.settings, name)
    return Response(status_code=204)
