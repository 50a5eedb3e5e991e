"""Captions are changed where they stand on the review: saved as on screen 2, and sent before the batch is."""

from __future__ import annotations

import re
from errno import ENOSPC

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

from annotation.models import CaptionBatch, CaptionItem, Stage
from annotation.services import batches
from core.people.models import Session
from tests.browser.annotator import barriers, open_writing, sign_in, source_of
from tests.browser.desk import ENGLISH, SAVED, Desk, state
from tests.browser.desk import desk as desk
from tests.clients import client_of

pytestmark = pytest.mark.django_db(transaction=True)
CAT = "猫が寝ている"
LONGER = "窓辺で猫が寝ている"


@pytest.fixture
def reviewing(desk: Desk, page: Page) -> Desk:
    """At the review, with a caption for each image but the last."""
    open_writing(desk.batch, desk.annotator)
    for position in (1, 2, 3):
        CaptionItem.objects.filter(batch=desk.batch, position=position).update(text=f"{CAT}{position}", revision=1)
    page.goto(address(desk))
    return desk


def address(desk: Desk) -> str:
    return f"{desk.address}/batches/{desk.batch.pk}/review/"


def card(page: Page, position: int) -> Locator:
    return page.locator(f"#captions > [data-position='{position}']")


def change(page: Page, position: int, text: str) -> None:
    link = "Write" if position == 4 else "Change"
    card(page, position).get_by_role("link", name=re.compile(link)).click()
    expect(page.locator("#text")).to_be_focused()
    page.fill("#text", text)


def submit(page: Page) -> Locator:
    return page.locator("#submit button")


def stage(desk: Desk) -> str:
    return CaptionBatch.objects.get(pk=desk.batch.pk).stage


def test_what_is_missing_is_written_there_and_the_batch_can_be_submitted(reviewing: Desk, page: Page) -> None:
    missing = page.get_by_role("alert").filter(has_text="These cannot be submitted yet")
    expect(missing.get_by_role("link")).to_have_text(["Image 4"])
    expect(submit(page)).to_be_disabled()
    missing.get_by_role("link").click()
    expect(page.locator("#text")).to_be_focused()
    expect(card(page, 4).locator(".errors")).to_have_text("This is empty. Write a caption.")
    page.keyboard.type("猫")
    expect(card(page, 4).locator(".errors")).to_have_count(0)
    expect(state(page)).to_have_text(SAVED)
    expect(card(page, 4).locator("[data-warnings] li")).to_have_count(1)
    expect(missing).to_be_hidden()
    expect(submit(page)).to_be_enabled()
    assert barriers(page) == []
    page.keyboard.type("が寝ている")
    page.keyboard.press("Enter")
    expect(page.locator("#text")).to_have_count(0)
    expect(card(page, 4).locator(".caption")).to_have_text(CAT)
    expect(card(page, 4).locator("[data-warnings] li")).to_have_count(0)
    expect(card(page, 4).get_by_role("link", name=re.compile("Change.*Image 4"))).to_be_focused()
    assert (reviewing.item(4).text, page.url) == (CAT, address(reviewing))
    assert ENGLISH not in source_of(page)
    submit(page).click()
    page.get_by_role("heading", name="Submitted. Thank you!").wait_for()


