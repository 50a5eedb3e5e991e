"""The overview of a project in a browser: a campaign in 36 languages by few clicks, everything in sight, live."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, Route, expect

from annotation import tasks
from annotation.models import Round, RoundKind, RoundState
from annotation.services.campaign import LanguageBeginning
from annotation.services.projects import NewRound, add_languages
from core.languages.models import Language
from core.people.models import Project
from tests.browser.annotator import barriers, sign_in
from tests.browser.conftest import Visit
from tests.factories import make_annotator, make_captioner, make_collection, make_language, make_project

pytestmark = pytest.mark.django_db(transaction=True)

MOST_CLICKS = 30
"""For a campaign of all languages, from open pilots to verified main rounds; language by language it took about 470."""


@pytest.fixture(autouse=True)
def _nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks.fill_round, "delay", lambda round_id: None)


def begin(*tags: str) -> Project:
    """A project with a pilot in each of the languages, without its tasks."""
    project, collection = make_project("lions"), make_collection(1)
    add_languages(
        project=project,
        collection=collection,
        captioners=[make_captioner(collection)],
        languages=[NewRound(make_language(tag), 1) for tag in tags],
        batch_size=1,
        lease_s=3600,
        seed=1,
        beginning=LanguageBeginning(pilot_images=1),
        by=project.created_by,
        now=timezone.now(),
    )
    return project


@pytest.fixture
def everywhere() -> Project:
    tags = [*Language.objects.order_by("english_name").values_list("pk", flat=True)][:36]
    assert len(tags) == 36
    return begin(*tags)


class Clicks:
    """Counts what is clicked."""

    def __init__(self, page: Page) -> None:
        self.page, self.number = page, 0

    def on(self, role: Any, name: str) -> None:
        self.page.get_by_role(role, name=re.compile(name)).click()
        self.number += 1


def overview(live_server: Any) -> str:
    return str(live_server.url + reverse("annotation:project-show", args=["lions"]))


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_all_languages_are_chosen_closed_and_their_ratings_opened_in_one_step_each(
    live_server: Any, page: Page, context: BrowserContext
) -> None:
    project = begin("de", "fr", "sw")
    sign_in(context, project.created_by, live_server.url)
    page.goto(overview(live_server))
    clicks = Clicks(page)
    clicks.on("link", "^Choose all shown$")
    expect(page.get_by_text("Chosen: 3")).to_be_visible()
    clicks.on("button", "^Close$")
    expect(page.get_by_role("heading", name="Close: 3 rounds")).to_be_visible()
    clicks.on("button", "^Close: 3 rounds$")
    expect(page.get_by_text("3 rounds are closed.")).to_be_visible()
    # They are still chosen.
    expect(page.get_by_text("Chosen: 3")).to_be_visible()
    clicks.on("button", "^Open$")
    clicks.on("button", "^Open: 3 rounds$")
    expect(page.get_by_text("3 rounds are open.")).to_be_visible()
    assert clicks.number == 5
    assert Round.objects.filter(kind=RoundKind.VERIFICATION, state=RoundState.OPEN).count() == 3


@pytest.mark.long(reason="a whole way, whose steps have tests of their own")
def test_a_campaign_in_36_languages_takes_few_clicks(
    live_server: Any, page: Page, context: BrowserContext, everywhere: Project
) -> None:
    sign_in(context, everywhere.created_by, live_server.url)
    page.goto(overview(live_server))
    clicks = Clicks(page)
    clicks.on("link", "^Choose all shown$")
    # The pilots are open; each is rated, then the main round is written and verified.
    steps = ["Close", "Open", "Close", "Accept", "Open", "Close", "Accept", "Open", "Close", "Accept"]
    for step in steps:
        clicks.on("button", f"^{step}$")
        clicks.on("button", f"^{step}: 36 rounds$")
        expect(page.locator(".notice--success")).to_contain_text("36 rounds are")
    assert clicks.number < MOST_CLICKS
    assert Round.objects.exclude(state=RoundState.ACCEPTED).count() == 0
    expect(page.get_by_text("Everything is decided").first).to_be_visible()


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_36_languages_with_head_and_totals_are_in_sight_at_once(
    live_server: Any, visit: Visit, everywhere: Project
) -> None:
    page = visit(everywhere.created_by, viewport={"width": 1366, "height": 768})
    page.goto(overview(live_server))
    table = page.locator(".room")
    table.evaluate("(one) => one.scrollIntoView()")
    hidden = "(one) => [one.scrollHeight - one.clientHeight, one.scrollWidth - one.clientWidth]"
    assert table.evaluate(hidden) == [0, 0]
    page.set_viewport_size({"width": 1280, "height": 800})
    assert table.evaluate(hidden) == [0, 0]
    assert page.locator(".room__actions").evaluate(hidden) == [0, 0]
    page.set_viewport_size({"width": 1366, "height": 768})
    assert page.locator(".room tbody tr").count() == 36
    last = page.locator(".room tfoot tr").bounding_box()
    assert last is not None
    assert last["y"] + last["height"] <= 768
    page.set_viewport_size({"width": 390, "height": 800})
    table.evaluate("(one) => one.scrollTo(10_000, 10_000)")
    name = page.locator(".room tbody tr").last.locator("th").bounding_box()
    assert name is not None
    assert name["x"] >= 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_what_is_ticked_stays_ticked_while_rows_are_found_and_sorted(
    live_server: Any, page: Page, context: BrowserContext
) -> None:
    project = begin("de", "fr", "sw")
    sign_in(context, project.created_by, live_server.url)
    page.goto(overview(live_server))
    page.get_by_role("checkbox", name="Choose: German").check()
    page.locator("#search").type("ger")
    expect(page.locator(".room tbody tr")).to_have_count(1)
    expect(page.get_by_role("checkbox", name="Choose: German")).to_be_checked()
    page.locator("#search").fill("")
    expect(page.locator(".room tbody tr")).to_have_count(3)
    page.get_by_role("link", name="Done", exact=True).click()
    expect(page.locator("[aria-sort=descending]")).to_contain_text("Done")
    expect(page.get_by_role("checkbox", name="Choose: German")).to_be_checked()
    expect(page.get_by_text("Chosen: 1")).to_be_visible()


def test_what_is_ticked_while_the_numbers_are_asked_for_stays_ticked(
    live_server: Any, page: Page, context: BrowserContext
) -> None:
    project = begin("de", "fr", "sw")
    sign_in(context, project.created_by, live_server.url)
    page.clock.install()
    page.goto(overview(live_server))
    boxes = (page.get_by_role("checkbox", name=f"Choose: {language}") for language in ("German", "French", "Swahili"))
    german, french, swahili = boxes
    german.check()
    french.check()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(re.compile("/progress/"), hold)
    with page.expect_request(re.compile("/progress/")):
        page.clock.fast_forward(10_000)
    french.uncheck()
    swahili.check()
    page.evaluate("document.getElementById('progress').dataset.isOld = ''")
    Round.objects.filter(language="sw").update(state=RoundState.CLOSED)
    held[0].continue_()
    expect(page.locator("#progress[data-is-old]")).to_have_count(0)
    expect(german).to_be_checked()
    expect(french).not_to_be_checked()
    expect(swahili).to_be_checked()
    expect(page.get_by_text("Chosen: 2")).to_be_visible()


@pytest.mark.long(reason="the plain form, which tests without a browser submit")
def test_columns_are_chosen_and_languages_closed_without_scripts(live_server: Any, visit: Visit) -> None:
    project = begin("de", "fr")
    page = visit(project.created_by, java_script_enabled=False)
    page.goto(overview(live_server))
    page.locator("summary", has_text="Columns").click()
    page.get_by_label("Free", exact=True).uncheck()
    page.get_by_role("button", name="Show these columns").click()
    expect(page.get_by_role("link", name="Free", exact=True)).to_have_count(0)
    page.get_by_role("link", name="Choose all shown").click()
    page.get_by_role("button", name="Close", exact=True).click()
    page.get_by_role("button", name="Close: 2 rounds").click()
    expect(page.get_by_text("2 rounds are closed.")).to_be_visible()
    page.get_by_role("link", name="Undo").click()
    page.get_by_role("button", name="Open again: 2 rounds").click()
    expect(page.get_by_text("2 rounds are open again.")).to_be_visible()


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_samples_are_read_in_a_window(live_server: Any, page: Page, context: BrowserContext) -> None:
    project = begin("de")
    make_annotator(Round.objects.get(kind=RoundKind.PILOT))
    sign_in(context, project.created_by, live_server.url)
    page.goto(overview(live_server))
    page.get_by_role("link", name=re.compile("^Samples")).click()
    window = page.get_by_role("dialog")
    expect(window.get_by_text("Nothing has been submitted in this round yet.")).to_be_visible()
    assert barriers(page) == []
    window.get_by_role("button", name="Close").click()
    expect(window).to_be_hidden()
