"""Small invented libraries, one for each kind of question, and a search over them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from activities.offline.language import STOP, words

from activities.offline.conversation import Conversation, Hit, JsonObject, Sentence, ToolCall
from activities.offline.transport import Reply, UseTools
from activities.sources.corpus import Corpus

COFFEE = {
    "drying-patios-survey": (
        "Drying patios in the Velmora coffee industry. Smallholders dry coffee on raised "
        "drying beds. Raised drying beds shorten drying by four days. Covered drying beds "
        "protect coffee from rain, and cooperatives lend drying beds to smallholders."
    ),
    "harvest-labour-report": (
        "Seasonal pickers carry the harvest of the Velmora coffee industry. Seasonal pickers "
        "earn by the basket. A shortage of seasonal pickers delayed the harvest in two "
        "valleys. Cooperatives now house seasonal pickers."
    ),
    "pickers-wages-minutes": (
        "The cooperatives discussed wages. Seasonal pickers asked for a minimum wage in the "
        "coffee industry of Velmora. Wages of seasonal pickers rose by a tenth."
    ),
    "leaf-rust-study": (
        "Leaf rust spread through the coffee industry of Velmora. Resistant varieties "
        "suffered less leaf rust. Growers who replanted resistant varieties lost one harvest."
    ),
    "resistant-varieties-note": (
        "Resistant varieties of coffee are handed out in Velmora. Leaf rust fell where "
        "resistant varieties grow, yet resistant varieties yield less coffee."
    ),
    "export-auction-2023": (
        "The export auction sold coffee of the Velmora coffee industry to eleven buyers. "
        "Export prices at the auction rose. The export auction charges a fee."
    ),
    "auction-rules": (
        "Rules of the export auction: each lot of Velmora coffee is graded. The coffee "
        "industry pays for grading. The export auction publishes export prices every week."
    ),
    "drying-beds-evaluation": (
        "An evaluation of drying beds in Velmora: coffee from raised drying beds scored "
        "higher at grading. The coffee industry financed two hundred drying beds."
    ),
    "football-club": ("The football club of Velmora won the cup. Its stadium was enlarged."),
    "tram-timetable": ("Trams run every ten minutes. A new tram depot opened in spring."),
}
HEATING = {
    "heat-pump-field-trial": (
        "Heat pumps in the field trial used a third of the energy. The running costs of heat "
        "pumps depend on the electricity tariff. Noise of heat pumps was measured."
    ),
    "boiler-survey": (
        "Gas boilers remain common. Running costs of gas boilers follow the gas price. "
        "Emissions of gas boilers were measured at the flue, and boiler servicing is yearly."
    ),
    "installer-notes": (
        "Installers report that heat pumps need larger radiators. Gas boilers need a flue. "
        "Emissions fall where heat pumps replace gas boilers."
    ),
    "noise-complaints": (
        "Complaints about the noise of heat pumps fell after shrouds were fitted."
    ),
}
LIGHTHOUSES = {
    f"keepers-log-{year}": f"In {year} the lighthouse service of Anders Sound {what}. The "
    f"lighthouse keepers recorded it in {year}."
    for year, what in {
        1962: "still burned paraffin at four stations",
        1965: "laid the first submarine cable to a lighthouse",
        1969: "replaced paraffin by electric lamps",
        1974: "tested automatic lamps",
        1978: "withdrew the keepers from two stations",
        1983: "automated six stations",
        1988: "ended the last keeper's watch",
        1995: "fitted solar panels",
        1999: "handed the towers to a trust",
    }.items()
}
OYSTERS = {
    "reef-survey": (
        "The oyster reefs of Cradle Bay shrank. Oyster drills, a predatory snail, ate young "
        "oysters. Warm winters let oyster drills survive."
    ),
    "dredging-inquiry": (
        "Dredging buried oyster reefs in Cradle Bay under silt. Silt from dredging stops "
        "oyster larvae from settling. The inquiry blamed dredging for half the decline."
    ),
    "warm-winters-paper": (
        "Warm winters in Cradle Bay changed what eats oysters. Oyster drills bred twice in "
        "warm winters, and oyster reefs declined."
    ),
    "silt-measurements": (
        "Measurements of silt over the oyster reefs of Cradle Bay. Silt settled after "
        "dredging, and oyster reefs under silt declined."
    ),
    "doubts": (
        "A reviewer doubts that dredging caused the decline of the oyster reefs: reefs far "
        "from dredging in Cradle Bay declined as well."
    ),
}
FACTS = {
    "bridge": ("The Orrin Bridge was designed by Maud Ekelund. It opened in 1931."),
    "ekelund": ("Maud Ekelund was an engineer born in Tarn. She taught at the polytechnic."),
    "ferry": ("The ferry to Tarn runs daily. It was built in 1988."),
}
SCHOOLS = {
    "pilot-evaluation": (
        "The four-day school week was piloted in the Harrow district. Attendance improved by "
        "two points in the four-day week. Test scores did not change."
    ),
    "budget-paper": (
        "The four-day school week saves bus costs. The budget of the Harrow district shows "
        "savings of four percent. Costs of childcare move to parents."
    ),
    "parents-survey": (
        "Parents in the Harrow district fear childcare costs. Half of the parents support the "
        "four-day school week. Childcare on the fifth day is scarce."
    ),
    "teachers-union": (
        "Teachers prefer the four-day school week. Teacher recruitment became easier in the "
        "pilot. Teacher recruitment in the Harrow district had failed for years."
    ),
    "recruitment-figures": (
        "Teacher recruitment: applications doubled after the four-day school week began in "
        "the Harrow district."
    ),
    "state-rules": (
        "State rules require a minimum of instruction hours. The four-day school week needs "
        "longer days to meet the required instruction hours, a legal requirement with a "
        "deadline."
    ),
    "childcare-offer": (
        "Clubs offer childcare on the fifth day of the four-day school week. Childcare places "
        "in the Harrow district cost parents money."
    ),
}
HOSPITAL = {
    "rooftop-garden-budget": (
        "The budget for the rooftop gardens of Marl Hospital. The gardens cost two million, and a "
        "grant funding of one million was agreed. Costs of soil rose."
    ),
    "gardens-grant-decision": (
        "The health fund decided on the grant for the rooftop gardens of Marl Hospital. Funding is "
        "paid in two parts, and the budget may not be exceeded."
    ),
    "cost-review": (
        "A review of costs. The rooftop gardens of Marl Hospital cost more each year, and savings "
        "on cooling pay for a third of the cost."
    ),
    "nurses-and-the-gardens": (
        "Nurses take patients to the rooftop gardens of Marl Hospital. Nurses asked for training "
        "in lifting wheelchairs. Training of nurses began, and nurses keep a rota."
    ),
    "training-of-nurses-report": (
        "Report on the training of nurses for the rooftop gardens of Marl Hospital. Forty nurses "
        "completed the training. Night nurses had no training."
    ),
    "staffing-note-nurses": (
        "Staffing of the rooftop gardens of Marl Hospital: two nurses by day. Nurses work shifts, "
        "and one vacancy for nurses is open."
    ),
    "irrigation-tanks-plan": (
        "Irrigation tanks feed the rooftop gardens of Marl Hospital. The irrigation tanks hold "
        "rain. Irrigation tanks are emptied before frost."
    ),
    "irrigation-failure-log": (
        "The irrigation of the rooftop gardens at Marl Hospital stopped twice. Irrigation tanks "
        "leaked, and the irrigation pump was replaced."
    ),
    "irrigation-water-use": (
        "Water for irrigation: the rooftop gardens of Marl Hospital use little water, because "
        "irrigation tanks catch rain. Irrigation runs at night."
    ),
    "irrigation-contract": (
        "Irrigation of the rooftop gardens at Marl Hospital is looked after by a firm. The firm "
        "inspects the irrigation tanks every spring and repairs irrigation pipes."
    ),
    "carbon-and-the-gardens": (
        "Carbon account of the rooftop gardens of Marl Hospital. The gardens bind carbon, and "
        "emissions of cooling fall. Emissions were measured for a year."
    ),
    "emissions-of-cooling": (
        "Emissions of cooling at Marl Hospital fell under the rooftop gardens. Emissions fell by "
        "a tenth, and carbon was counted by the university."
    ),
    "emissions-method": (
        "How emissions are counted: carbon of cooling, of transport and of soil for the rooftop "
        "gardens of Marl Hospital. Emissions of soil are small."
    ),
    "lift-accident-inquiry": (
        "Inquiry into the accident at the lift to the rooftop gardens of Marl Hospital. The "
        "accident hurt nobody. Safety gates were missing, and the alarm failed."
    ),
    "safety-rules-roof": (
        "Safety on the roof: the rooftop gardens of Marl Hospital have a safety rail. A safety "
        "inspection found the alarm too quiet after the accident."
    ),
    "safety-inspection": (
        "Safety inspection of the rooftop gardens of Marl Hospital. The fire alarm is tested, and "
        "safety training is due."
    ),
    "canteen-menu": ("The canteen serves soup on Monday. Bread is baked in the cellar."),
    "car-park-tariff": ("The car park charges by the hour. Barriers were renewed."),
}


class Library:
    """A folder of documents behind the search tool as the planner sees it."""

    def __init__(self, folder: Path, texts: dict[str, str]) -> None:
        documents = folder / "documents"
        documents.mkdir(parents=True)
        for name, text in texts.items():
            title = name.replace("-", " ").capitalize()
            (documents / f"{name}.md").write_text(f"# {title}\n\n{text}\n")
        self._corpus = Corpus.open(documents, folder / "index")
        self._corpus.refresh()

    def close(self) -> None:
        self._corpus.close()

    def call(self, turn: int, given: JsonObject) -> ToolCall:
        found = self._corpus.search(given["query"], limit=30)
        hits = tuple(
            Hit(
                hit.document.id,
                hit.document.title,
                hit.document.date,
                hit.document.kind,
                tuple(
                    Sentence(hit.document.id, hit.passage.quote(sentence))
                    for sentence in hit.passage.sentences
                ),
            )
            for hit in found
        )
        asked = {word for word in words(given["query"]) if word not in STOP}
        report = {"documents": len(self._corpus), "terms": self._corpus.frequency(asked)}
        return ToolCall(turn, "search", given, hits, report, None)


def planned(
    skill: Callable[[Conversation], UseTools | Reply],
    library: Library,
    question: str,
    max_facets: int = 10,
    effort: str = "standard",
) -> JsonObject:
    """What the planner answers after as many turns of searching as it wants."""
    brief = {
        "question": question,
        "pinned": [],
        "today": "2026-01-05",
        "max_facets": max_facets,
        "effort": effort,
    }
    calls: tuple[ToolCall, ...] = ()
    for turn in range(4):
        step = skill(Conversation("PlanDraft", brief, frozenset({"search"}), calls, (), turn))
        if isinstance(step, Reply):
            return step.answer
        calls += tuple(library.call(turn, given) for _, given in step.calls)
    raise AssertionError("the planner never stopped searching")
