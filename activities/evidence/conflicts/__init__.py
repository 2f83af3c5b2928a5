"""Claims held against each other: which cannot all be right, which say the same, and why.

Read in this order: `finder` is the story. `statements` reads claims with `sentence`, `clauses`,
`roles` and `tables` into `values`; `comparison` and `scopes` tell which values are about one thing;
`polarity` and `substitutions` which statements deny or reword each other; `questions` and `answers`
what a claim answers. `wording` names a conflict, `explanations` guesses its cause from `cues`.
Nothing here decides who is right.
"""

from activities.evidence.conflicts.agreement import agree, groups_of_agreement
from activities.evidence.conflicts.explanations import Explanation, explain
from activities.evidence.conflicts.finder import Candidate, Kind, Position, candidates

__all__ = [
    "Candidate",
    "Explanation",
    "Kind",
    "Position",
    "agree",
    "candidates",
    "explain",
    "groups_of_agreement",
]
