"""Render the cost: in total, by role, by facet and by pass."""

from __future__ import annotations

from html import escape

from console.report.html import table
from console.text import count, duration, usd
from workflows.gaps import StopReason
from workflows.models import PRICES_AS_OF, card
from workflows.results import ResearchResult

_STOPPED = {
    StopReason.SUFFICIENT: "no gap was left",
    StopReason.NO_PROGRESS: "the last pass closed no gap",
    StopReason.CAP: "the effort allows no more passes",
    StopReason.BUDGET: "the budget was reached",
    StopReason.FINISHED: "an operator chose to finish",
}


def cost(result: ResearchResult) -> str:
    return _total(result) + _by_role(result) + _by_facet(result) + _by_pass(result)


def _total(result: ResearchResult) -> str:
    total = result.telemetry
    again = total.turns_bought_again
    repeated = f"{count(again, 'turn was', 'turns were')} repeated after a failure" if again else (
        "no turn was repeated"
    )  # fmt: skip
    priced = card(result.model).priced or total.usd > 0
    prices = f" Prices as published on {PRICES_AS_OF}." if priced else ""
    return (
        f"<p><b>{usd(total.usd)}</b> for {count(total.turns, 'turn')};"
        f" {repeated}. {total.input_tokens:,} tokens in, {total.output_tokens:,} out."
        f" {count(total.spawned, 'subagent')}, at most {total.parallel_max} at once,"
        f" in {duration(total.seconds)}. Model: {escape(result.model)}.{prices}</p>"
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
    head = ("Role", "#Cost", "#Turns", "#Repeated", "#Tokens in", "#From cache", "#Tokens out")
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
            duration(item.seconds),
            _STOPPED[item.stop_reason] if item.stop_reason else "–",
        )
        for item in result.passes
    )
    head = ("Round", "#Cost", "#Gaps closed", "#Turns", "#Time", "Stopped because")
    return table("By round", head, rows)
