"""A quote stands in its source letter for letter, or it does not stand."""

from __future__ import annotations

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


def test_white_space_is_folded_and_nothing_else() -> None:
    stored = StoredText("The line\n   break does not matter.")
    assert stored.find(quote("line break  does"))
    assert stored.find(quote("line break Does")) is None
    assert stored.find(quote("line break doesnt")) is None
    assert stored.find(quote("   ")) is None


def test_surroundings_are_cut_at_words() -> None:
    text = "alpha bravo charlie delta echo foxtrot golf"
    stored = StoredText(text)
    found = stored.find(quote("delta"))
    assert found is not None
    assert found.start is not None
    assert found.end is not None
    assert stored.around(found.start, found.end, reach=9) == "charlie delta echo"
    assert stored.around(found.start, found.end, reach=900) == text


def test_copies_are_alike_and_other_texts_are_not() -> None:
    words = [f"word{i}" for i in range(300)]
    story = " ".join(words)
    edited = " ".join([*words[:140], "edited", "a", "little", *words[143:]])
    other = " ".join(f"else{i}" for i in range(300))
    assert likeness(sketch(story), sketch(story)) == 1.0
    assert likeness(sketch(story), sketch(edited)) > 0.8
    assert likeness(sketch(story), sketch(other)) == 0.0
    assert likeness(sketch("too short"), sketch(story)) == 0.0
