"""What the headings above a text say about what it is."""

from __future__ import annotations

import pytest

from activities.evidence.text.headings import asks_for_changes, heads_release_notes


@pytest.mark.parametrize(
    ("title", "section"),
    [
        ("Release notes", ""),
        ("Changelog", "Bug fixes"),
        ("What's new in Acme 6.0.1", "acme.web"),
        ("History", "Acme 2.7.0 (2022-10-17) › Documentation"),
        ("History", "Version 1.4"),
        ("Notes", "v0.9.2 - 3 May 2021"),
    ],
)
def test_release_notes_are_told_by_their_headings(title: str, section: str) -> None:
    assert heads_release_notes(title, section)


@pytest.mark.parametrize(
    ("title", "section"),
    [
        ("Running Acme", "Behind a load balancer"),
        ("Meeting of 12 March 2024", "Agenda"),
        ("Tariffs", "3.2 Fees for visitors"),
        ("Installing", "Acme 2.0 on a server without network"),
        ("", ""),
    ],
)
def test_other_headings_are_not_taken_for_release_notes(title: str, section: str) -> None:
    assert not heads_release_notes(title, section)


def test_who_asks_what_changed_may_get_release_notes() -> None:
    assert asks_for_changes("What changed in version 3?")
    assert asks_for_changes("Is the flag deprecated?")
    assert not asks_for_changes("How do I create a new project?")
