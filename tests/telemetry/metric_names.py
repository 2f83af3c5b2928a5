"""What the product's instruments are called in Prometheus: alerts and dashboards use these."""

from __future__ import annotations

METRICS = frozenset(
    {
        "research_cost_usd_total",
        "research_gaps_total",
        "research_jobs",
        "research_rate_limited_total",
        "research_retries_total",
        "research_subagent_outcomes_total",
        "research_subagents_running",
        "research_subagents_spawned_total",
        "research_tokens_total",
        "research_turn_seconds",
        "research_turns_bought_again_total",
        "research_turns_total",
    }
)
