"""Closed lists of everyday English words: what carries grammar, not topic.

Nothing in here names a subject. The lists are what the engine knows of English; all it knows of
a topic comes from the question and the documents.
"""

from __future__ import annotations


def listed(text: str) -> frozenset[str]:
    """A set of words from a block of them."""
    return frozenset(text.split())


STOP: frozenset[str] = listed(
    """
    a about above across after again against ago all almost along already also although always am
    among amid an and another any anyone anything are aren't around as aside at away back be
    became because been before behind being below beneath beside besides between beyond both but
    by came can can't cannot could couldn't despite did didn't do does doesn't doing don't done
    down due during each either else enough etc even ever every everyone everything except few
    fewer for from further furthermore given had hadn't has hasn't have haven't having he hence
    her here hers herself him himself his however i if in indeed inside instead into is isn't it
    it's its itself just least less let like likewise many may maybe me meanwhile might mine more
    moreover most mostly much must my myself namely near nearly neither never nevertheless no
    nobody none nor not nothing now of off often on once one ones only onto or other others
    otherwise ought our ours ourselves out outside over own per perhaps quite rather re really
    regarding same seem seemed seems several shall she should shouldn't since so some somebody
    somehow someone something sometimes still such than that that's the their theirs them
    themselves then there thereby therefore these they thing things this those though through
    throughout thus to together too toward towards two under unless unlike until up upon us very
    via was wasn't way ways we well were weren't whatever whenever whereas whereby wherever
    whether whichever while whoever whole will with within without won't would wouldn't yes yet
    you your yours yourself
    """
)

HOMOGRAPHS: frozenset[str] = listed("well can will might mine")
"""Words of grammar that name a thing after "the" or "a"."""

QUESTION_WORDS: frozenset[str] = listed(
    """
    what which who whom whose when where why how describe explain compare contrast summarise
    summarize outline list discuss analyse analyze assess evaluate examine explore identify tell
    give show provide investigate research find write report overview review please question
    answer known particular regard concerning finding findings said
    """
)

PREPOSITIONS: frozenset[str] = listed(
    """
    about above across after against along among around as at before behind below beneath beside
    between beyond by concerning considering despite during except for from given in inside into
    like near of off on onto out outside over per regarding since than through throughout till to
    toward towards under until up upon versus vs via with within without
    """
)

DETERMINERS: frozenset[str] = listed(
    """
    a all an another any both each either every few fewer her his its less many more most much my
    neither no one our several some that the their these this those which whose your
    """
)

_BASES = listed(
    """
    achieve adapt add adhere adopt address affect agree allow analyse analyze announce appear
    apply argue arrive ask assume avoid become begin believe belong boost bring buy calculate
    carry choose cite claim come compare comprise conclude confirm consider consist contain
    continue contribute create decide define demonstrate deploy derive describe determine develop
    differ discover drive enable encourage enhance ensure establish estimate evolve examine exceed
    exist expand expect explain extend facilitate fail fall feel find follow generate get give go
    grow handle happen hear help hold hope identify implement imply improve include incorporate
    indicate inform introduce invest involve keep know lack launch lead learn leave let leverage
    lie lose maintain make manage mean meet minimise minimize migrate mitigate move need obtain
    occur offer operate opt optimise optimize pay perform play prefer prepare prevent produce
    prove provide pursue put reach receive recommend reduce refer regard rely remain remove
    replace represent require retain rise run say see seek seem sell send serve set sit shape
    shift show solve specify spend stand state stay strengthen submit succeed suffer suggest
    support take talk tell tend think transform try turn understand undertake use utilise utilize
    vary want write yield
    """
)
_IRREGULAR = listed(
    """
    began begun brought came chose chosen fell felt fallen found gave given gone got gotten grew
    grown had heard held kept knew known led learnt left lost made meant met paid put ran risen
    driven drove rose said saw seen sent shown spent stood taken thought told took understood went
    won written wrote setting putting getting letting according based using
    """
)
PAST: frozenset[str] = listed(
    """
    began begun blew blown bought broke broken brought burnt came caught chose chosen drew drawn
    driven drove fallen fed fell felt fled flew flown fought froze frozen gave given gone got
    gotten grew grown heard held hid hidden kept knew known lent lost made meant met paid ran
    ridden risen rode rose sank sang sent shrank shrunk sought spent stole stolen stood struck
    sunk swept sold taken taught threw thrown told took tore torn understood went withdrawn
    withdrew woke won wore worn written wrote
    """
)
"""Past forms that are nothing else."""
_NOUNS_TOO = listed(
    """
    claims handling leads learning moves needs offers reach running runs sets shapes shifts states
    supports turns understanding uses
    """
)


