"""A batch on screen 2 is written without a network, over a crash of the browser, and goes up in order, once."""

from __future__ import annotations

from collections.abc import Iterator
from errno import ENOSPC
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Dialog, Error, Page, Playwright, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import CaptionBatch, CaptionItem, Stage
from core.conversation.rules import ReportReason
from core.conversation.services import report_image
from core.people.models import User
from tests.browser.annotator import make_images, open_writing, sign_in, take_batch
from tests.browser.network import Network
from tests.browser.phone import WITHIN_MS, Phone, until
from tests.factories import make_annotator, make_round, make_user

pytestmark = pytest.mark.django_db(transaction=True)
IMAGES = 5
ENGLISH = "english caption"
KEPT = """async () => {
    const found = [];
    for (const name of await caches.keys()) {
        const cache = await caches.open(name);
        for (const request of await cache.keys()) found.push([request.url, await (await cache.match(request)).text()]);
    }
    return found;
}"""
PUT_ON_DISK = """([key, kept]) => new Promise((resolve) => {
    indexedDB.open("crosslens", 1).onsuccess = ({ target }) => {
        const writing = target.result.transaction("kept", "readwrite");
        writing.objectStore("kept").put(JSON.stringify(kept), key);
        writing.oncomplete = resolve;
    };
})"""
# A text is shown as kept once it is asked to be written.
CONFIRMED_ON_DISK = """new Promise((resolve) => {
    indexedDB.open("crosslens", 1).onsuccess = ({ target }) => {
        const all = target.result.transaction("kept").objectStore("kept").getAll();
        all.onsuccess = () => resolve(all.result.filter((kept) => JSON.parse(kept).confirms).length);
    };
})"""
# As on a phone that has much else to do after a crash.
SLOW_DISK = """
    const { open } = IDBFactory.prototype;
    IDBFactory.prototype.open = function (...given) {
        const slow = {};
        setTimeout(() => {
            const request = open.apply(this, given);
            request.onupgradeneeded = (event) => slow.onupgradeneeded?.(event);
            request.onsuccess = (event) => slow.onsuccess?.(event);
            Object.defineProperty(slow, "result", { get: () => request.result });
        }, 1500);
        return slow;
    };
"""


@pytest.fixture
def batch(live_server: LiveServer) -> CaptionBatch:
    round = make_round(language="te", images=IMAGES, batch_size=IMAGES, replication=1)
    make_images(round.collection)
    annotator = make_annotator(round, "annotator")
    taken = take_batch(round, annotator)
    open_writing(taken, annotator)
    return taken


@pytest.fixture
def phone(
    playwright: Playwright,
    tmp_path: Path,
    browser_type_launch_args: dict[str, Any],
    live_server: LiveServer,
    batch: CaptionBatch,
) -> Iterator[Phone]:
    network = Network(live_server.url)
    made = Phone(playwright, tmp_path / "profile", browser_type_launch_args["executable_path"], network)
    sign_in(made.context, User.objects.get(username="annotator"), network.address)
    yield made
    made.context.close()


def writing(phone: Phone, batch: CaptionBatch, position: int) -> str:
    return f"{phone.address}/batches/{batch.pk}/write/{position}/"


def texts(batch: CaptionBatch) -> list[str]:
    return list(CaptionItem.objects.filter(batch=batch).order_by("position").values_list("text", flat=True))


def open_first(phone: Phone, batch: CaptionBatch) -> Page:
    page = phone.page
    page.goto(writing(phone, batch, 1))
    expect(page.get_by_text("This batch is on this device")).to_be_visible(timeout=WITHIN_MS)
    # The worker takes over pages that are opened from then on.
    page.reload()
    until(page, "navigator.serviceWorker.controller !== null")
    return page


