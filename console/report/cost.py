"""What the report cost: in all, by role, by facet and by pass."""

from __future__ import annotations

from html import escape

from console.report.markup import count, lasted, table, usd
from workflows.config.model_catalog import PRICES_AS_OF, card
from workflows.contracts.result import ResearchResult
from workflows.contracts.state import StopReason

_STOPPED = {
    StopReason.SUFFICIENT: "nothing was left to ask",
    StopReason.NO_PROGRESS: "the last pass closed nothing",
    StopReason.CAP: "the effort allows no more passes",
    StopReason.BUDGET: "the budget was reached",
    StopReason.FINISHED: "somebody said: finish now",
}


def cost(result: ResearchResult) -> str:
    return _total(result) + _by_role(result) + _by_facet(result) + _by_pass(result)


def _total(result: ResearchResult) -> str:
    total = result.telemetry
    again = total.turns_bought_again
    bought = f"{count(again, 'turn was', 'turns were')} bought again" if again else (
        "no turn was bought twice"
    )  # fmt: skip
    priced = card(result.model).priced or total.usd > 0
    prices = f" Prices as published on {PRICES_AS_OF}." if priced else ""
    return (
        f"<p><b>{usd(total.usd)}</b> for {count(total.turns, 'turn')};"
        f" {bought}. {total.input_tokens:,} tokens in, {total.output_tokens:,} out."
        f" {count(total.spawned, 'subagent')}, at most {total.parallel_max} at once,"
        f" in {lasted(total.seconds)}. Model: {escape(result.model)}.{prices}</p>"
    )


def _by_role(result: ResearchResult) -> str:
    rows = (
        (
            escape(role),
            usd(spend.usd),
            f"{spend.turns:,}",
            f"{spend.bought_again:,}",
            f"{spend.input_tokens:,}",
            f"{spend.cache_read_tokens:,}",
            f"{spend.output_tokens:,}",
        )
        for role, spend in result.telemetry.by_role.items()
    )
    head = ("Role", "#Cost", "#Turns", "#Bought again", "#Tokens in", "#From cache", "#Tokens out")
    return table("By role", head, rows)


def _by_facet(result: ResearchResult) -> str:
    rows = (
        (escape(item.title or item.facet_id), usd(item.usd), f"{item.turns:,}", f"{item.claims:,}")
        for item in result.coverage
        if item.status != "left_out"
    )
    return table("Research, by facet", ("Facet", "#Cost", "#Turns", "#Claims"), rows)


def _by_pass(result: ResearchResult) -> str:
    rows = (
        (
            "First draft" if item.n == 0 else f"Pass {item.n}",
            usd(item.usd),
            f"{item.gaps_closed} of {item.gaps_in}" if item.n else "–",
            f"{item.turns:,}",
            lasted(item.seconds),
            _STOPPED[item.stop_reason] if item.stop_reason else "–",
        )
        for item in result.passes
    )
    head = ("Round", "#Cost", "#Gaps closed", "#Turns", "#Time", "Stopped because")
    return table("By round", head, rows)
