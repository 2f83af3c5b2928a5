"""A quote stands in its source letter for letter, marks aside, or it does not stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.evidence.quotes import StoredText, fold, likeness, sketch
from workflows.contracts.evidence import Quote

texts = st.text(alphabet=st.sampled_from("ab c\n\t.é"), min_size=1, max_size=80)


def quote(text: str) -> Quote:
    return Quote(source_id="s", text=text)


@given(texts, st.data())
def test_any_stretch_of_a_text_is_found_where_it_stands(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    if not fold(text[start:end]):
        return
    found = StoredText(text).find(quote(text[start:end]))
    assert found is not None
    assert fold(text[found.start : found.end]) == fold(text[start:end])


def test_letters_and_words_are_never_folded() -> None:
    stored = StoredText("The line\n   break does not matter.")
    assert stored.find(quote("line break  does"))
    assert stored.find(quote("line break Does")) is None
    assert stored.find(quote("line break doesnt")) is None
    assert stored.find(quote("   ")) is None
    assert stored.find(quote("**")) is None


@pytest.mark.parametrize("often", ["Usage:", "“Usage”:"])
def test_of_several_places_the_one_nearest_to_a_position_is_meant(often: str) -> None:
    text = f"{often} the first. Then comes a long text. {often} the second."
    stored, wanted = StoredText(text), quote(often.translate({0x201C: '"', 0x201D: '"'}))
    found = [stored.find(wanted, near) for near in (0, len(text))]
    assert [each and each.start for each in found] == [text.index(often), text.rindex(often)]


AS_MODELS_WRITE = [
    # source, quote, the span that is stored
    ("He said “it’s loud”, twice.", '"it\'s loud"', "“it’s loud”"),
    ("Er sagte „zu laut“ dazu.", '"zu laut" dazu', "„zu laut“ dazu"),
    ("A « rare » case.", "A ' rare ' case.", "A « rare » case."),
    ("From 2019–2024 – a boom.", "2019-2024 - a boom", "2019–2024 – a boom"),
    ("It fell—sharply—in May.", "fell - sharply - in May", "fell—sharply—in May"),
    ("A fall of −3.5 %.", "fall of -3.5 %", "fall of −3.5 %"),
    ("And then… nothing.", "And then... nothing", "And then… nothing"),
    ("And then . . . nothing.", "then… nothing", "then . . . nothing"),
    ("An e\ufb03cient o\ufb03ce.", "efficient office", "e\ufb03cient o\ufb03ce"),
    ("A pro\u00adgramme\u200b of work.", "programme of", "pro\u00adgramme\u200b of"),
    ("The cafe\u0301 opened.", "café opened", "cafe\u0301 opened"),
    ("It is **not** _safe_ yet.", "It is not safe yet", "It is **not** _safe_ yet"),
    ("Be _safe_ _now_.", "safe now", "_safe_ _now_"),
    ("Be _safe_ – or _not_.", "safe - or ", "_safe_ – or"),
    ("A _safe_ – _dry_ place.", "safe - ", "_safe_ – "),
    ("Set `max_fee` to 3.", "Set max_fee to 3", "Set `max_fee` to 3"),
    ("See [the report](https://a.example/x_(y)) now.", "See the report now",
     "See [the report](https://a.example/x_(y)) now"),
    ("## Costs\n\n- It cost 5 EUR.\n- More later.", "It cost 5 EUR. More later.",
     "It cost 5 EUR.\n- More later."),
    ("> **Note**: 67\u00a0% said no.", "Note: 67 % said no", "**Note**: 67\u00a0% said no"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "quoted", "span"), AS_MODELS_WRITE)
def test_typography_and_markup_are_folded_and_the_span_is_the_sources_own(
    source: str, quoted: str, span: str
) -> None:
    found = StoredText(source).find(quote(quoted))
    assert found is not None
    assert found.text == span
    assert source[found.start : found.end] == span


@pytest.mark.parametrize(
    ("source", "quoted"),
    [
        ("Two thirds said noise was no concern.", "noise was a concern"),
        ("It is **not** safe.", "It is safe."),
        ("In 2019–2024 it rose.", "In 20192024 it rose."),
        ("well known", "well-known"),
        ("It cost 3.5 million.", "It cost 35 million."),
        ("re-form", "reform"),
        ("snake_case", "snakecase"),
    ],
)
def test_other_words_are_other_words_whatever_is_folded(source: str, quoted: str) -> None:
    assert StoredText(source).find(quote(quoted)) is None


_PLAIN = str.maketrans({"“": '"', "”": '"', "’": "'", "–": "-", "…": "...", "\u00a0": " "})
_WORDS = st.sampled_from(
    ["plain", "“quoted”", "it’s", "2019–2024", "– aside –", "wait…", "**bold**", "_soft_", "`code`",
     "\ufb01ne", "so\u00adft", "67\u00a0%", "[label](https://a.example/p)", "\n\n", "end."]
)  # fmt: skip


def plainly(text: str) -> str:
    """The words as a model writes them down."""
    for mark in ("**", "`", "\u00ad", "](https://a.example/p)", "["):
        text = text.replace(mark, "")
    return text.replace("_soft_", "soft").replace("\ufb01", "fi").translate(_PLAIN)


@given(st.lists(_WORDS, min_size=1, max_size=30), st.data())
def test_what_a_model_writes_down_plainly_is_found_at_its_place(
    pieces: list[str], data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, len(pieces) - 1))
    last = data.draw(st.integers(first + 1, len(pieces)))
    source, wanted = " ".join(pieces), " ".join(pieces[first:last])
    found = StoredText(source).find(quote(plainly(wanted)))
    if not any(map(str.isalnum, plainly(wanted))):
        return
    assert found is not None
    assert found.start is not None
    assert found.end is not None
    assert fold(plainly(source[found.start : found.end])) in fold(plainly(source))
    words = [word for word in fold(plainly(wanted)).split(" ") if word.isalpha()]
    kept = fold(plainly(source[found.start : found.end]))
    assert all(word in kept for word in words)


def test_copies_are_alike_and_other_texts_are_not() -> None:
    words = [f"word{i}" for i in range(300)]
    story = " ".join(words)
    edited = " ".join([*words[:140], "edited", "a", "little", *words[143:]])
    other = " ".join(f"else{i}" for i in range(300))
    assert likeness(sketch(story), sketch(story)) == 1.0
    assert likeness(sketch(story), sketch(edited)) > 0.8
    assert likeness(sketch(story), sketch(other)) == 0.0
    assert likeness(sketch("too short"), sketch(story)) == 0.0