def test_a_batch_is_written_with_no_network_at_all_and_the_browser_crashes(phone: Phone, batch: CaptionBatch) -> None:
    page = open_first(phone, batch)
    page.evaluate("window.isThePageThatWasOpened = true")
    phone.network.down()
    for position in range(1, 4):
        assert page.url == writing(phone, batch, position)
        page.fill("#text", f"కుర్చీ మీద పిల్లి {position}")
        expect(page.locator("[data-state]").first).to_have_text("Offline, kept on this device")
        expect(page.locator("#zoom-link img"), "the image is kept").not_to_have_js_property("naturalWidth", 0)
        page.get_by_role("button", name="Next image").tap()
        page.wait_for_url(writing(phone, batch, position + 1))
    expect(page.locator(".steps .is-done")).to_have_count(3)
    assert page.evaluate("window.isThePageThatWasOpened && document.activeElement.id") == "text"
    assert texts(batch) == [""] * IMAGES

    until(page, f"{CONFIRMED_ON_DISK}.then((count) => count === 3)")
    phone.kill()
    page = phone.page
    page.goto(writing(phone, batch, 4))
    expect(page.locator(".steps .is-done")).to_have_count(3)
    for position in (4, 5):
        page.fill("#text", f"కుర్చీ మీద పిల్లి {position}")
        expect(page.locator("[data-state]").first).to_have_text("Offline, kept on this device")
        if position < IMAGES:
            page.get_by_role("button", name="Next image").tap()
            page.wait_for_url(writing(phone, batch, position + 1))
    page.get_by_role("button", name="Review all captions").tap()
    expect(page.locator("#status")).to_contain_text("Review them when you have a connection again.")
    # Back to an image that was written: its text is there.
    page.locator(".steps a").nth(1).tap()
    page.wait_for_url(writing(phone, batch, 2))
    expect(page.locator("#text")).to_have_value("కుర్చీ మీద పిల్లి 2")
    assert texts(batch) == [""] * IMAGES

    phone.network.up()
    # A killed browser has forgotten its session.
    sign_in(phone.context, User.objects.get(username="annotator"), phone.address)
    page.reload()
    expect(page.locator("[data-waiting]")).to_be_hidden()
    expect(page.locator("[data-state]").first).to_have_text("Saved")
    until(page, "!Object.keys(localStorage).some((key) => key.startsWith('crosslens.draft/'))")
    assert texts(batch) == [f"కుర్చీ మీద పిల్లి {position}" for position in range(1, 6)]
    assert list(CaptionItem.objects.filter(batch=batch).values_list("revision", flat=True)) == [1] * IMAGES, "once"

    page.get_by_role("button", name="Review all", exact=True).tap()
    page.get_by_role("button", name="Submit").tap()
    page.get_by_role("heading", name="Submitted. Thank you!").wait_for()
    assert CaptionBatch.objects.get(pk=batch.pk).stage == Stage.SUBMITTED
    until(page, "caches.keys().then((names) => names.length === 0)")
    assert page.evaluate("Object.keys(localStorage).filter((key) => /draft|stored/.test(key))") == []


def test_after_a_report_the_pages_on_this_device_are_those_of_the_images_that_are_left(
    phone: Phone, batch: CaptionBatch
) -> None:
    page = open_first(phone, batch)
    about: dict[str, Any] = {"kind": "captions", "batch_id": batch.pk, "position": 2, "person": batch.lease.person}
    report_image(**about, reason=ReportReason.BROKEN, comment="", now=timezone.now())
    page.goto(writing(phone, batch, 1))
    expect(page.get_by_text("This batch is on this device")).to_be_visible()
    kept = [(url, text) for url, text in page.evaluate(KEPT) if "/write/" in url]
    assert {url for url, _text in kept} == {writing(phone, batch, position) for position in (1, 3, 4, 5)}
    assert not any("/write/2/" in text for _url, text in kept)
    page.evaluate("window.isThePageThatWasOpened = true")
    phone.network.down()
    page.fill("#text", "కుర్చీ మీద పిల్లి")
    page.get_by_role("button", name="Next image").tap()
    page.wait_for_url(writing(phone, batch, 3))
    expect(page.locator(".steps a")).to_have_count(IMAGES - 1)
    assert page.evaluate("window.isThePageThatWasOpened")


def test_nothing_of_screen_1_and_nothing_of_another_batch_is_kept(phone: Phone, batch: CaptionBatch) -> None:
    page = open_first(phone, batch)
    kept = page.evaluate(KEPT)
    assert len([url for url, _text in kept if "/write/" in url]) == IMAGES
    assert len([url for url, _text in kept if "/images/" in url]) == IMAGES
    assert not any(ENGLISH in text or "/rate/" in url for url, text in kept)
    other = make_round(language="te", images=2, batch_size=2, replication=1)
    make_images(other.collection)
    annotator = User.objects.get(username="annotator")
    other.project.memberships.create(user=annotator, role="annotator")
    other.project.consent_texts.get().consents.create(user=annotator, given_at=batch.lease.taken_at)
    second = take_batch(other, annotator)
    open_writing(second, annotator)
    page.goto(writing(phone, second, 1))
    expect(page.get_by_text("This batch is on this device")).to_be_visible()
    assert not any(str(batch.pk) in url for url, _text in page.evaluate(KEPT))


