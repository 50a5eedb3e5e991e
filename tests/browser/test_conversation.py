"""People report an image and write to managers, who answer: on a small phone, with nothing in anybody's way."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotation.models import CaptionItem
from annotation.services.feedback import give_feedback
from core.conversation.models import ImageReport, ThreadMessage
from core.conversation.rules import ReportReason
from core.conversation.services import ask_managers, report_image
from tests.annotation.submitting import submit_captions
from tests.browser.annotator import barriers_at, make_images
from tests.browser.conftest import Visit
from tests.browser.desk import Desk, expect_stored
from tests.browser.desk import desk as desk
from tests.browser.desk import writing as writing
from tests.browser.judging import hold_first, make_pairs, sit_down
from tests.factories import make_annotator, make_round

pytestmark = pytest.mark.django_db(transaction=True)
NARROW = 360
CAT = "猫が寝ている"


def what_is_wrong(page: Page) -> list[str]:
    """Look at the page on a small phone, with all that can be opened on it open."""
    page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true")
    return barriers_at(page, NARROW)


def test_a_report_while_a_save_is_on_its_way_comes_after_it(writing: Desk, page: Page) -> None:
    held = hold_first(page, "**/draft/")
    with page.expect_request("**/draft/"):
        page.fill("#text", CAT)
    page.get_by_role("button", name="Report or ask").click()
    assert page.evaluate("document.activeElement.id") == "text", "the keyboard stays up while the save is waited for"
    assert page.url == writing.writing(1)
    page.keyboard.type("。")
    held[0].continue_()
    page.wait_for_url("**/report/captions/**")
    assert (writing.item(1).text[: len(CAT)], writing.item(1).is_autosaved) == (CAT, True)
    assert what_is_wrong(page) == []
    page.get_by_role("link", name="Cancel").click()
    expect(page.locator("#text")).to_have_value(f"{CAT}。")
    expect_stored(page, writing, {1: f"{CAT}。"})
    page.get_by_role("button", name="Report or ask").click()
    page.get_by_label("It cannot be described").check()
    page.get_by_role("button", name="Report and skip").click()
    page.wait_for_url(writing.writing(2))
    expect(page.get_by_text("Reported. Thank you!")).to_be_visible()
    assert ImageReport.objects.get().reason == ReportReason.INDESCRIBABLE


def test_a_text_that_cannot_be_saved_waits_on_the_device_while_its_image_is_asked_about(
    writing: Desk, page: Page
) -> None:
    CaptionItem.objects.filter(pk=writing.item(1).pk).update(text="別の端末", revision=1)
    page.fill("#text", CAT)
    page.get_by_role("button", name="Report or ask").click()
    page.wait_for_url("**/report/captions/**")
    page.get_by_label("Comment or question").fill("Which cat?")
    page.get_by_role("button", name="Only ask").click()
    page.wait_for_url(writing.writing(1))
    page.get_by_role("button", name="Keep mine").click()
    expect_stored(page, writing, {1: CAT})


@pytest.mark.long(reason="the same form from another kind of work")
def test_a_pair_is_reported_and_the_next_one_comes(live_server: Any, page: Page) -> None:
    desk = sit_down(page, make_pairs(), live_server.url, "rae")
    page.get_by_text("Comment (optional)").click()
    page.get_by_label("Comment", exact=True).fill("Both are right.")
    page.get_by_role("button", name="Report or ask").click()
    page.wait_for_url("**/report/pairs/**")
    page.get_by_role("link", name="Cancel").click()
    expect(page.get_by_label("Comment", exact=True)).to_have_value("Both are right.")
    page.get_by_role("button", name="Report or ask").click()
    page.wait_for_url("**/report/pairs/**")
    assert what_is_wrong(page) == []
    page.get_by_label("The image is broken").check()
    page.get_by_role("button", name="Report and skip").click()
    page.wait_for_url(desk.url)
    expect(page.locator("[data-caption]").first).to_be_visible()
    assert ImageReport.objects.get().person == desk.rater


def test_questions_feedback_and_reports_are_answered(visit: Visit) -> None:
    now = timezone.now()
    round = make_round(images=2)
    make_images(round.collection)
    ann, manager, project = make_annotator(round, "ann"), round.project.created_by, round.project
    batch = submit_captions(round, ann, now=now)
    note = give_feedback(round=round, person=ann, text="Say where the cat is.", by=manager, now=now)
    about: dict[str, Any] = {"kind": "captions", "batch_id": batch.pk, "position": 1, "person": ann}
    report_image(**about, reason=ReportReason.BROKEN, comment="Only grey.", now=now)
    ask_managers(project=project, person=ann, text="What is a level?", now=now - timedelta(hours=1))

    asking = visit(ann)
    asking.goto(f"/feedback/{note.pk}/")
    assert what_is_wrong(asking) == []
    asking.get_by_label("Your message").fill("On the chair.")
    asking.get_by_role("button", name="Send").click()
    expect(asking.get_by_text("Sent. You will find the reply")).to_be_visible()
    asking.goto(f"/projects/{project.slug}/messages/")
    expect(asking.get_by_text("On the chair.")).to_be_visible()
    assert what_is_wrong(asking) == []

    answering = visit(manager)
    answering.goto(f"/projects/{project.slug}/inbox/")
    expect(answering.get_by_text("Only grey.")).to_be_visible()
    assert what_is_wrong(answering) == []
    answering.get_by_role("link", name="Reply").first.click()
    assert what_is_wrong(answering) == []
    answering.get_by_label("Your message").fill("Five of them: see the guidelines.")
    answering.get_by_role("button", name="Reply").click()
    expect(answering.get_by_role("link", name="Open")).to_be_visible()

    asking.reload()
    expect(asking.get_by_text("Five of them")).to_be_visible()
    asking.get_by_role("button", name="I have read this").click()
    expect(asking.get_by_role("button", name="I have read this")).to_have_count(0)
    assert ThreadMessage.objects.filter(is_reply=True).count() == 1