def test_half_a_sentence_is_no_caption_until_its_writer_confirms_it(
    reviewing: Desk, page: Page, context: BrowserContext
) -> None:
    page.goto(reviewing.writing(4))
    page.fill("#text", CAT)
    expect(state(page)).to_have_text(SAVED)
    expect(page.locator("[data-written-count]")).to_have_text("3")
    page.close()

    later = context.new_page()
    later.goto(f"{reviewing.address}/batches/{reviewing.batch.pk}/")
    assert later.url == reviewing.writing(4)
    later.locator(".steps a").first.click()
    expect(later.locator("#text")).to_have_value(f"{CAT}1")
    later.goto(address(reviewing))
    unconfirmed = later.locator("#unconfirmed")
    expect(unconfirmed.get_by_role("link")).to_have_text(["Image 4"])
    expect(submit(later)).to_be_disabled()
    assert barriers(later) == []
    unconfirmed.get_by_role("button").click()
    expect(unconfirmed).to_be_hidden()
    change(later, 2, LONGER)
    expect(state(later)).to_have_text(SAVED)
    later.keyboard.press("Enter")
    expect(later.locator("#text")).to_have_count(0)
    expect(unconfirmed).to_be_hidden()
    submit(later).click()
    later.get_by_role("heading", name="Submitted. Thank you!").wait_for()


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_caption_that_is_emptied_stops_the_batch_until_it_is_written_again(reviewing: Desk, page: Page) -> None:
    change(page, 4, CAT)
    expect(submit(page)).to_be_enabled()
    change(page, 2, "")
    page.get_by_role("button", name="Save").click()
    expect(card(page, 2).locator(".errors")).to_have_text("This is empty. Write a caption.")
    expect(page.locator("#missing").get_by_role("link")).to_have_text(["Image 2"])
    expect(submit(page)).to_be_disabled()
    page.reload()
    expect(card(page, 2).locator(".errors")).to_have_text("This is empty. Write a caption.")
    card(page, 2).get_by_role("link", name=re.compile("Write.*Image 2")).click()
    page.keyboard.type(LONGER)
    expect(submit(page)).to_be_enabled()


def test_what_is_typed_while_a_caption_is_being_saved_is_saved_too(reviewing: Desk, page: Page) -> None:
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        waiting.append(route)

    page.route("**/draft/", hold, times=1)
    change(page, 2, LONGER)
    with page.expect_request("**/draft/"):
        page.keyboard.press("Enter")
    page.keyboard.type("!")
    (held,) = waiting
    held.continue_()
    expect(card(page, 2).locator(".caption")).to_have_text(f"{LONGER}!")
    assert reviewing.item(2).text == f"{LONGER}!"


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_what_is_still_typed_is_sent_before_the_batch(reviewing: Desk, page: Page) -> None:
    change(page, 4, CAT)
    expect(submit(page)).to_be_enabled()
    change(page, 2, LONGER)
    submit(page).click()
    page.get_by_role("heading", name="Submitted. Thank you!").wait_for()
    assert reviewing.item(2).caption.text == LONGER
    assert reviewing.item(4).caption.text == CAT
    assert 0 < reviewing.item(2).writing_ms < 30_000


@pytest.mark.parametrize(("choice", "kept"), [("Keep mine", LONGER), ("Use the saved text", "別の猫")])
def test_a_text_changed_elsewhere_is_asked_about_there(reviewing: Desk, page: Page, choice: str, kept: str) -> None:
    change(page, 4, CAT)
    expect(state(page)).to_have_text(SAVED)
    CaptionItem.objects.filter(pk=reviewing.item(2).pk).update(text="別の猫", revision=2)
    change(page, 2, LONGER)
    submit(page).click()
    expect(page.locator("[data-conflict]")).to_contain_text("別の猫")
    card(page, 1).get_by_role("link").last.click()
    page.wait_for_timeout(300)
    expect(card(page, 2).locator("#text")).to_have_value(LONGER)
    assert stage(reviewing) == Stage.WRITE
    page.get_by_role("button", name=choice).click()
    expect(state(page)).to_have_text(SAVED)
    submit(page).click()
    page.get_by_role("heading", name="Submitted. Thank you!").wait_for()
    assert reviewing.item(2).caption.text == kept


