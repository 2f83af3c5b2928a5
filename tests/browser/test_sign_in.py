"""Signing in and out with a real browser, whose rules for cookies decide whether it works."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.console.web.test_hostile_requests import TOKEN
from tests.console.web.test_oidc import Place, Provider
from tests.console.web.test_oidc import place as place
from tests.console.web.test_oidc import provider as provider

from .conftest import Visit, slow_on_a_phone

pytestmark = pytest.mark.timeout(120)


def _is_sound(visit: Visit) -> None:
    assert visit.serious() == []
    assert not visit.overflows()


@slow_on_a_phone
def test_a_person_signs_in_at_another_site_and_out_again(
    visit: Visit, place: Place, provider: Provider
) -> None:
    page = visit.page
    page.goto(place.address)
    _is_sound(visit)
    page.get_by_role("link", name="Sign in with localhost").click()
    expect(page.get_by_role("heading", name="What do you want to know?")).to_be_visible()
    expect(page.get_by_text("anna@example.com")).to_be_visible()
    _is_sound(visit)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    page.get_by_label("Token").fill("not the token")
    page.get_by_role("button", name="Open the console").click()
    expect(page.get_by_role("alert")).to_have_text("This token is not valid.")
    _is_sound(visit)
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Open the console").click()
    expect(page.locator("header")).to_contain_text("console")
    page.get_by_role("button", name="Sign out").click()
    provider.claims = {"groups": ["strangers"]}
    page.get_by_role("link", name="Sign in with localhost").click()
    expect(page.get_by_role("alert")).to_contain_text("is in no group")
