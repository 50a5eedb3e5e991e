"""Choosing images in a browser: start, preview, confirm and exchange, on a telephone and without JavaScript."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from core.people.models import Project
from office.imports.tasks import run_import
from research.selection import tasks
from research.selection.models import Selection
from tests.browser.annotator import barriers, sign_in
from tests.browser.conftest import Visit
from tests.factories import make_project
from tests.selection.selecting import (
    FRANCE,
    WEST_BENGAL,
    give_table,
    made_places,  # noqa: F401 a fixture
    make_placed_collection,
)

pytestmark = [
    pytest.mark.django_db(transaction=True),
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


CANDIDATES = "key,address,latitude,longitude,licence,author,title\n" + "".join(
    f"{place}-{number},https://images.example/{place}-{number}.jpg,{north + number / 50},{east},CC BY 4.0,Ada,Harbour\n"
    for place, (north, east) in {"kolkata": (22.5, 88.3), "lyon": (45.7, 4.8), "delhi": (28.6, 77.2)}.items()
    for number in range(4)
)


@pytest.mark.long(reason="a whole way, whose steps have tests of their own")
def test_a_manager_goes_from_a_file_of_candidates_to_collections_by_language(
    live_server: Any, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the pages of other hosts know of it: nothing, since candidates are links and never images of the page."""
    monkeypatch.setattr(tasks, "ask_for_choice", tasks.choose_images)
    monkeypatch.setattr("office.imports.views.ask_for_stage", run_import)
    project = make_project("lions")
    give_table(project)
    context = browser.new_context(viewport={"width": 1366, "height": 900})
    sign_in(context, project.created_by, live_server.url)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{live_server.url}/projects/lions/import/")
    page.get_by_label("Files", exact=True).set_input_files(
        {"name": "world.csv", "mimeType": "text/csv", "buffer": CANDIDATES.encode()}
    )
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("row", name="world.csv")).to_contain_text("12")
    page.goto(f"{live_server.url}/projects/lions/candidates/")
    page.get_by_role("link", name="Choose images").click()
    page.get_by_role("checkbox", name="French").check()
    page.get_by_role("checkbox", name="Bengali").check()
    page.get_by_label("Images per language").fill("5")
    page.get_by_role("button", name="Show preview").click()

    expect(page.locator(".world__map .world__dot--region").first).to_be_visible()
    expect(page.locator(".world__map .world__dot--country")).to_have_count(1)
    expect(page.get_by_text("Region · Rhône, France").first).to_be_visible()
    original = page.get_by_role("link", name="Look at the original").first
    expect(original).to_have_attribute("rel", "noopener noreferrer nofollow")
    assert barriers(page) == []
    page.get_by_label("Also make one collection per language").check()
    page.get_by_role("button", name="Confirm selection").click()
    expect(page.get_by_role("link", name="Set up rounds for French")).to_be_visible()

    context.add_cookies([{"name": "django_language", "value": "ar", "url": live_server.url}])
    page.set_viewport_size({"width": 390, "height": 844})
    for path in (
        "selections/1/",
        "selections/1/languages/fr/",
        "selections/1/languages/fr/1/exchange/",
        "where-spoken/",
    ):
        page.goto(f"{live_server.url}/projects/lions/{path}")
        expect(page.locator("html")).to_have_attribute("dir", "rtl")
        expect_no_wider_than_the_screen(page)
    assert all(url.startswith(live_server.url) for url in asked)
    selection = Selection.objects.get()
    assert {one.language_id for one in selection.language_collections.all()} == {"bn", "fr"}
    context.close()


@pytest.mark.long(reason="a whole way, whose steps have tests of their own")
def test_images_are_chosen_confirmed_and_exchanged(
    live_server: Any, visit: Visit, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "ask_for_choice", tasks.choose_images)
    page = visit(project.created_by, java_script_enabled=False, viewport={"width": 390, "height": 844})
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
