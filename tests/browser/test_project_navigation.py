"""The navigation of a project: no barriers at any width, and a button on phones that needs no script."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.annotator import barriers_at
from tests.browser.conftest import Visit
from tests.factories import make_project

pytestmark = pytest.mark.django_db(transaction=True)

SETTINGS = "/projects/lions/settings/"
ADDRESSES = ("/projects/lions/", "/projects/lions/comparisons/", "/projects/lions/people/invitations/new/")


@pytest.fixture
def page(visit: Visit, request: Any) -> Page:
    return visit(make_project("lions").created_by, **{"locale": "en-GB"} | request.param)


def sized(width: int, **options: Any) -> dict[str, Any]:
    return {"viewport": {"width": width, "height": 768}, **options}


@pytest.mark.long(reason="axe reads other pages of the same parts")
@pytest.mark.parametrize("page", [sized(1366), sized(1366, locale="ar")], ids=["en", "ar"], indirect=True)
def test_nobody_is_kept_out_and_nothing_is_wider_than_the_screen(page: Page) -> None:
    link = page.locator(f'#project a[href="{SETTINGS}"]')
    for address in ADDRESSES:
        page.set_viewport_size({"width": 1366, "height": 768})
        page.goto(address)
        expect(link).to_be_visible()
        assert barriers_at(page, 1366, 1000) == [], address
        page.set_viewport_size({"width": 390, "height": 768})
        expect(link).to_be_hidden()
        page.locator(".project-place").click()
        expect(link).to_be_visible()
        assert barriers_at(page, 390) == [], address


@pytest.mark.long(reason="one more way of a page that other tests drive")
@pytest.mark.parametrize("page", [sized(1366)], ids=["wide"], indirect=True)
def test_it_stays_in_its_place_from_page_to_page(page: Page) -> None:
    places = set()
    for address in (*ADDRESSES, SETTINGS):
        page.goto(address)
        box = page.locator("#project").bounding_box()
        assert box is not None
        places.add((box["x"], box["y"], box["width"]))
    assert len(places) == 1


@pytest.mark.parametrize("page", [sized(390, java_script_enabled=False)], ids=["without scripts"], indirect=True)
def test_on_a_phone_a_button_says_where_one_is_and_opens_it(page: Page) -> None:
    page.goto("/projects/lions/comparisons/results/")
    place = page.locator(".project-place")
    expect(place).to_contain_text("Research")
    expect(place).to_contain_text("Results")
    place.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#project")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#project")).to_be_hidden()
    place.click()
    page.locator("#project").get_by_role("link", name="Settings").click()
    page.wait_for_url(f"**{SETTINGS}")
    expect(page.locator(".project-place")).to_contain_text("Project")
