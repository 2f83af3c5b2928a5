"""The models a job can name: what they cost, and what a report says about them.

Prices are US dollars per million tokens, as published on the date below. A model that is not
listed can still be used with an endpoint of one's own; its cost is then unknown and counted as 0.
"""

from __future__ import annotations

from workflows.evidence import Record

PRICES_AS_OF = "2026-11-01"
OFFLINE = "offline"
DEFAULT_CLAUDE = "claude-sonnet-5-5"


class ModelCard(Record):
    name: str
    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    statement: str = ""
    """What the report says about how its words came about."""

    def cost(
        self, input_tokens: int, output_tokens: int, cache_read: int = 0, cache_write: int = 0
    ) -> float:
        """Cache writes of five minutes cost a quarter more than plain input."""
        return (
            input_tokens * self.input
            + cache_write * self.input * 1.25
            + cache_read * self.cache_read
            + output_tokens * self.output
        ) / 1e6


_WRITTEN_BY = "Written by a language model from checked quotes; the quotes stand in the sources."

MODELS: dict[str, ModelCard] = {
    card.name: card
    for card in (
        ModelCard(
            name=OFFLINE,
            statement=(
                "No language model was used: an offline engine extracted these sentences from the "
                "sources and put them in order."
            ),
        ),
        ModelCard(
            name="claude-opus-5-5", input=4, output=20, cache_read=0.2, statement=_WRITTEN_BY
        ),
        ModelCard(
            name="claude-sonnet-5-5", input=2, output=10, cache_read=0.2, statement=_WRITTEN_BY
        ),
        ModelCard(
            name="claude-haiku-5-5", input=0.1, output=0.5, cache_read=0.01, statement=_WRITTEN_BY
        ),
    )
}


def card(name: str) -> ModelCard:
    return MODELS.get(name) or ModelCard(name=name, statement=_WRITTEN_BY)
