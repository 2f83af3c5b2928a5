"""Words, and the terms they are compared by.

A term is the stem of a word's lemma: `built` and `build` are one term, and so are `renewal` and
`renewed`. Lemmas come from simplemma's dictionaries, stems from SQLite's own Porter tokenizer, so
that a stem computed here is the one in the full-text index.

Function words are listed by language, and tell the language of a text: articles, pronouns,
prepositions, conjunctions, auxiliaries and question words. Words with a meaning of their own
("use", "new", "best") are not among them.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from functools import lru_cache

_LISTS = {
    "en": """a about above across after again against all along already also although am among an
        and another any anybody anyone anything anywhere are around as at be because been before
        behind being below beside besides between beyond both but by can cannot could d despite did
        do does doing don down during each either else ever every everybody everyone everywhere few
        for from further had has have having he her here hers him his how however i if in inside
        instead into is it its itself just ll many may me might mine more most much must my neither
        no nobody nor not nothing now nowhere of off on once one only onto or other others our ours
        out outside over own per re s same shall she should since so some somebody someone
        something somewhere such t than that the their theirs them then there these they this those
        though through thus to too toward towards under underneath unless unlike until up upon us
        ve very via was we were what whatever when whenever where wherever whether which whichever
        while who whoever whom whose why will with within without would yet you your yours""",
    "de": """aber alle allem allen aller als also am an ander andere anderen auch auf aus bei beim
        bin bis bist da damit dann das dass dein deine dem den denn der des dessen die dies diese
        diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines er es etwas
        euch euer für gegen hab habe haben hat hatte hatten hier hin ich ihm ihn ihnen ihr ihre
        ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jedes kann kein keine keinem
        keinen keiner können man mein meine meinem meinen meiner mich mir mit muss müssen nach
        nicht nichts noch nun nur ob oder ohne sehr sein seine seinem seinen seiner seit sich sie
        sind so soll sollen sollte sondern über um und uns unser unsere unter vom von vor wann war
        waren warum was weil welche welchem welchen welcher welches wem wen wenn wer werde werden
        wie wieder will wir wird wo wohin wurde wurden zu zum zur zwar zwischen""",
    "fr": """à ai aux avec car ce cela ces cet cette combien comme comment dans de des donc du elle
        elles en est et être eu il ils je la le les leur leurs lui ma mais me mes moi mon ne nos
        notre nous on ont ou où par pas pour pourquoi qu quand que quel quelle quelles quels qui sa
        sans se ses si son sont sur ta te tes toi ton tu un une vos votre vous""",
    "es": """al como con cómo cuál cuándo cuánto cuántos de del desde donde dónde el ella ellas
        ellos en entre era es esa ese eso esta estas este esto estos fue ha han hasta hay la las le
        les lo los me mi muy más ni no nos o para pero por porque que quien quién qué se ser si sin
        sobre son su sus también te tu un una uno y ya""",
    "it": """ai al alla alle anche che chi ci come con cosa cui da dai dal dalla dei del della delle
        di dove e è gli ha hanno il in io la le lo ma mi nel nella noi non o per perché più quale
        quali quando quanto quanti quello questa questo se si sono sua sue sul sulla suo tra tu un
        una uno""",
    "nl": """aan als bij dan dat de der deze die dit door dus een en er ge haar heeft hem het hij
        hoe hoeveel hun ik in is je kan maar me met mijn na naar niet nog nu of om onder ons ook op
        over te tegen tot uit van veel voor waar waarom wanneer want was wat we welk welke werd wie
        wij worden wordt zal ze zich zij zijn zo zou""",
    "pt": """a ao aos as com como da das de do dos e é ela ele em entre era essa esse esta este eu
        foi há isso já mais mas me na nas no nos não o onde os ou para pela pelo por porque qual
        quais quando quanto quantos que quem se sem ser seu sua são também tem um uma você""",
}
STOP_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split()) for language, words in _LISTS.items()
}
_WORD = re.compile(r"[^\W\d_]+")
_SAMPLED = 4000


def detect_language(text: str, default: str = "en") -> str:
    """The language of which a text's beginning holds the most function words."""
    words = set(_WORD.findall(text[:_SAMPLED].lower()))
    counts = {language: len(words & listed) for language, listed in STOP_WORDS.items()}
    best = max(counts, key=lambda language: (counts[language], language == default))
    # One word more is chance: a table or a list of names has hardly any function words.
    return best if counts[best] > counts[default] + 1 else default


