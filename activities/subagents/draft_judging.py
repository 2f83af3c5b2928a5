"""The judge of a draft: does a sentence say more than the claims it cites?

One request per draft, to the fast model. Sentences that are a claim's own words are not asked
about. Where the judge cannot answer, the draft says so, and only what code can check is checked.
"""

from __future__ import annotations

import asyncio

from activities.agent.conversation import Unanswered
from activities.agent.messages import JsonObject
from activities.agent.schemas import DraftJudgement
from activities.context import ActivityContext
from activities.evidence.draft import GAPS, Draft, Sentence, all_sentences
from activities.evidence.report_gate import Evidence, Judged, SentenceRuling, Support, to_judge
from activities.subagents.prompt_parts import describe_contradictions, describe_facets
from workflows.config.roles import DRAFT_JUDGE
from workflows.contracts.activity_io import WriteBrief
from workflows.contracts.spend import Allowance, Spend
from workflows.contracts.state import Gap

_QUOTE = 600


class DraftJudge:
    """Judges the drafts of one writing task; a sentence that was judged is not judged again."""

    def __init__(
        self,
        context: ActivityContext,
        brief: WriteBrief,
        evidence: Evidence,
        previous: Draft | None = None,
    ) -> None:
        """Sections of the `previous` draft that are not revised have passed, and are not paid for
        again."""
        self._context = context
        self._brief = brief
        self._evidence = evidence
        self._rulings: dict[tuple[str, str], SentenceRuling] = {}
        if previous and not previous.unjudged:
            kept = {facet.id for facet in brief.plan.facets} - set(brief.revise)
            self._rulings = {
                sentence.key: SentenceRuling(holds=True)
                for sentence in all_sentences(previous)
                if sentence.where in kept
            }
        self.spend = Spend()
        self.unjudged = ""
        """Why the newest draft could not be judged."""

    async def judge(self, draft: Draft, writer: Spend) -> Judged:
        """What the judge says of the draft; `writer` is what the writer has spent so far."""
        sentences, gaps = await asyncio.to_thread(to_judge, draft, self._evidence)
        new = [sentence for sentence in sentences if sentence.key not in self._rulings]
        named: frozenset[str] = frozenset()
        if new or gaps:
            left = self._brief.job.allowance.less(writer + self.spend)
            named = await self._ask(draft, new, gaps, left)
        return Judged(dict(self._rulings), named)

    async def _ask(
        self, draft: Draft, sentences: list[Sentence], gaps: list[Gap], left: Allowance
    ) -> frozenset[str]:
        task = f"judge-{self._brief.task}"
        subagent = await self._context.create_subagent(DRAFT_JUDGE, self._brief.job, task, left)

        async def check(answer: DraftJudgement) -> list[str]:
            missing = set(range(1, len(sentences) + 1)) - {one.id for one in answer.verdicts}
            return [f"sentence {n} has no verdict" for n in sorted(missing)]

        reply = await subagent.converse(
            DraftJudgement, self._build_brief(draft, sentences, gaps), gate=check
        )
        self.spend += subagent.spend
        if isinstance(reply, Unanswered):
            self.unjudged = reply.detail
            return frozenset()
        self.unjudged = ""
        for verdict in reply.answer.verdicts:
            if 0 < verdict.id <= len(sentences):
                self._rulings[sentences[verdict.id - 1].key] = SentenceRuling(
                    holds=verdict.verdict == "entailed",
                    reason=verdict.reason,
                    claim_ids=tuple(verdict.claim_ids),
                )
        return frozenset(reply.answer.named_gaps)

    def _build_brief(self, draft: Draft, sentences: list[Sentence], gaps: list[Gap]) -> JsonObject:
        brief, ledger = self._brief, self._evidence.ledger
        cites = {n for sentence in sentences for n in sentence.block_cites}
        if any(not sentence.block_cites for sentence in sentences):
            # A conclusion may rest on anything that the report cites.
            cites = set(ledger.numbers.values())
        return {
            "question": brief.job.question,
            "today": brief.job.today,
            "facets": describe_facets(brief.plan, brief.reports),
            "claims": [
                claim.model_dump(mode="json", include={"id", "text", "verdict", "notes"})
                | {
                    "not_to_overstate": claim.not_to_overstate,
                    "cite": ledger.cites(claim.source_ids),
                    "quotes": [quote.text[:_QUOTE] for quote in claim.quotes],
                }
                for claim in Support(self._evidence).claims_cited(sorted(cites))
            ],
            "sources": [
                {"n": n} | ledger.sources[sid].model_dump(include={"title", "date"})
                for sid, n in ledger.numbers.items()
                if n in cites
            ],
            "contradictions": describe_contradictions(ledger),
            "calculations": [one.model_dump() for one in draft.calculations],
            "report": {place: text for place, text in draft.parts().items() if text}
            | ({GAPS: draft.gaps} if gaps else {}),
            "sentences": [
                {"id": n, "part": one.where, "kind": one.kind, "text": one.text.strip()}
                | {"cite": one.cites or one.block_cites}
                for n, one in enumerate(sentences, 1)
            ],
            "unnamed_gaps": [gap.model_dump(include={"id", "text"}) for gap in gaps],
        }