def test_without_a_network_texts_stay_on_the_device_and_go_up_later(
    reviewing: Desk, page: Page, context: BrowserContext
) -> None:
    context.set_offline(True)
    change(page, 4, CAT)
    expect(state(page)).to_have_text("Offline, kept on this device")
    change(page, 2, LONGER)
    expect(state(page)).to_have_text("Offline, kept on this device")
    expect(card(page, 4).locator(".caption")).to_have_text(CAT)
    expect(page.locator("#missing")).to_be_hidden()
    submit(page).click()
    expect(page.get_by_text("Submit them when you have a connection again.").first).to_be_visible()
    expect(page.locator("[data-waiting] b")).to_have_text("2")
    assert (reviewing.item(2).text, reviewing.item(4).text) == (f"{CAT}2", "")
    page.close()
    context.set_offline(False)

    later = context.new_page()
    later.goto(address(reviewing))
    expect(card(later, 4).locator(".caption")).to_have_text(CAT)
    expect(card(later, 2).locator(".caption")).to_have_text(LONGER)
    expect(later.locator("[data-waiting]")).to_be_hidden()
    expect(submit(later)).to_be_enabled()
    for _attempt in range(50):
        revisions = [reviewing.item(position).revision for position in (1, 2, 3, 4)]
        if revisions == [1, 2, 1, 1]:
            break
        later.wait_for_timeout(200)
    assert revisions == [1, 2, 1, 1]
    context.set_offline(True)
    change(later, 3, LONGER)
    expect(state(later)).to_have_text("Offline, kept on this device")
    context.set_offline(False)
    expect(state(later)).to_have_text(SAVED)
    submit(later).click()
    later.get_by_role("heading", name="Submitted. Thank you!").wait_for()
    assert reviewing.item(3).caption.text == LONGER


def test_what_the_server_refuses_stays_and_is_not_submitted(
    reviewing: Desk, page: Page, context: BrowserContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(page, 4, "猫" * 10_001)
    expect(state(page)).to_contain_text("far too long")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#text")).to_be_focused()
    page.fill("#text", CAT)
    expect(state(page)).to_have_text(SAVED)

    def full(**_draft: object) -> None:
        raise OSError(ENOSPC, "no space left")

    with monkeypatch.context() as patch:
        patch.setattr(batches, "save_draft", full)
        page.fill("#text", LONGER)
        expect(state(page)).to_contain_text("no space left")
    expect(state(page)).to_have_text(SAVED)
    Session.objects.all().delete()
    page.fill("#text", f"{LONGER}二")
    expect(state(page).get_by_role("link")).to_have_attribute("href", re.compile("/accounts/login/.*next=.*review"))
    submit(page).click()
    page.wait_for_timeout(300)
    assert page.url == address(reviewing)
    sign_in(context, reviewing.annotator, reviewing.address)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(state(page)).to_have_text(SAVED)
    assert reviewing.item(4).text == f"{LONGER}二"


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_copy_that_is_written_anew_is_no_longer_one(reviewing: Desk, page: Page) -> None:
    english = reviewing.item(3).english.text
    CaptionItem.objects.filter(pk=reviewing.item(3).pk).update(text=english)
    CaptionItem.objects.filter(pk=reviewing.item(4).pk).update(text=CAT, revision=1)
    page.reload()
    submit(page).click()
    expect(page.locator("#copied").get_by_role("link")).to_have_text(["Image 3"])
    expect(submit(page)).to_have_text("Submit as they are")
    page.locator("#copied").get_by_role("link").click()
    page.fill("#text", LONGER)
    expect(page.locator("#copied")).to_be_hidden()
    expect(submit(page)).to_have_text("Submit")
    submit(page).click()
    page.get_by_role("heading", name="Submitted. Thank you!").wait_for()
    assert reviewing.item(3).caption.text == LONGER


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_the_image_beside_the_field_opens_large(reviewing: Desk, page: Page) -> None:
    change(page, 2, LONGER)
    card(page, 2).locator("[data-enlarge]").click()
    expect(page.locator("#zoom")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#text")).to_have_value(LONGER)


@pytest.mark.long(reason="the plain form, which tests without a browser submit")
def test_without_scripts_the_links_lead_to_the_images(reviewing: Desk) -> None:
    shown = client_of(reviewing.annotator).get(f"/batches/{reviewing.batch.pk}/review/").content.decode()
    assert f'href="/batches/{reviewing.batch.pk}/write/4/"' in shown
    assert "disabled" in shown
