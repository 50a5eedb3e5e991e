"""The palette of search: opened by keys or by the link, used without a mouse."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.annotator import barriers, sign_in
from tests.factories import make_annotator, make_round

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def managed(live_server: Any, page: Page, context: BrowserContext) -> Page:
    round = make_round()
    project = round.project
    project.slug, project.name = "herons", "Herons"
    project.save()
    make_annotator(round, "henry-heron")
    sign_in(context, project.created_by, live_server.url)
    page.goto(f"{live_server.url}/projects/herons/")
    return page


@pytest.mark.parametrize("key", ["Control+k", "Meta+k", "/"])
def test_a_key_opens_it_and_enter_goes_to_what_is_chosen(managed: Page, key: str) -> None:
    managed.keyboard.press(key)
    field = managed.get_by_role("dialog").get_by_role("combobox")
    expect(field).to_be_focused()
    managed.keyboard.type("heron")
    expect(managed.get_by_role("dialog").get_by_role("option")).to_have_count(2)
    expect(managed.get_by_role("dialog").get_by_role("option", selected=True)).to_have_text("Herons")
    managed.keyboard.press("ArrowDown")
    chosen = managed.get_by_role("dialog").get_by_role("option", selected=True)
    expect(chosen).to_contain_text("henry-heron")
    assert field.get_attribute("aria-activedescendant") == chosen.get_attribute("id")
    managed.keyboard.press("Enter")
    managed.wait_for_url("**/annotators/*/")


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_the_link_opens_it_too_and_escape_closes_it(managed: Page) -> None:
    managed.get_by_role("link", name="Search", exact=True).click()
    expect(managed.get_by_role("dialog")).to_be_visible()
    managed.keyboard.type("guide")
    expect(managed.get_by_role("dialog").get_by_role("option")).to_have_text(["Guidelines Work"])
    assert barriers(managed) == []
    managed.keyboard.press("Escape")
    expect(managed.get_by_role("dialog")).to_be_hidden()


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_slash_in_a_field_is_a_slash(managed: Page) -> None:
    field = managed.get_by_label("Find a language")
    field.focus()
    managed.keyboard.type("a/b")
    expect(field).to_have_value("a/b")
    expect(managed.get_by_role("dialog")).to_be_hidden()


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_what_finds_nothing_says_so(managed: Page) -> None:
    managed.keyboard.press("Control+k")
    managed.keyboard.type("zebra")
    expect(managed.get_by_text("Found: 0")).to_be_visible()
    managed.keyboard.press("Enter")
    expect(managed.get_by_text("Nothing has “zebra” in its name.")).to_be_visible()
