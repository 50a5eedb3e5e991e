"""What tests in WebKit and Firefox share: somebody at a batch, and the steps of it."""

from __future__ import annotations

from annotation.models import CaptionBatch
from core.people.models import User
from tests.browser.annotator import AWAKE, make_images, take_batch
from tests.browser.windows import Window, wait_for
from tests.clients import client_of
from tests.factories import make_annotator, make_round

STATE = "#write [data-state]"


def sign_in(window: Window, user: User, address: str) -> None:
    window.add_cookie(address, "sessionid", client_of(user).cookies["sessionid"].value)


def sit_down(window: Window, address: str, *, images: int, language: str = "te") -> CaptionBatch:
    """Take a batch, of two in the round, as somebody new."""
    round = make_round(images=2 * images, language=language, batch_size=images, replication=1)
    make_images(round.collection)
    annotator = make_annotator(round, "amal")
    sign_in(window, annotator, address)
    return take_batch(round, annotator)


def written(batch: CaptionBatch) -> list[str]:
    return list(batch.items.order_by("position").values_list("text", flat=True))


def start_rating(window: Window) -> None:
    """Read the introduction, which a small screen shows before the first caption."""
    window.click("#start")
    window.wait_for_view("#item-1 [data-english]", "#item-1 .level:last-child")


def rate(window: Window, position: int, level: int) -> None:
    window.click(f"#item-{position} .level:nth-child({level})")
    window.wait_for_text(f"#item-{position} [data-state]", "Saved")
    window.wait_for_element(AWAKE)


def go_on_to_writing(window: Window) -> None:
    window.click("button[name=open]")
    window.click("#confirm [value=open]")


def wait_for_image(window: Window, number: int, *, text: str = "") -> None:
    """Wait for the image of this number and its text, whether or not a page is loaded for it."""
    path = f"/write/{number}/"
    window.wait_for_path(path)
    window.wait_for("return document.querySelector('.steps [aria-current]').pathname.endsWith(arguments[0])", path)
    wait_for(lambda: window.value("#text"), f"“{text}” in the field", until=lambda value: value == text)
