"""The page of a practice example in a browser: its image never stands over what is to be read or chosen."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, ViewportSize

from office.practice.models import PracticeKind
from tests.browser.annotator import covered, make_images, sign_in
from tests.factories import make_annotator, make_collection, make_round
from tests.practice.making import make_practice, new_item

pytestmark = pytest.mark.django_db(transaction=True)

LAPTOP: ViewportSize = {"width": 1366, "height": 600}


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_on_a_wide_screen_the_image_stands_over_nothing(page: Page, live_server: Any) -> None:
    round, examples = make_round(), make_collection(3)
    make_images(examples)
    images = [entry.image for entry in examples.entries.select_related("image")]
    items = [new_item(PracticeKind.RATING, number, image=image) for number, image in enumerate(images, start=1)]
    make_practice(round.project, PracticeKind.RATING, items=items)
    sign_in(page.context, make_annotator(round, "amal"), live_server.url)
    page.set_viewport_size(LAPTOP)
    page.goto(f"{live_server.url}/projects/{round.project.slug}/practice/")
    page.locator("main form button.button--primary").click()
    page.locator("main button[value=GOOD]").wait_for()
    assert covered(page, ".levels button, .rate__english") == []
    page.locator("main button[value=GOOD]").click()
    page.locator(".practice__answers").wait_for()
    assert covered(page, ".practice__answers dd, .prose, main .actions a") == []