def _forms(base: str) -> tuple[str, ...]:
    e, y = base.removesuffix("e"), base.removesuffix("y")
    return (base, f"{base}s", f"{base}es", f"{base}ed", f"{e}ed", f"{e}ing", f"{y}ies", f"{y}ied")


VERBS: frozenset[str] = (
    frozenset(form for base in _BASES for form in _forms(base)) | _IRREGULAR | PAST
) - _NOUNS_TOO
"""Forms that are verbs nearly always; what is as often a noun is left out."""

ADJECTIVE_ENDINGS = ("al", "ic", "ive", "ous", "ary", "ory", "ful", "able", "ible", "ar", "ese")

GENERIC: frozenset[str] = listed(
    """
    ability access account action activity addition aim amount analysis answer approach appendix
    area article aspect attachment author average background basis benefit best better big bit
    body bottom can case category cent certain chapter change chart choice circumstance class
    clear closing column common comment company comparison complete component concern conclusion
    condition consideration contact content context contribution copy cost couple course current
    data date datum day december detail development difference different document draft each early
    capability challenge chance combination commitment comprehensive consistent critical crucial
    dear effective efficient ecosystem email emerging engagement essential existent forward
    framework guideline hello hi importance industry innovative landscape looking meaningful
    necessary opportunity optimal overarching paramount posture proactive proper recommendation
    regards regular relevant robust seamless sector significant stakeholder strategic substantial
    sustained thanks valuable vital com www http https org html pdf subject ten twelve twenty
    thirty forty fifty three four five six seven eight nine dozen billion eur usd gbp euro dollar
    pound kilometre litre kwh degree metre tonne kilogram minute default draft example call return
    proposal discussion reference accept chair paper paragraph clause annex board built council
    committee director manager department office officer minister spokesperson inbox cc bcc sent
    message president chief head secretary april august february january july june march may
    october november september edit effect effort end entire entity entry environment era event
    example executive existing extent fact factor feature field figure file final finding first
    focus folder following form former full function future general goal good great group growth
    half heading help high history hour hundred idea image impact implication important
    improvement increase individual info information initial initiative input insight instance
    interest introduction issue item job key kind large last late later latest level life likely
    line link list little local location long look lot low main major making manner margin matter
    means measure member mention method middle mile million minute model moment month monday
    tuesday wednesday thursday friday saturday sunday name nature new next non note number object
    objective objectives official old open option order organisation organization original outcome
    outline overall overview page paragraph part particular past people percent percentage
    performance period person phase place plan plans point portion position possible potential
    practice present previous primary priority problem process product program project property
    purpose quality quarter question range rate ratio reason recent record regard related relation
    report request respect response rest result review right role row sample second section
    sequence series set several share short side similar simple single site situation size slide
    small solution source special specific staff stage standard start statement status step
    strategy strategies strong structure study style subject subsection success summary system
    table target task team term test text theme third thousand time title today tool top topic
    total trend type typical unit update use user usual value various version view volume
    week weekly wide work world year yearly year-on-year zero
    """
)
"""Words so general that they name no theme by themselves."""
