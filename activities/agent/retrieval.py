"""What a subagent searched, how it scored what came, and when it has searched enough.

Retrieval is a loop: broad first, then scored, then aimed at what is missing, at most a few cycles.
The log keeps it for documents, web and MCP servers alike. A search of the documents takes scores of
the hits before it, and the log says what it may do next; the provider's web tools and those of MCP
servers take none, so what they brought is scored in the answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from pydantic import ValidationError

from activities.agent.messages import JsonObject
from activities.agent.schemas import SourceScore
from workflows.contracts.evidence import Cycle

USELESS, GOOD, ENOUGH = 0.2, 0.7, 3
IN_SIGHT = 10
"""The first hits of the plain query, which no score hides."""
DOCUMENTS, WEB = "documents", "web"
_LONGEST = 400


@dataclass
class _Place:
    """A place that is searched: the documents, the web, an MCP server."""

    answered: int = 0
    failed: int = 0
    unread: int = 0
    """Searches whose hits have to be opened to be read."""
    opened: int = 0
    unopened: int = 0

    @property
    def is_closed(self) -> bool:
        """True where no search returned, or no hit could be opened."""
        no_hit_opened = self.unread > 0 and self.unopened > 0 and not self.opened
        return no_hit_opened or (self.failed > 0 and not self.answered)


@dataclass
class _Cycle:
    """The searches of one turn, with the scores that came before them."""

    queries: list[str] = field(default_factory=list)
    aims: list[str] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    scores: list[SourceScore] = field(default_factory=list)


class RetrievalLog:
    """The searches of one subagent."""

    def __init__(self) -> None:
        self._places: dict[str, _Place] = {}
        self._cycles: dict[int, _Cycle] = {}
        self._document_turns: set[int] = set()
        self._first_hits: list[str] = []
        self._has_hits = False
        """The conversation shows hits, which can be scored."""
        self._read_elsewhere: dict[str, None] = {}
        """Ids of web pages and of what MCP servers returned."""
        self.searched: list[str] = []
        """Queries that were answered, each with its place."""
        self.problems: list[str] = []
        """What could not be looked at, and why."""
        self.terms: dict[str, int] = {}
        """In how many documents each word that was searched for occurs."""

    # --- what happened --------------------------------------------------------------------------

    def add_search(
        self,
        turn: int,
        place: str,
        tool_input: JsonObject,
        failed: bool,
        needs_opening: bool = False,
    ) -> None:
        """`needs_opening`: its hits say nothing until they are opened."""
        known = self._places.setdefault(place, _Place())
        known.failed += failed
        known.answered += not failed
        known.unread += needs_opening and not failed
        query = str(tool_input.get("query", ""))[:300]
        cycle = self._cycles.setdefault(turn, _Cycle())
        cycle.queries.append(query)
        if aim := str(tool_input.get("aim", ""))[:300]:
            cycle.aims.append(aim)
        cycle.excluded += _ids(tool_input)
        cycle.scores += read_scores(tool_input)
        if not failed:
            self.searched.append(f"{place}: {query}")
            if place == DOCUMENTS:
                self._document_turns.add(turn)

    def add_hits(self, turn: int, source_ids: Iterable[str], terms: dict[str, int]) -> None:
        """What a search of the documents brought."""
        for word, count in terms.items():
            # A query of few words may be read in another language, which has other forms.
            self.terms[word] = max(count, self.terms.get(word, 0))
        self._has_hits = True
        if self.number(turn) == 1 and not self._first_hits:
            self._first_hits = list(dict.fromkeys(source_ids))[:IN_SIGHT]

    def add_opened(self, place: str, failed: bool) -> None:
        known = self._places.setdefault(place, _Place())
        known.unopened += failed
        known.opened += not failed

    def add_read(self, source_id: str) -> None:
        """A source that no search of the documents returned."""
        self._read_elsewhere[source_id] = None

    def add_problem(self, problem: str) -> None:
        if (problem := problem[:_LONGEST]) not in self.problems:
            self.problems.append(problem)

    def start_over(self, is_new_attempt: bool) -> None:
        """A new conversation starts: the hits of the last one are not there to be scored."""
        self._has_hits = False
        if is_new_attempt:
            # It has all its cycles again.
            self._document_turns.clear()
            self._first_hits.clear()

    # --- what follows from it -------------------------------------------------------------------

    @property
    def answered(self) -> int:
        """How many searches returned, also without hits.

        0 where one of the places never returned: it may hold what the others lack, so nothing can
        be called absent.
        """
        places = self._places.values()
        return 0 if any(p.is_closed for p in places) else sum(p.answered for p in places)

    def queries(self) -> tuple[str, ...]:
        return tuple(query for cycle in self._cycles.values() for query in cycle.queries)

    def number(self, turn: int) -> int:
        """The cycle of a search of the documents: those of one turn are one cycle."""
        return len({t for t in self._document_turns if t < turn}) + 1

    def excluded(self, tool_input: JsonObject) -> list[str]:
        """The sources a search leaves out: named by the model, or scored as useless."""
        scored = [score for cycle in self._cycles.values() for score in cycle.scores]
        newest = {s.source_id: s.score for s in (*scored, *read_scores(tool_input))}
        useless = [source_id for source_id, score in newest.items() if score < USELESS]
        left_out = dict.fromkeys((*_ids(tool_input), *useless))
        return [source_id for source_id in left_out if source_id not in self._first_hits]

    def objection(self, turn: int, tool_input: JsonObject) -> str | None:
        """Why a search is not made: the hits before it are not scored, or it has enough."""
        if self.number(turn) == 1 or not self._has_hits:
            return None
        scores = read_scores(tool_input)
        if not scores or not str(tool_input.get("aim", "")).strip():
            return (
                "score the hits you have first: search again with `scores` (each with its reason) "
                "and say in `aim` what is missing"
            )
        known = [score for cycle in self._cycles.values() for score in cycle.scores]
        good = {score.source_id for score in (*known, *scores) if score.score >= GOOD}
        if len(good) >= ENOUGH and not tool_input.get("critical"):
            return (
                f"{len(good)} sources score {GOOD} or better: answer now, or set `critical` where "
                "the ask cannot be answered without what `aim` names"
            )
        return None

    def unscored(self, scored: Iterable[str]) -> list[str]:
        """What was read on the web and at MCP servers and is not scored, from the second cycle."""
        known = set(scored)
        return [sid for sid in self._read_elsewhere if len(self._cycles) > 1 and sid not in known]

    def cycles(self, final_scores: Iterable[SourceScore] = ()) -> tuple[Cycle, ...]:
        """What each cycle asked, and how its hits were scored in the turn after it."""
        entries = list(self._cycles.values())
        scores = [*(entry.scores for entry in entries[1:]), list(final_scores)]
        return tuple(
            Cycle(
                queries=tuple(entry.queries),
                scores={score.source_id: score.score for score in scored},
                reasons={score.source_id: score.reason[:200] for score in scored},
                missing=tuple(entry.aims),
                excluded=tuple(dict.fromkeys(entry.excluded)),
            )
            for entry, scored in zip(entries, scores, strict=False)
        )


def read_scores(tool_input: JsonObject) -> list[SourceScore]:
    """The scores of a search's input; one without a reason, or malformed, is passed over."""
    found = []
    for entry in tool_input.get("scores") or ():
        with suppress(ValidationError):
            score = SourceScore.model_validate(entry)
            if score.reason.strip():
                found.append(score)
    return found


def _ids(tool_input: JsonObject) -> list[str]:
    return [str(source_id) for source_id in tool_input.get("exclude") or ()]
