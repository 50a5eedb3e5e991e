"""Choosing images in a browser: start, preview, confirm and exchange, on a telephone and without JavaScript."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from corpora import tasks
from corpora.models import Selection
from people.models import Project
from tests.browser.annotator import sign_in
from tests.corpora.selecting import (
    FRANCE,
    WEST_BENGAL,
    give_table,
    made_places,  # noqa: F401 a fixture
    make_placed_collection,
)
from tests.factories import make_project

pytestmark = [
    pytest.mark.django_db(transaction=True, serialized_rollback=True),
    pytest.mark.usefixtures("made_places"),
]


@pytest.fixture
def project() -> Project:
    project = make_project("lions")
    give_table(project)
    make_placed_collection({FRANCE: 5, WEST_BENGAL: 5})
    return project


def expect_no_wider_than_the_screen(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_images_are_chosen_confirmed_and_exchanged(
    live_server: Any, browser: Browser, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "ask_for_choice", tasks.choose_images)
    context = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844})
    sign_in(context, project.created_by, live_server.url)
    page = context.new_page()
    page.goto(f"{live_server.url}/projects/lions/selections/")
    page.get_by_role("link", name="Choose images").first.click()
    page.get_by_label("Choose from").select_option(index=1)
    page.get_by_role("checkbox", name="French").check()
    page.get_by_role("checkbox", name="Bengali").check()
    page.get_by_label("Images per language").fill("2")
    page.get_by_role("button", name="Show preview").click()

    expect(page.get_by_role("heading", name="Draft")).to_be_visible()
    expect(page.locator(".world__map")).to_be_visible()
    expect_no_wider_than_the_screen(page)
    page.get_by_role("button", name="Confirm selection").click()
    expect(page.get_by_role("link", name="Set up rounds with these images")).to_be_visible()

    page.get_by_role("link", name="All images for French").click()
    page.get_by_role("link", name="Exchange").first.click()
    expect_no_wider_than_the_screen(page)
    page.get_by_label("Reason").fill("Blurred.")
    page.get_by_role("button", name="Exchange image").click()

    expect(page.get_by_text("was exchanged for")).to_be_visible()
    selection = Selection.objects.get()
    exchange = selection.exchanges.get()
    assert selection.collection is not None
    assert selection.collection.entries.filter(key=exchange.added).exists()
    context.close()
