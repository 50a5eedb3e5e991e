"""Spot checks in a browser: by keys alone, without scripts, on a phone; a caption written anew outlives its page."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, Route, expect

from annotation.models import Caption, CorrectionRequest, Feedback, Rating, Round, SpotCheck
from annotation.selectors import checks as selectors
from annotation.services import corrections
from annotation.services.feedback import give_feedback
from core.people.models import User
from tests.annotation.submitting import submit_captions
from tests.browser.annotator import barriers, make_images, sign_in, too_narrow
from tests.browser.conftest import Visit
from tests.factories import make_annotator, make_captioner, make_collection, make_round

pytestmark = pytest.mark.django_db(transaction=True)

TEXT = "قاربان صغيران على شاطئ رملي تحت سماء رمادية، وخلفهما بيوت بيضاء"


@pytest.fixture
def round() -> Round:
    """Three images described in Arabic by two people."""
    collection = make_collection(images=3)
    make_images(collection)
    made = make_round(collection=collection, captioners=[make_captioner(collection)], language="ar")
    for name in ("ann", "bea"):
        submit_captions(made, make_annotator(made, name), TEXT, now=timezone.now())
    return made


def address(live_server: Any, round: Round) -> str:
    return str(live_server.url + reverse("annotation:check-show", args=[round.project.slug, "ar"]))


@pytest.fixture
def checks(live_server: Any, page: Page, context: BrowserContext, round: Round) -> Page:
    """The page at which the manager checks the round."""
    sign_in(context, round.project.created_by, live_server.url)
    # Turned on only after the page has come, `page.route` sometimes misses what a script sends right after.
    page.route("**/an-address-that-nothing-has", lambda route: route.continue_())
    page.goto(address(live_server, round))
    expect(page.locator(".check__row.is-current")).to_have_count(1)
    # Chromium drops the keys that come before the first paint.
    page.wait_for_function("performance.getEntriesByType('paint').length > 0")
    return page


def press_and_hold(page: Page, key: str, times: int | None = None, address: str = "**/check/") -> Route:
    """Press a key, and keep what it sends from the server until the test lets it go."""
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        waiting.append(route)

    page.route(address, hold, times=times)
    page.keyboard.press(key)
    expect(page.locator(".htmx-request")).not_to_have_count(0)
    for _ in range(1000):
        if waiting:
            break
        page.wait_for_timeout(20)
    return waiting[0]


def test_a_round_is_gone_through_with_the_keyboard_alone(
    live_server: Any, page: Page, context: BrowserContext, round: Round, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "IMAGES_AT_ONCE", 2)
    sign_in(context, round.project.created_by, live_server.url)
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(address(live_server, round))
    current = page.locator(".check__row.is-current")
    captions = list(Caption.objects.order_by("image", "author__username"))
    expect(current).to_have_attribute("id", f"caption-{captions[0].pk}")

    page.keyboard.press("r")
    expect(current.get_by_role("button", name="right")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("3")
    expect(current.get_by_role("button", name=str(Rating.MEDIUM.label))).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("j")
    expect(current).to_have_attribute("id", f"caption-{captions[1].pk}")
    expect(current).to_be_focused()
    page.keyboard.press("f")
    page.keyboard.type("jkrw: the colours, please.")
    page.keyboard.press("Control+Enter")
    expect(current.get_by_text("Feedback sent. They will see it before their next batch.")).to_be_visible()
    expect(page.locator(".htmx-request, .htmx-swapping, .htmx-settling")).to_have_count(0)
    page.keyboard.press("b")
    page.keyboard.press("Control+Enter")
    expect(current.get_by_role("alert")).to_have_text("Write your feedback first.")
    page.keyboard.type("Which boats?")
    page.keyboard.press("Control+Enter")
    expect(current.get_by_text("returned for correction", exact=True)).to_be_visible()
    page.keyboard.press("k")
    page.keyboard.press("w")
    expect(current.get_by_role("button", name="wrong")).to_have_attribute("aria-pressed", "true")
    assert barriers(page) == []
    for _ in range(4):
        page.keyboard.press("j")
    page.wait_for_url("**after=*")
    expect(page.locator(".check__image")).to_have_count(1)

    check = SpotCheck.objects.get()
    assert (check.caption, check.is_rating_right, check.level) == (captions[0], False, "MEDIUM")
    assert Feedback.objects.get().text == "jkrw: the colours, please."
    assert CorrectionRequest.objects.get().caption == captions[1]
    assert said == []


@pytest.mark.long(reason="the plain form, which tests without a browser submit")
def test_without_javascript_it_is_all_there_and_nothing_is_wider_than_the_screen(
    live_server: Any, visit: Visit, round: Round
) -> None:
    page = visit(round.project.created_by, java_script_enabled=False)
    page.goto(address(live_server, round))
    assert too_narrow(page, 1366, 390) == []
    page.get_by_label("Annotator").select_option(label="bea")
    page.get_by_role("button", name="Show").click()
    row = page.locator("[data-row]").first
    row.get_by_role("button", name="Excellent").click()
    expect(page.get_by_role("button", name="Excellent", pressed=True)).to_have_count(1)
    assert "annotator=" in page.url
    row.get_by_text("Return for correction").first.click()
    row.get_by_label("Return for correction").fill("Which boats?")
    row.get_by_role("button", name="Return for correction").click()
    expect(page.get_by_text("The caption was returned to its author for correction.")).to_be_visible()
    assert too_narrow(page, 1366, 390) == []
    assert SpotCheck.objects.get().level == "EXCELLENT"


@pytest.mark.parametrize("first", ["", "j"], ids=["the same caption", "the next caption"])
def test_what_is_being_written_is_left_alone_by_an_answer_that_comes_late(checks: Page, first: str) -> None:
    page, rows = checks, checks.locator(".check__row")
    sent = press_and_hold(page, "3")
    for key in (*first, "f"):
        page.keyboard.press(key)
    page.keyboard.type("Which bo")
    sent.continue_()
    expect(rows.first.get_by_role("button", name=str(Rating.MEDIUM.label))).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".htmx-request, .htmx-swapping, .htmx-settling")).to_have_count(0)
    page.keyboard.type("ats?")
    expect(page.locator(".is-current details[data-doing=f] textarea")).to_have_value("Which boats?")


def test_what_is_written_after_it_was_sent_stays(checks: Page) -> None:
    page = checks
    page.keyboard.press("f")
    page.keyboard.type("Which boats?")
    sent = press_and_hold(page, "Control+Enter", address="**/feedback/")
    page.keyboard.type(" And where?")
    sent.continue_()
    expect(page.get_by_text("Feedback sent. They will see it before their next batch.")).to_be_visible()
    expect(page.locator(".is-current details[data-doing=f] textarea")).to_have_value("Which boats? And where?")
    assert [feedback.text for feedback in Feedback.objects.all()] == ["Which boats?"]


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_keys_faster_than_the_answers_are_all_sent_once_and_in_turn(checks: Page) -> None:
    page = checks
    sent = press_and_hold(page, "r", times=1)
    page.keyboard.press("1")
    page.keyboard.press("2")
    page.keyboard.press("f")
    page.keyboard.type("Which boats?")
    page.keyboard.press("Control+Enter")
    page.keyboard.press("Control+Enter")
    sent.continue_()
    row = page.locator(".check__row").first
    expect(row.get_by_text("Feedback sent. They will see it before their next batch.")).to_be_visible()
    expect(row.get_by_role("button", name="Good")).to_have_attribute("aria-pressed", "true")
    expect(row.get_by_role("button", name="right")).to_have_attribute("aria-pressed", "true")
    assert [feedback.text for feedback in Feedback.objects.all()] == ["Which boats?"]


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_who_checks_is_told_what_was_not_saved(checks: Page) -> None:
    page, row = checks, checks.locator(".check__row").first
    page.route("**/check/", lambda route: route.fulfill(status=507, body="full"), times=1)
    page.route("**/check/", lambda route: route.abort(), times=1)
    for _ in range(2):
        page.keyboard.press("3")
        expect(row.get_by_text("Not saved. Try again in a moment.")).to_be_visible()
    page.keyboard.press("3")
    expect(row.get_by_role("button", name=str(Rating.MEDIUM.label))).to_have_attribute("aria-pressed", "true")
    expect(row.get_by_text("Not saved.")).to_have_count(0)


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_caption_written_anew_outlives_a_page_that_was_closed(
    live_server: Any, page: Page, context: BrowserContext, round: Round
) -> None:
    caption, now = Caption.objects.filter(author__username="ann").order_by("pk").first(), timezone.now()
    assert caption is not None
    ann, by = User.objects.get(username="ann"), round.project.created_by
    corrections.return_for_correction(caption_id=caption.pk, note="Which boats?", by=by, now=now)
    give_feedback(round=round, person=ann, text="Name the colours.", caption=caption, by=by, now=now)
    sign_in(context, ann, live_server.url)
    page.goto(f"{live_server.url}{reverse('annotation:work-show')}")
    assert barriers(page) == []
    page.get_by_role("link", name="Read the feedback").first.click()
    page.get_by_role("link", name="Read the feedback").click()
    expect(page.get_by_text("Name the colours.")).to_be_visible()
    assert barriers(page) == []
    page.get_by_role("button", name="I have read this").click()
    page.locator(f"a[href='{reverse('annotation:caption-rewrite', args=[caption.pk])}']").click()
    page.get_by_label("Caption in").fill(f"{TEXT} والبحر")
    assert barriers(page) == []
    page.wait_for_load_state()
    page.close()

    page = context.new_page()
    page.goto(f"{live_server.url}{reverse('annotation:caption-rewrite', args=[caption.pk])}")
    expect(page.get_by_label("Caption in")).to_have_value(f"{TEXT} والبحر")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text("Your new caption was submitted.")).to_be_visible()
    caption.refresh_from_db()
    assert caption.text == f"{TEXT} والبحر"