TOKENIZER = "porter unicode61"
WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_REMEMBERED = 200_000
_VERSION = re.compile(r"v(\d+)", re.IGNORECASE)
# Past forms that the dictionary lists as words of their own; the verb is what texts mostly mean.
_PAST_FORMS = {
    "bent": "bend", "bore": "bear", "bound": "bind", "broke": "break", "dove": "dive",
    "felt": "feel", "left": "leave", "rose": "rise", "shot": "shoot", "thought": "think",
    "won": "win",
}  # fmt: skip


def words(text: str) -> list[str]:
    """The words and figures of a text, in lower case."""
    return WORD.findall(text.lower())


def terms(text: str, language: str | None = None) -> list[str]:
    """The terms of a text in order; function words are left out."""
    language = language or detect_language(text)
    stop = STOP_WORDS[language]
    return [term(word, language) for word in words(text) if word not in stop]


@lru_cache(maxsize=_REMEMBERED)
def term(word: str, language: str = "en") -> str:
    return stem(lemma(word, language))


@lru_cache(maxsize=_REMEMBERED)
def lemma(word: str, language: str = "en") -> str:
    """The dictionary form in lower case: `went` is `go`, `Häuser` is `haus`."""
    from simplemma import lemmatize  # its dictionary takes a fifth of a second to load

    if not word.isalpha() or len(word) < 3:
        return word.lower()
    if language == "en" and word.lower() in _PAST_FORMS:
        return _PAST_FORMS[word.lower()]
    found = lemmatize(word, lang=language)
    if language != "en" and word.islower():
        # German nouns are listed with capitals: `haus` is the noun, not a form of `hausen`.
        noun = lemmatize(word.capitalize(), lang=language)
        if found == word or noun == word.capitalize():
            found = noun
    return found.lower()


def is_word(word: str, language: str = "en") -> bool:
    """Whether the dictionary knows the word."""
    from simplemma import is_known

    return is_known(word, lang=language)


@lru_cache(maxsize=_REMEMBERED)
def word_terms(word: str, language: str = "en") -> frozenset[str]:
    """The term of a word as it is written, and those of the words inside it."""
    return frozenset(term(part, language) for part in (word.lower(), *inner_words(word)))


def inner_words(word: str) -> list[str]:
    """The words inside a name such as `maxRetries`, `HTTPServer` or `v2`; none of a plain word."""
    if version := _VERSION.fullmatch(word):
        return ["version", version[1]]
    parts = _CAMEL.split(word)
    return [part.lower() for part in parts] if len(parts) > 1 else []


def extra_forms(text: str) -> str:
    """Forms of a text's words that stemming alone does not reach: `build` for `built`.

    Indexed beside the text, they let a search for one form find the other.
    """
    language = detect_language(text)
    forms = {form for word in set(WORD.findall(text)) for form in _extra_forms(word, language)}
    return " ".join(sorted(forms - STOP_WORDS[language]))


@lru_cache(maxsize=_REMEMBERED)
def _extra_forms(word: str, language: str) -> tuple[str, ...]:
    forms = lemma(word.lower(), language), *inner_words(word)
    return tuple(form for form in forms if stem(form) != stem(word.lower()))


def stem(word: str) -> str:
    """The stem of one word, as the full-text index has it."""
    return _STEMMER.stem(word)


class _Stemmer:
    """Stems by SQLite's tokenizer, in a table kept in memory. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, str] = {}
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.execute(f"CREATE VIRTUAL TABLE one USING fts5(w, tokenize='{TOKENIZER}')")
        self._database.execute("CREATE VIRTUAL TABLE stems USING fts5vocab(one, instance)")

    def stem(self, word: str) -> str:
        known = self._known.get(word)
        if known is None:
            with self._lock:
                known = self._look_up(word)
                if len(self._known) > _REMEMBERED:
                    self._known.clear()
                self._known[word] = known
        return known

    def _look_up(self, word: str) -> str:
        database = self._database
        with database:
            database.execute("DELETE FROM one")
            database.execute("INSERT INTO one VALUES (?)", (word,))
            found = database.execute('SELECT term FROM stems WHERE "offset" = 0').fetchone()
        return str(found[0]) if found else word


_STEMMER = _Stemmer()
