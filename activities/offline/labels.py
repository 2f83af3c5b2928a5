"""Phrases that could name a theme, with where they stand and what they are worth.

A name is weighed by how many documents share it, how much of the question their passages hold, and
whether its words come back within a passage, as a topic's do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log

from activities.offline.language import noun_phrases, stem
from activities.offline.lexicon import ADJECTIVE_ENDINGS, VERBS
from activities.offline.questions import GENERIC_STEMS
from activities.offline.topicality import Passage
from activities.offline.usage import Key, Reading, read, spans


@dataclass
class Label:
    """What is known of one phrase across the passages."""

    key: Key
    forms: Counter[str] = field(default_factory=Counter)
    passages: set[int] = field(default_factory=set)
    documents: set[str] = field(default_factory=set)
    titles: set[str] = field(default_factory=set)
    score: float = 0.0

    name: str = ""
    """Its commonest spelling, with capitals only where the documents always write them."""

    @property
    def is_name(self) -> bool:
        return any(c.isupper() for c in self.name) or self._proper

    @property
    def _proper(self) -> bool:
        """Written with capitals throughout, as a programme or a place is."""
        capitals = sum(
            n for form, n in self.forms.items() if sum(w[0].isupper() for w in form.split()) > 1
        )
        return capitals * 3 > sum(self.forms.values()) * 2

    @property
    def heading(self) -> str:
        """Its name as a heading has it: the plural, where the documents use it about as often."""
        top = max(self.forms.values(), default=0)
        plural = [f for f, n in sorted(self.forms.items()) if f.lower() == f"{self.name.lower()}s"
                  and n * 4 >= top]  # fmt: skip
        return f"{self.name}s" if plural else self.name


def labels_of(
    passages: Sequence[Passage], known: frozenset[str]
) -> tuple[list[Label], list[Label]]:
    """Phrases that could name a theme, best first; and all single nouns among what was found."""
    documents = {passage.source_id for passage in passages}
    kept, use = _counted(passages, known, 2 if len(documents) > 3 else 1)
    for label in kept:
        # A label's passages are all that hold its words, side by side or not.
        if sum(not _general(root, known) for root in label.key) > 1:
            label.passages.update(
                i for i, p in enumerate(passages) if all(root in p.terms for root in label.key)
            )
            label.documents.update(passages[i].source_id for i in label.passages)
        label.score = _score(label, passages, known, use)
    _without_parts_of_names(kept)
    nouns = [x for x in kept if len(x.key) == 1 and len(x.documents) > 2 and _plain_noun(x, known)]
    rated = sorted((x for x in kept if x.score > 0), key=lambda x: (-x.score, x.key))
    return rated, sorted(nouns, key=lambda x: (-len(x.documents), x.key))


def names_of(passages: Sequence[Passage], known: frozenset[str]) -> list[Label]:
    """Phrases that could name what even a single one of the documents is about."""
    kept, _ = _counted(passages, known, 1)
    return [x for x in kept if x.forms and _names_a_thing(x, known) and not x.is_name]


def _counted(
    passages: Sequence[Passage], known: frozenset[str], least: int
) -> tuple[list[Label], Reading]:
    """The phrases that so many documents hold and that can be names, and how words are used."""
    labels: dict[Key, Label] = {}
    use = Reading()
    for index, passage in enumerate(passages):
        own, phrases = read(passage.text)
        use.add(own)
        for key, form in phrases:
            _count(labels, key, form, index, passage.source_id, title=False)
        for key, form in spans(noun_phrases(passage.title)):
            _count(labels, key, form, index, passage.source_id, title=True)
    kept = [
        label
        for label in labels.values()
        if len(label.documents) >= least and not set(label.key) <= known and use.names(label.key)
    ]
    for label in kept:
        label.name = use.spelled(label.forms) if label.forms else ""
    return kept, use


def _without_parts_of_names(labels: Sequence[Label]) -> None:
    """ "Crossing programme" is no theme where it is the end of "Quiet Crossing programme"."""
    names = [label for label in labels if len(label.key) > 2 and label.is_name]
    for label in labels:
        if len(label.key) == 2 and any(
            label.key in (name.key[:2], name.key[1:])
            and len(name.passages & label.passages) * 2 > len(label.passages)
            for name in names
        ):
            label.score = 0.0


def _plain_noun(label: Label, known: frozenset[str]) -> bool:
    word = label.name.lower()
    small = sum(n for form, n in label.forms.items() if form.islower())
    return (
        len(word) > 3
        and small * 5 >= sum(label.forms.values()) * 4
        and word.isalpha()
        and not any(c.isupper() for c in label.name)
        and not _general(label.key[0], known)
        and word not in VERBS
        and not word.endswith((*ADJECTIVE_ENDINGS, "ly", "ed"))
    )


def _count(
    labels: dict[Key, Label], key: Key, form: str, index: int, document: str, title: bool
) -> None:
    label = labels.get(key)
    if label is None:
        label = labels[key] = Label(key)
    label.passages.add(index)
    label.documents.add(document)
    if title:
        label.titles.add(document)
    else:
        label.forms[form] += 1


def _general(root: str, known: frozenset[str]) -> bool:
    """Whether a root says nothing of its own; a compound does where one of its parts does."""
    return all(stem(part) in GENERIC_STEMS | known for part in root.split("-"))


def _names_a_thing(label: Label, known: frozenset[str]) -> bool:
    """Whether a phrase reads as the name of something that is not too general to tell."""
    parts = label.name.lower().split()
    own = [root for root in label.key if not _general(root, known)]
    if not parts or not own or "'" in label.name or "’" in label.name:
        return False
    if any(len(p) < 3 or p[0].isdigit() for p in parts) and not label.is_name:
        return False
    if parts[0] in VERBS or parts[-1] in VERBS or label.key[0] in GENERIC_STEMS:
        return False
    return len(parts) > 1 or not parts[0].endswith(ADJECTIVE_ENDINGS)


def _score(label: Label, passages: Sequence[Passage], known: frozenset[str], use: Reading) -> float:
    if not _names_a_thing(label, known):
        return 0.0
    form = label.name
    parts = form.lower().split()
    own = [root for root in label.key if not _general(root, known)]
    if label.is_name and not (form.isupper() and form.isalpha() and 2 < len(form) < 6):
        return 0.0  # persons and firms fill documents; a subject rarely divides into them
    if len(label.passages) * 2 > len(passages) > 8:
        return 0.0  # what half of all passages hold is the subject, not a part of it
    topical = sum(use.topical(root) for root in own) / len(own)
    if len(parts) == 1 and topical < (0.4 if len(label.titles) > 1 else 0.6):
        return 0.0
    weight = sum(passages[i].weight for i in label.passages)
    score = weight**0.5 * log(1 + len(label.documents))
    score *= log(1 + len(passages) / len(label.passages)) * (0.2 + topical)
    score *= (0.6, 1.8, 1.9)[len(parts) - 1] * (1 + min(2, len(label.titles)) * 0.5)
    score *= 0.4 ** (len(parts) - len(own))
    if parts[-1].endswith(ADJECTIVE_ENDINGS) or any(p.endswith(("ly", "ed")) for p in parts):
        score *= 0.6
    if label.is_name:
        score *= 0.4
    return float(score)
