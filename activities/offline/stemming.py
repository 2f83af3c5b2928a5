"""Porter's stemmer (M. F. Porter, 1980), the one the corpus index uses too.

`stem` takes a lower-case word and gives the root it shares with its other forms; words that are
not plain English letters come back as they are.
"""

from __future__ import annotations

import re
from functools import lru_cache

_CONSONANT = "[^aeiou]"
_VOWEL = "[aeiouy]"
_C = _CONSONANT + "[^aeiouy]*"
_V = _VOWEL + "[aeiou]*"
_MEASURE_ABOVE_0 = re.compile(f"^({_C})?{_V}{_C}")
_MEASURE_IS_1 = re.compile(f"^({_C})?{_V}{_C}({_V})?$")
_MEASURE_ABOVE_1 = re.compile(f"^({_C})?{_V}{_C}{_V}{_C}")
_HAS_VOWEL = re.compile(f"^({_C})?{_VOWEL}")
_ENDS_CVC = re.compile(f"^{_C}{_VOWEL}[^aeiouwxy]$")
_PLAIN = re.compile("^[a-z]{3,}$")

_SECOND = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"),
    ("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"),
    ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"),
    ("logi", "log"),
)  # fmt: skip
_THIRD = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"),
    ("ful", ""), ("ness", ""),
)  # fmt: skip
_FOURTH = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous",
    "ive", "ize", "al", "er", "ic", "ou",
)  # fmt: skip


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """The root of a lower-case word."""
    word = word.replace("’", "'")
    if word.endswith("'s"):
        word = word[:-2]
    word = word.rstrip("'")
    if not _PLAIN.match(word):
        return word
    # A y that opens a word is a consonant; the capital keeps the vowel patterns off it.
    if word[0] == "y":
        word = "Y" + word[1:]
    return _fifth(_fourth(_replace(_replace(_first(word), _SECOND), _THIRD))).lower()


def _first(word: str) -> str:
    """Plurals and past forms."""
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if word.endswith("eed"):
        if _MEASURE_ABOVE_0.match(word[:-3]):
            word = word[:-1]
    else:
        for ending in ("ed", "ing"):
            base = word.removesuffix(ending)
            if base != word and _HAS_VOWEL.match(base):
                word = _mend(base)
                break
    if word.endswith("y") and _HAS_VOWEL.match(word[:-1]):
        word = word[:-1] + "i"
    return word


def _mend(base: str) -> str:
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if re.search(r"([^aeiouylsz])\1$", base):
        return base[:-1]
    return base + "e" if _ENDS_CVC.match(base) else base


def _replace(word: str, endings: tuple[tuple[str, str], ...]) -> str:
    for ending, instead in endings:
        if word.endswith(ending):
            base = word.removesuffix(ending)
            return base + instead if _MEASURE_ABOVE_0.match(base) else word
    return word


def _fourth(word: str) -> str:
    for ending in _FOURTH:
        if word.endswith(ending):
            base = word.removesuffix(ending)
            return base if _MEASURE_ABOVE_1.match(base) else word
    if word.endswith(("sion", "tion")) and _MEASURE_ABOVE_1.match(word[:-3]):
        return word[:-3]
    return word


def _fifth(word: str) -> str:
    if word.endswith("e"):
        base = word[:-1]
        if _MEASURE_ABOVE_1.match(base) or (
            _MEASURE_IS_1.match(base) and not _ENDS_CVC.match(base)
        ):
            word = base
    if word.endswith("ll") and _MEASURE_ABOVE_1.match(word):
        word = word[:-1]
    return word
