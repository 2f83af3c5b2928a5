"""Validate options and settings before anything is started or spent.

Each check returns the normalised value, or raises `BadInputError` with a remedy.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from activities.storage.corpus_versions import check_name, split_version
from activities.storage.document_sources import CorpusError, is_readable
from console.errors import BadInputError
from console.formatting import cut
from workflows.config.model_catalog import LOCAL, MIXED, MODELS
from workflows.config.roles import EFFORTS, ROLES
from workflows.config.settings import Settings
from workflows.contracts.facets import Effort
from workflows.contracts.request import MAX_QUESTION_WORDS, OFFLINE, ResearchRequest

MAX_QUESTION_CHARACTERS = 40_000
# The database, the store and the indexes of a small job take a few megabytes.
MIN_FREE_BYTES = 50_000_000

MAX_POINTS = 40
MAX_POINT_CHARACTERS = 500
MAX_WISH_CHARACTERS = 300
_LIST_ITEM = re.compile(r"\s*(?:[-*+\u2022]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
JOB_ID = r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}"
_SCHEME = re.compile(r"[A-Za-z0-9+.-]*:/")
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.%]+\]")
STORE_SCHEMES = ("s3", "gs", "az", "file")
_DOMAIN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+(/[^\s]*)?")


def check_tokens(count: int | None) -> int | None:
    if count is not None and count <= 0:
        raise BadInputError(
            f"A budget of {count} tokens is not possible: give --budget-tokens a number above 0, or"
            " omit it for no limit."
        )
    return count


def check_question(text: str) -> str:
    text = text.strip()
    if not re.search(r"\w", text):
        raise BadInputError("The question is empty: put it in quotes after the command.")
    for number, unit, limit in (
        (len(text.split()), "words", MAX_QUESTION_WORDS),
        (len(text), "characters", MAX_QUESTION_CHARACTERS),
    ):
        if number > limit:
            raise BadInputError(
                f"The question has {number:,} {unit}, the maximum is {limit:,}: shorten it, and put"
                " background material into the folder given with --corpus."
            )
    return text


def check_wish(option: str, text: str) -> str:
    text = " ".join(text.split())
    if len(text) > MAX_WISH_CHARACTERS:
        raise BadInputError(
            f"{option} has {len(text):,} characters, the maximum is {MAX_WISH_CHARACTERS}: shorten"
            " it, and put what the report must say into a file for --rubric."
        )
    return text


def check_rubric(path: Path | None) -> tuple[str, ...]:
    """The points in a file: the items of its lists, or its lines where it has no list."""
    if path is None:
        return ()
    points = check_points(read_text(path, "--rubric"), f"The file {path}")
    if not points:
        raise BadInputError(
            f"The file {path} names no point: write one a line, or as a Markdown list."
        )
    return points


def check_points(text: str, place: str) -> tuple[str, ...]:
    """The points in a text, within the limits of a rubric."""
    points = _read_points(text)
    longest = max((len(point) for point in points), default=0)
    if len(points) > MAX_POINTS or longest > MAX_POINT_CHARACTERS:
        raise BadInputError(
            f"{place} has {len(points)} points, the longest of {longest} characters: write at most"
            f" {MAX_POINTS} points of {MAX_POINT_CHARACTERS} characters."
        )
    return points


def _read_points(text: str) -> tuple[str, ...]:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    points: list[str] = []
    has_list = any(_LIST_ITEM.match(line) for line in lines)
    for line in lines:
        item = _LIST_ITEM.match(line)
        if item or not has_list:
            points.append(line[item.end() :].strip() if item else line.strip())
        elif points and line[:1].isspace():
            # The item goes on in the next line; what stands before the list is an introduction.
            points[-1] += f" {line.strip()}"
    return tuple(point for point in points if point)


def check_corpus(corpus: str | None, images: bool = False) -> str | None:
    """An absolute folder, an address, or the name of a corpus with or without a version."""
    if corpus is None or "://" in corpus:
        return corpus
    if not corpus.strip():
        raise BadInputError("--corpus is empty: give it a folder or the name of a corpus.")
    if "/" in corpus or resolve_path(corpus, "--corpus").exists():
        return str(check_folder(corpus, images))
    try:
        check_name(split_version(corpus)[0])
    except CorpusError as error:
        raise BadInputError(f"There is no folder {corpus!r}, and {error}.") from None
    return corpus


def check_folder(path: str, images: bool = False) -> Path:
    """A folder with documents, as an absolute path; `images` may be among them."""
    folder = resolve_path(path, "--corpus")
    if not folder.exists():
        raise BadInputError(f"There is no folder {folder}: correct --corpus.")
    if not folder.is_dir():
        raise BadInputError(
            f"{folder} is a file: give --corpus the folder that holds it, {folder.parent}."
        )
    if not os.access(folder, os.R_OK | os.X_OK):
        raise BadInputError(f"The folder {folder} cannot be read: change its permissions.")
    if not any(is_readable(file.name, images) for file in _files(folder)):
        raise BadInputError(
            f"The folder {folder} holds no document that can be read: put Markdown, text, HTML,"
            " PDF, Word, PowerPoint, Excel, CSV or JSON Lines files into it, or set"
            " RESEARCH_OCR=1 to read images."
        )
    return folder


def resolve_path(path: str | Path, option: str) -> Path:
    """The absolute path, with its links followed. Raises `BadInputError` if that is impossible."""
    try:
        found = Path(path).expanduser().resolve()
        found.exists()
    except (OSError, RuntimeError, ValueError) as error:
        # A loop of links, a name that is too long, an unknown user after ~, a null character.
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadInputError(
            f"{cut(str(path), 80)!r} is not a path ({cut(why, 120)}): correct {option}."
        ) from None
    return found


def read_text(path: str | Path, option: str) -> str:
    """The text of a file that an option or a variable names."""
    file = resolve_path(path, option)
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise BadInputError(
            f"The file {cut(str(file), 200)} cannot be read as text ({why}): correct {option}."
        ) from None


def check_model(name: str | None, settings: Settings) -> str:
    """A known model with a key; any name with a custom endpoint."""
    name = settings.default_model if name is None else name.strip()
    custom = settings.base_url is not None or settings.provider != "anthropic"
    if name == LOCAL and not settings.local_model:
        raise BadInputError("The model `local` needs a file: name it with --local-model FILE.gguf.")
    if name in (OFFLINE, LOCAL) or (name and custom):
        return name
    if name not in (MIXED, *MODELS):
        raise BadInputError(
            f"The model {name!r} is unknown: choose one of {', '.join((OFFLINE, MIXED))} (a model"
            f" per role), {', '.join(known for known in MODELS if known != OFFLINE)}, or set"
            " ANTHROPIC_BASE_URL to an endpoint that has it."
        )
    if not settings.has_credentials:
        raise BadInputError(
            f"There is no key for {name}: set ANTHROPIC_API_KEY, or use --model {OFFLINE}."
        )
    return name


def split_models(text: str | None) -> tuple[str | None, dict[str, str]]:
    """One model for all roles and models of single roles, from `NAME` and `ROLE=NAME` parts."""
    name: str | None = None
    roles: dict[str, str] = {}
    for part in text.split(",") if text is not None else ():
        role, is_for_role, chosen = (word.strip() for word in part.partition("="))
        if not is_for_role:
            name = role
        elif role not in ROLES:
            raise BadInputError(
                f"--model names the unknown role {role!r}: choose one of {', '.join(ROLES)}."
            )
        else:
            roles[role] = chosen
    return name, roles


def check_local_model(file: Path) -> Path:
    if not file.is_file():
        raise BadInputError(f"There is no model file {file}: correct --local-model.")
    return file.resolve()


def check_models(request: ResearchRequest, settings: Settings) -> None:
    """Check every model of the request."""
    for name in (request.model, *request.models.values()):
        check_model(name, settings)


def check_role_variables(env: Mapping[str, str]) -> None:
    """Reject variables of unknown roles, which would have no effect."""
    for prefix in ("RESEARCH_MODEL_", "RESEARCH_EFFORT_"):
        for name in env:
            if name.startswith(prefix) and name.removeprefix(prefix).lower() not in ROLES:
                raise BadInputError(
                    f"{name} names no role: the roles are {', '.join(ROLES)}, as in"
                    f" {prefix}{next(iter(ROLES)).upper()}."
                )
            if name.startswith("RESEARCH_EFFORT_") and env[name] not in ("", *EFFORTS):
                raise BadInputError(
                    f"{name}={env[name]} is not an effort: choose one of {', '.join(EFFORTS)}."
                )


def check_effort(name: str) -> Effort:
    try:
        return Effort(name.strip().lower())
    except ValueError:
        known = ", ".join(item.value for item in Effort)
        raise BadInputError(f"The effort {name!r} is unknown: choose one of {known}.") from None


def check_budget_usd(usd: float | None) -> float | None:
    if usd is not None and (not math.isfinite(usd) or usd <= 0):
        raise BadInputError(
            f"A budget of {usd:g} dollars is not possible: give --budget-usd an amount above 0, or"
            " omit it for no limit."
        )
    return usd


def check_job_id(text: str) -> str:
    """An id that is safe in a command line, a file name and a URL."""
    if not re.fullmatch(JOB_ID, text):
        raise BadInputError(
            f"The id {text[:60]!r} is invalid: use 1 to 200 letters, digits, dots, colons,"
            " dashes or underscores, the first a letter or digit."
        )
    return text


def check_writable(folder: Path, option: str) -> Path:
    """The folder as an absolute path, created, writable and with free space."""
    folder = resolve_path(folder, option)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"probe")
            probe.flush()
    except FileExistsError:
        raise BadInputError(f"{folder} is a file: choose another folder with {option}.") from None
    except OSError as error:
        raise BadInputError(
            f"{cut(str(folder), 200)} is not writable ({error.strerror}): choose another folder"
            f" with {option}, or free it."
        ) from None
    free = shutil.disk_usage(folder).free
    if free < MIN_FREE_BYTES:
        raise BadInputError(
            f"The disk of {folder} has {free // 1_000_000} MB left and"
            f" {MIN_FREE_BYTES // 1_000_000} MB are needed: free some, or choose another folder"
            f" with {option}."
        )
    return folder


def check_role_models(settings: Settings, chosen: Mapping[str, str]) -> dict[str, str]:
    """The models of single roles, each one checked; what is chosen goes before the settings."""
    models = {**settings.models, **chosen}
    return {role: check_model(name, settings) for role, name in models.items()}


def prepare_folders(settings: Settings) -> Settings:
    """The settings with absolute, writable state and store folders."""
    state = check_writable(Path(settings.state_dir), "RESEARCH_HOME")
    store = settings.store
    if _SCHEME.match(store):
        check_url(store, "RESEARCH_STORE", STORE_SCHEMES)
    else:
        store = str(check_writable(Path(store), "RESEARCH_STORE"))
    return settings.model_copy(update={"state_dir": str(state), "store": store})


def check_url(text: str, variable: str, schemes: Sequence[str]) -> None:
    """Reject a URL of another scheme, or without a host."""
    try:
        parts = urlsplit(text)
        is_valid = parts.scheme in schemes and (parts.scheme == "file" or bool(parts.hostname))
        _ = parts.port  # raises if it is not a number
    except ValueError:
        is_valid = False
    if not is_valid or not text.startswith(f"{parts.scheme}://") or " " in text:
        raise BadInputError(
            f"{variable} is {cut(text, 80)!r}: write it as {', '.join(f'{s}://…' for s in schemes)}"
            f"{', or as the path of a folder' if 'file' in schemes else ''}."
        )


def check_webhook(url: str | None, settings: Settings) -> str | None:
    if url is None:
        return None
    check_url(url, "--webhook", ("https", "http"))
    if "@" in urlsplit(url).netloc or "#" in url:
        raise BadInputError("--webhook has a password or a fragment in it: omit that part.")
    if not settings.has_webhook_secret:
        raise BadInputError(
            "Webhooks are signed, and there is no secret: set RESEARCH_WEBHOOK_SECRET here and for"
            " the workers."
        )
    return url


def check_endpoints(env: Mapping[str, str]) -> None:
    """Reject addresses in the environment that no client could connect to."""
    if address := env.get("TEMPORAL_ADDRESS"):
        host, _, port = address.rpartition(":")
        if not (_HOST.fullmatch(host) and port.isascii() and port.isdigit() and int(port) < 65536):
            raise BadInputError(
                f"TEMPORAL_ADDRESS is {cut(address, 80)!r}: write it as HOST:PORT, for example"
                " 127.0.0.1:7233, or unset it to use the embedded server."
            )
    if (file := env.get("TEMPORAL_CONFIG_FILE")) and not resolve_path(
        file, "TEMPORAL_CONFIG_FILE"
    ).exists():
        raise BadInputError(f"There is no file {cut(file, 80)!r}: correct TEMPORAL_CONFIG_FILE.")
    if url := env.get("ANTHROPIC_BASE_URL"):
        check_url(url, "ANTHROPIC_BASE_URL", ("https", "http"))


def check_mcp_file(settings: Settings) -> None:
    """Reject a file of MCP servers that a worker could not read."""
    if settings.mcp is None:
        return
    try:
        content = json.loads(read_text(settings.mcp, "RESEARCH_MCP"))
    except ValueError as error:
        raise BadInputError(
            f"The MCP file {settings.mcp} is not JSON ({cut(str(error), 120)}): correct it."
        ) from None
    if not isinstance(content, dict):
        raise BadInputError(f"The MCP file {settings.mcp} holds no object: see docs/models.md.")


def check_domain(text: str) -> str:
    text = text.strip().lower()
    if not _DOMAIN.fullmatch(text):
        raise BadInputError(
            f"{text!r} is not a domain: write it as example.org, without https:// before it."
        )
    return text


def check_range(option: str, value: int | None, low: int, high: int) -> int | None:
    if value is not None and not low <= value <= high:
        raise BadInputError(
            f"{option} {value} is not possible: give a number from {low} to {high}."
        )
    return value


def _files(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        # Hidden folders hold version control and caches, not documents.
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(parent, name) for name in names if not name.startswith("."))
