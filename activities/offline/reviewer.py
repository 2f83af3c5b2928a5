"""The offline reviewer: what the question names and the plan lacks is added; nothing is dropped."""

from __future__ import annotations

from activities.offline.conversation import Conversation
from activities.offline.planner import facets_of_question
from activities.offline.question import Question
from activities.offline.transport import Reply
from workflows.contracts.facets import Facet

_COVERED = 0.6


def review(conversation: Conversation) -> Reply:
    brief = conversation.brief
    facets = [Facet.model_validate(facet) for facet in brief["plan"]["facets"]]
    covered = [set(Question(f"{facet.title} {facet.question}").terms) for facet in facets]
    taken = {facet.id for facet in facets}
    changes = []
    for wanted in facets_of_question(str(brief["question"])):
        terms = set(Question(wanted.title).terms)
        if any(len(terms & own) >= _COVERED * len(terms) for own in covered):
            continue
        name = wanted.id if wanted.id not in taken else f"{wanted.id[:60]}-2"
        changes.append(
            {
                "action": "add",
                "facet_ids": [],
                "facet": wanted.model_copy(update={"id": name}).model_dump(mode="json"),
                "reason": f"The question names “{wanted.title}”, and no facet covers it.",
            }
        )
    return Reply({"changes": changes})
