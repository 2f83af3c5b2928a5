"""Nouns for what English says with adjectives and verbs: safe, safety; paid for, financing.

A heading is a noun phrase, and a question is not; this is the way from one to the other. Endings
do most of it, and a short list holds what follows no ending.
"""

from __future__ import annotations

from activities.offline.lexicon import listed


def _pairs(text: str) -> dict[str, str]:
    return dict(entry.split(":") for entry in text.split())


_QUALITIES = _pairs(
    """
    safe:safety secure:security clean:cleanliness long:length wide:width high:height deep:depth
    strong:strength noisy:noise loud:noise quiet:noise expensive:costs cheap:costs costly:costs
    affordable:affordability fast:speed quick:speed slow:speed big:size large:size small:size
    heavy:weight common:prevalence widespread:prevalence healthy:health hard:difficulty
    difficult:difficulty easy:ease good:quality bad:quality risky:risks dangerous:dangers
    harmful:harm satisfied:satisfaction happy:satisfaction content:satisfaction free:freedom
    true:truth hot:temperature cold:temperature warm:temperature old:age young:age far:distance
    often:frequency soon:timing likely:likelihood certain:certainty ready:readiness
    successful:success mature:maturity complex:complexity dense:density diverse:diversity
    scarce:scarcity simple:simplicity valid:validity severe:severity pure:purity rare:rarity
    obscure:obscurity precise:precision prepared:preparedness experienced:experience fair:fairness
    stable:stability able:ability green:greenness private:privacy accurate:accuracy legal:legality
    useful:usefulness helpful:usefulness harmonious:harmony tolerant:tolerance resistant:resistance
    important:importance significant:significance relevant:relevance different:differences
    independent:independence available:availability profitable:profitability
    """
)
_QUALITY_ENDINGS = (
    ("able", "ability"), ("ible", "ibility"), ("uble", "ubility"), ("ient", "iency"),
    ("ent", "ency"), ("ant", "ancy"), ("ile", "ility"), ("al", "ality"), ("ar", "arity"),
    ("ic", "icity"), ("id", "idity"), ("y", "iness"),
)  # fmt: skip
_NO_QUALITY = listed(
    "many much the a an it they this that these those we you he she is are was were do does did"
)

_ACTIONS = _pairs(
    """
    paid:payment funded:funding financed:financing built:construction constructed:construction
    chosen:selection selected:selection made:making used:use run:operation operated:operation
    measured:measurement maintained:maintenance repaired:repair trained:training taught:teaching
    governed:governance regulated:regulation supervised:supervision managed:management
    approved:approval evaluated:evaluation assessed:assessment enforced:enforcement
    treated:treatment developed:development delivered:delivery distributed:distribution
    produced:production stored:storage protected:protection procured:procurement
    purchased:purchase bought:purchase sold:sale priced:pricing staffed:staffing
    designed:design planned:planning controlled:control supported:support caused:causes
    allocated:allocation calculated:calculation installed:installation implemented:implementation
    applied:application adopted:adoption reviewed:review recruited:recruitment hired:recruitment
    deployed:deployment removed:removal disposed:disposal divided:division decided:decision
    explained:explanation transmitted:transmission prevented:prevention detected:detection
    collected:collection introduced:introduction reduced:reduction perceived:perception
    received:reception insured:insurance taxed:taxation shared:sharing kept:keeping held:holding
    set:setting taken:taking written:writing spent:spending
    compensated:compensation
    """
)
_ACTION_ENDINGS = (("ated", "ation"), ("ised", "isation"), ("ized", "ization"),
                   ("ified", "ification"))  # fmt: skip

PLAIN_PASSIVES: frozenset[str] = listed(
    "arranged organised organized handled done dealt structured made set carried conducted"
)
"""Participles that say no more than that there is an arrangement."""

PLAIN_VERBS: frozenset[str] = listed(
    "perform performs work works do does fare fares behave behaves operate operates function "
    "functions look looks stand stands go goes feel feels interact interacts develop develops "
    "compare compares differ differs"
)
"""Verbs that only ask how things are with their subject."""

REPORTED = _pairs(
    """
    experience:experience experiences:experience need:needs needs:needs want:wishes wants:wishes
    expect:expectations expects:expectations think:views thinks:views say:views says:views
    believe:views believes:views prefer:preferences prefers:preferences earn:earnings earns:earnings
    promise:promises promises:promises demand:demands demands:demands owe:debts owes:debts
    report:reports reports:reports fear:fears fears:fears plan:plans plans:plans
    require:requirements requires:requirements offer:offer offers:offer know:knowledge
    complain:complaints complains:complaints worry:worries worries:worries
    recommend:recommendations recommends:recommendations propose:proposals proposes:proposals
    """
)
"""What somebody does, as a thing of theirs: "what passengers experience"."""


EFFECTED = _pairs(
    """
    prevents:prevention stops:prevention protects:protection triggers:triggers reduces:reduction
    improves:improvement limits:limits controls:control governs:governance replaces:replacement
    supports:support funds:funding finances:financing threatens:threats determines:determinants
    """
)
"""What brings something about, as a thing: "what prevents fires"."""


def quality(adjective: str) -> str | None:
    """The noun for being so; None for a word that is no adjective as far as one can see."""
    word = adjective.lower()
    if word in _QUALITIES:
        return _QUALITIES[word]
    if word in _NO_QUALITY or len(word) < 4:
        return None
    for ending, instead in _QUALITY_ENDINGS:
        if word.endswith(ending):
            return word.removesuffix(ending) + instead
    return f"{word}ness" if word.endswith(("ive", "ous", "ful", "less", "ish")) else None


def action(participle: str, particle: str = "") -> str | None:
    """The noun for doing so; None where the word is no participle."""
    word = participle.lower()
    if word == "paid" and particle == "for":
        return "financing"
    if word in _ACTIONS:
        return _ACTIONS[word]
    for ending, instead in _ACTION_ENDINGS:
        if word.endswith(ending):
            return word.removesuffix(ending) + instead
    if word.endswith("ed") and len(word) > 4:
        return word.removesuffix("ed") + "ing"
    return None