def test_signing_out_asks_and_takes_everything_off_the_device(
    phone: Phone, batch: CaptionBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_draft: object) -> None:
        raise OSError(ENOSPC, "no space left")

    page = open_first(phone, batch)
    monkeypatch.setattr("annotation.services.batches.save_draft", full)
    page.fill("#text", "పిల్లి")
    expect(page.locator("[data-state]").first).to_contain_text("no space left")
    asked: list[str] = []

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.accept() if len(asked) > 1 else dialog.dismiss()

    page.on("dialog", answer)
    page.locator(".menu summary").tap()
    page.get_by_role("button", name="Sign out").tap()
    page.wait_for_timeout(300)
    assert asked == ["Captions on this device have not been sent yet. Sign out and delete them from this device?"]
    assert page.url == writing(phone, batch, 1)
    page.get_by_role("button", name="Sign out").tap()
    page.wait_for_url(lambda url: "/write/" not in url)
    assert page.evaluate("caches.keys()") == []
    assert page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('crosslens.'))") == []


def test_the_kept_pages_go_as_soon_as_somebody_else_signs_in(phone: Phone, batch: CaptionBatch) -> None:
    page = open_first(phone, batch)
    unsent = f"crosslens.draft/{User.objects.get(username='annotator').pk}/{batch.pk}/2/0"
    page.evaluate("(key) => localStorage.setItem(key, JSON.stringify({ text: 'పిల్లి', at: Date.now() }))", unsent)
    page.fill("#text", "కుర్చీ")
    expect(page.locator("[data-state]").first).to_have_text("Saved")
    sign_in(phone.context, make_user("next"), phone.address)
    page.goto(f"{phone.address}/")
    until(page, "caches.keys().then((names) => names.length === 0)")
    mine = "Object.keys(localStorage).filter((key) => /draft|stored/.test(key))"
    assert page.evaluate(mine) == [unsent], "its writer can still send it"
    phone.network.down()
    with pytest.raises(Error, match="net::"):
        page.goto(writing(phone, batch, 1))


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_text_that_the_disk_had_not_forgotten_yet_does_not_come_back(phone: Phone, batch: CaptionBatch) -> None:
    """The page is left as soon as the server has the text, and may be gone before the disk is written."""
    page = open_first(phone, batch)
    page.fill("#text", "కుర్చీ")
    expect(page.locator("[data-state]").first).to_have_text("Saved")
    page.fill("#text", "కుర్చీ మీద పిల్లి")
    page.get_by_role("button", name="Next image").tap()
    page.wait_for_url(writing(phone, batch, 2))
    page.evaluate(
        PUT_ON_DISK,
        [
            f"crosslens.draft/{User.objects.get(username='annotator').pk}/{batch.pk}/1/0",
            {"revision": 0, "text": "కుర్", "sent": [], "ms": 0, "at": page.evaluate("Date.now() - 60000")},
        ],
    )
    page.reload()
    until(page, "!Object.keys(localStorage).some((key) => key.startsWith('crosslens.draft/'))")
    expect(page.locator("[data-waiting]")).to_be_hidden()
    page.get_by_role("button", name="Review all", exact=True).tap()
    page.get_by_role("heading", name="Review").wait_for()
    assert texts(batch)[0] == "కుర్చీ మీద పిల్లి"


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_text_that_only_the_disk_has_comes_back_from_a_slow_disk(phone: Phone, batch: CaptionBatch) -> None:
    page = open_first(phone, batch)
    key = f"crosslens.draft/{User.objects.get(username='annotator').pk}/{batch.pk}/1/0"
    kept = {"revision": 0, "text": "కుర్చీ", "sent": [], "ms": 0, "at": page.evaluate("Date.now()")}
    page.evaluate(PUT_ON_DISK, [key, kept])
    page.add_init_script(SLOW_DISK)
    page.reload()
    expect(page.locator("#text")).to_have_value("కుర్చీ")
    expect(page.locator("[data-state]").first).to_have_text("Saved")
    assert texts(batch)[0] == "కుర్చీ"


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_a_text_that_another_device_changed_comes_back_to_be_asked_about(phone: Phone, batch: CaptionBatch) -> None:
    page = open_first(phone, batch)
    phone.network.down()
    page.fill("#text", "ఇక్కడ రాసినది")
    page.get_by_role("button", name="Next image").tap()
    page.wait_for_url(writing(phone, batch, 2))
    CaptionItem.objects.filter(batch=batch, position=1).update(text="వేరే చోట రాసినది", revision=1)
    phone.network.up()
    page.reload()
    page.wait_for_url(writing(phone, batch, 1))
    page.locator("[data-keep=mine]").tap()
    expect(page.locator("[data-state]").first).to_have_text("Saved")
    assert texts(batch)[0] == "ఇక్కడ రాసినది"
