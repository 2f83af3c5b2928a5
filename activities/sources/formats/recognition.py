"""Text in pictures of pages, by RapidOCR from the extra `ocr`; its models are in its package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from temporalio.exceptions import ApplicationError

if TYPE_CHECKING:
    from PIL.Image import Image

ADVICE = "text in scans and images of a corpus is read with RESEARCH_OCR=1"
_PACKAGES = ("rapidocr", "onnxruntime")
_OPTIONS = {
    "Global.log_level": "error",
    # It takes some lines to be upside down that are not.
    "Global.use_cls": False,
    # There is a process for each core.
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}


@dataclass(frozen=True, slots=True)
class TextBox:
    """A line of text, or part of one, in an image; in pixels from its upper left corner."""

    text: str
    left: float
    top: float
    right: float
    bottom: float


Recognise = Callable[["Image"], list[TextBox]]


def check_installed() -> None:
    """Raise where the packages of the extra are missing."""
    if missing := [name for name in _PACKAGES if find_spec(name) is None]:
        raise ApplicationError(
            f"RESEARCH_OCR is set, and the package {missing[0]} is missing: pip install"
            ' "durable-research[ocr]" where the workers run, or unset it',
            type="bad_input",
            non_retryable=True,
        )


def recognise(image: Image) -> list[TextBox]:
    """What is written in an image of shades of grey."""
    found = _engine()(image)
    if found.boxes is None:
        return []
    boxes: list[TextBox] = []
    for text, corners in zip(found.txts, found.boxes, strict=True):
        across, down = zip(*corners, strict=True)
        boxes.append(TextBox(text, *map(float, (min(across), min(down), max(across), max(down)))))
    return boxes


@cache
def _engine() -> Any:
    from rapidocr import RapidOCR

    return RapidOCR(params=_OPTIONS)
