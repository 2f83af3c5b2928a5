"""The models: their prices, their features, and what a report says about them.

Prices are US dollars per million tokens, as published on the date below. A model that is not listed
can be used with one's own endpoint; its cost is unknown and counted as 0.
"""

from __future__ import annotations

from workflows.contracts.evidence import Record
from workflows.contracts.request import OFFLINE

PRICES_AS_OF = "2026-11-01"

LARGE = "claude-opus-5-5"
MEDIUM = "claude-sonnet-5-5"
SMALL = "claude-haiku-5-5"
MIXED = "claude"
"""Each role has its own model, from the table of roles."""
DEFAULT_CLAUDE = MIXED
LOCAL = "local"
"""A model file of the user's own, served by the worker."""

CACHE_WRITE_5M = 1.25
CACHE_WRITE_1H = 2.0
"""The price of writing to the prompt cache, as a multiple of plain input."""
BATCH_PRICE = 0.5
"""The price of a turn in a batch, as a multiple of a plain one."""
WEB_SEARCH_USD = 0.01
"""One web search by the provider. Fetching is not charged."""


class Rates(Record):
    """Dollars per million tokens."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0


class ModelCard(Rates):
    name: str
    long_above: int | None = None
    """Prompt tokens above which the whole turn is charged at `long`."""
    long: Rates = Rates()
    context: int = 0
    """Tokens a conversation may hold; 0 where it is not known."""
    max_output: int = 0
    thinking: tuple[str, ...] = ()
    """The thinking modes that the model supports."""
    composes: bool = True
    """Whether it writes sentences of its own; False where it only quotes."""
    statement: str = ""
    """What the report says about how it was written."""

    def cost(
        self,
        input_tokens: int,
        output_tokens: int,
        cache_read: int = 0,
        cache_write: int = 0,
        cache_write_1h: int = 0,
        web_searches: int = 0,
        batch: bool = False,
    ) -> float:
        """Dollars for one turn. `input_tokens` are those neither read from nor put in the cache."""
        prompt = input_tokens + cache_read + cache_write + cache_write_1h
        is_long = self.long_above is not None and prompt > self.long_above
        rates = self.long if is_long else self
        tokens = (
            input_tokens * rates.input
            + cache_write * rates.input * CACHE_WRITE_5M
            + cache_write_1h * rates.input * CACHE_WRITE_1H
            + cache_read * rates.cache_read
            + output_tokens * rates.output
        ) / 1e6
        searched = web_searches * WEB_SEARCH_USD if self.priced else 0.0
        return tokens * (BATCH_PRICE if batch else 1.0) + searched

    @property
    def priced(self) -> bool:
        return self.input > 0


_WRITTEN_BY = "Written by a language model from checked quotes; the quotes stand in the sources."
_WRITTEN_BY_SEVERAL = (
    "Written by language models, each role its own, from checked quotes; the quotes stand in the "
    "sources."
)
_WINDOW = {"context": 1_000_000, "max_output": 128_000}

MODELS: dict[str, ModelCard] = {
    card.name: card
    for card in (
        ModelCard(
            name=OFFLINE,
            composes=False,
            statement=(
                "No language model was used: an offline engine extracted these sentences from the "
                "sources and put them in order."
            ),
        ),
        ModelCard(
            name=LARGE,
            input=4,
            output=20,
            cache_read=0.2,
            thinking=("adaptive",),
            statement=_WRITTEN_BY,
            **_WINDOW,
        ),
        ModelCard(
            name=MEDIUM,
            input=2,
            output=10,
            cache_read=0.2,
            thinking=("adaptive", "between_tools"),
            statement=_WRITTEN_BY,
            **_WINDOW,
        ),
        ModelCard(
            name=SMALL,
            input=0.1,
            output=0.5,
            cache_read=0.01,
            long_above=100_000,
            long=Rates(input=0.5, output=2.5, cache_read=0.05),
            thinking=("adaptive", "disabled"),
            statement=_WRITTEN_BY,
            **_WINDOW,
        ),
    )
}

_MIXED_CARD = ModelCard(name=MIXED, statement=_WRITTEN_BY_SEVERAL)


def card(name: str) -> ModelCard:
    """The card of a model; that of `MIXED` has only a statement, as each turn has its own model."""
    if name == MIXED:
        return _MIXED_CARD
    return MODELS.get(name) or ModelCard(name=name, statement=_WRITTEN_BY)
