"""Rating other people's captions in a browser: keys, saving at once, handing in, and all of it without scripts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import VerificationBatch
from annotation.services import figures
from annotation.services import verification as services
from core.people.models import User
from tests.annotation.test_quality_table import OPINIONS, rated_round
from tests.annotation.verifying import make_captioned_round, make_reviewer, make_verification
from tests.browser.annotator import barriers, make_images, sign_in, source_of
from tests.browser.conftest import Visit

pytestmark = pytest.mark.django_db(transaction=True)

LEVELS = ["EXCELLENT", "GOOD", "MEDIUM", "NOT-ENOUGH-INFO"]


@dataclass
class Desk:
    address: str
    rater: User
    batch: VerificationBatch

    @property
    def ratings(self) -> list[str]:
        return list(self.batch.verdicts.values_list("rating", flat=True))


@pytest.fixture
def desk(live_server: Any, context: BrowserContext) -> Desk:
    verified, _ = make_captioned_round(images=4, captions=1, language="ar")
    make_images(verified.collection)
    round = make_verification(verified)
    rater = make_reviewer(round, "rae")
    sign_in(context, rater, live_server.url)
    batch = services.take_batch(round=round, person=rater, now=timezone.now(), rng=Random(1))
    assert batch is not None
    return Desk(f"{live_server.url}/ratings/{batch.pk}/", rater, batch)


def test_one_key_a_caption_then_a_reload_then_submitting(desk: Desk, page: Page) -> None:
    page.goto(desk.address)
    assert barriers(page) == []
    expect(page.locator("#item-1 [data-english]")).to_have_attribute("dir", "rtl")
    page.wait_for_timeout(1200)
    page.keyboard.press("1")
    expect(page.locator("#item-2")).to_have_class(re.compile("is-current"))
    page.keyboard.press("2")
    expect(page.locator("#item-2 [data-state]")).to_have_text(re.compile("Saved"))
    page.reload()
    expect(page.locator("[data-rated-count]")).to_have_text("2")
    page.keyboard.press("3")
    expect(page.locator("#item-4")).to_have_class(re.compile("is-current"))
    page.keyboard.press("5")
    expect(page.locator("#item-4 [data-state]")).to_have_text(re.compile("Saved"))
    assert desk.ratings == LEVELS
    assert desk.batch.verdicts.get(position=1).rating_ms > 0

    page.get_by_role("button", name="Submit").first.click()
    expect(page.locator("#confirm")).to_be_visible()
    page.locator("#confirm [value=open]").click()

    page.wait_for_url(f"{desk.address}done/")
    assert barriers(page) == []
    page.go_back()
    assert "Satz" not in source_of(page)


@pytest.mark.long(reason="the plain form, which tests without a browser submit")
def test_without_scripts_a_plain_form_does_the_same(desk: Desk, visit: Visit) -> None:
    page = visit(desk.rater, java_script_enabled=False)
    page.goto(desk.address)
    page.locator("input[name=rating-1][value=EXCELLENT]").check()
    page.get_by_role("button", name="Save ratings").click()
    assert desk.ratings == ["EXCELLENT", "", "", ""]
    for position, level in enumerate(LEVELS, start=1):
        page.locator(f"input[name=rating-{position}][value={level}]").check()
    page.get_by_role("button", name="Submit").first.click()
    assert desk.ratings == LEVELS
    assert page.url == f"{desk.address}done/"


@pytest.mark.long(reason="axe reads other pages of the same parts")
def test_the_quality_pages_have_no_barriers_and_the_table_goes_on_by_itself(
    live_server: Any, context: BrowserContext, page: Page
) -> None:
    round, _ = rated_round(*OPINIONS)
    manager = round.project.created_by
    assert manager is not None
    sign_in(context, manager, live_server.url)
    page.goto(f"{live_server.url}/projects/{round.project.slug}/quality/")
    expect(page.locator("#quality")).to_contain_text("0 of 0")
    assert barriers(page) == []

    figures.compute(round_id=round.pk, now=timezone.now())

    expect(page.locator("#quality")).to_contain_text("5 of 5", timeout=15_000)
    page.get_by_role("link", name=re.compile("^Details")).click()
    expect(page.get_by_role("heading", name="Each reviewer compared with the others")).to_be_visible()
    assert barriers(page) == []
