"""By touch alone on a phone, in Telugu: from an invitation to a reply to feedback, and as somebody from a panel."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from playwright.sync_api import Page, Playwright, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Caption, Round
from core.people.models import Invitation, Project
from office.practice.models import PracticeKind
from office.recruitment.models import Participant, ParticipantState, Study
from sxs_eval.models import Judgement
from tests.browser.annotator import AWAKE, barriers, make_images
from tests.browser.conftest import Visit
from tests.browser.network import Network
from tests.browser.phone import WITHIN_MS, Phone, until
from tests.factories import make_comparison, make_language, make_round
from tests.people.invitations import link_of, make_invitation, publish
from tests.practice.making import make_practice, new_item
from tests.recruitment.panel import CODES, Panel, make_study

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.long(reason="test_offline.py, tests/practice and tests/recruitment have each part of it"),
]
IMAGES = 15
# One is reported.
WRITTEN = IMAGES - 1
COMMENT, REPLY = "Only grey.", "On the grass."
OFFLINE_FROM = 8
CAPTION = "గడ్డి మీద పరుగెత్తే గోధుమ రంగు కుక్క {number}"


@pytest.fixture
def phone(
    playwright: Playwright, tmp_path: Path, browser_type_launch_args: dict[str, Any], live_server: LiveServer
) -> Iterator[Phone]:
    executable = browser_type_launch_args["executable_path"]
    made = Phone(playwright, tmp_path / "profile", executable, Network(live_server.url), locale="te-IN")
    yield made
    made.context.close()


def arrive(phone: Phone, study: Study, person: str) -> Page:
    page = phone.page
    page.goto(phone.address + Panel(study).address(person))
    expect(page.locator("html")).to_have_attribute("lang", "te")
    assert barriers(page) == []
    page.locator("[name=level-te][value=native]").tap()
    if page.locator("[name=reads_english]").count():
        page.locator("[name=reads_english]").tap()
    page.locator("[name=consent]").tap()
    page.locator("main form button.button--primary").tap()
    page.wait_for_url("**/compare/" if study.role == "rater" else "**/work/")
    return page


def join(phone: Phone, invitation: Invitation) -> Page:
    """Come by the link, with a personal link for an account."""
    page = phone.page
    page.goto(phone.address + link_of(invitation))
    expect(page.locator("html")).to_have_attribute("lang", "te")
    assert barriers(page) == []
    for answer in ("[name=level-te][value=native]", "[name=reads_english]", "[name=consent]"):
        page.locator(answer).tap()
    page.locator("main form button.button--primary").tap()
    page.locator("#link").wait_for()
    page.locator("main .actions a.button--primary").tap()
    page.wait_for_url("**/work/")
    return page


def practise(page: Page, project: Project, answers: list[str]) -> None:
    """Pass the next practice; a caption is written, everything else is tapped."""
    work = page.url
    page.locator(f'main a[href="/projects/{project.slug}/practice/"]').first.tap()
    page.wait_for_url("**/practice/")
    page.locator("main form button.button--primary").first.tap()
    for answer in answers:
        page.locator("main form [name=position]").wait_for(state="attached")
        assert barriers(page) == []
        if page.locator("#answer").count():
            page.locator("#answer").tap()
            page.fill("#answer", answer)
            page.locator("main form button.button--primary").tap()
        else:
            page.locator(f'main button[value="{answer}"]').tap()
        page.locator(".practice__answers").wait_for()
        page.locator("main .actions a").tap()
    page.locator(".notice--success").wait_for()
    assert barriers(page) == []
    page.goto(work)


def finish(page: Page, study: Study) -> str:
    """Select "Finish and return", and return the address that the page leads to."""
    page.goto(page.url.split("/", 3)[0] + "//" + page.url.split("/", 3)[2] + "/study/finish/")
    page.locator("main form button.button--primary").tap()
    link = page.locator(f'main a[href^="{study.done_url.split("?")[0]}"]')
    link.wait_for()
    assert barriers(page) == []
    return link.get_attribute("href") or ""


def test_from_the_invitation_to_the_reply_to_feedback_on_a_slow_network_and_on_none(
    phone: Phone, visit: Visit, record_testsuite_property: Any
) -> None:
    round = make_round(language="te", images=IMAGES, batch_size=IMAGES, replication=1)
    make_images(round.collection)
    make_practice(round.project, PracticeKind.RATING)
    make_practice(round.project, PracticeKind.WRITING)
    publish(round.project, "I agree.")
    page = join(phone, make_invitation(round.project, languages=[round.language]))
    practise(page, round.project, ["GOOD"] * 3)
    practise(page, round.project, [CAPTION.format(number=number) for number in (1, 2, 3)])

    page.locator('form[action$="/take/"] button').tap()
    page.wait_for_url("**/rate/")
    assert barriers(page) == []
    page.locator("#start").tap()
    report(page)
    for item in page.locator(".rate__item").all():
        page.locator(AWAKE).wait_for()
        item.locator('label:has(input[value="GOOD"])').tap()
    expect(page.locator(".rate__item [data-state=saved]")).to_have_count(WRITTEN)
    page.locator(f"{AWAKE} [name=open]").tap()
    page.locator("#confirm button.button--primary").tap()
    page.wait_for_url(re.compile("/write/[0-9]+/$"))
    assert barriers(page) == []
    expect(page.locator("[data-kept]")).to_be_visible(timeout=WITHIN_MS)
    page.reload()
    until(page, "navigator.serviceWorker.controller !== null")
    waits = write_all(phone)
    assert not Caption.objects.exists()
    phone.network.speed_up()
    phone.network.up()
    page.reload()
    expect(page.locator("[data-waiting]")).to_be_hidden()
    page.locator(".write__actions button.button--primary").tap()
    page.wait_for_url("**/review/")
    assert barriers(page) == []
    page.locator('form[action$="/submit/"] button').tap()
    page.wait_for_url("**/done/")
    assert barriers(page) == []
    written = list(Caption.objects.order_by("item__position").values_list("text", flat=True))
    assert written == [CAPTION.format(number=number) for number in range(1, WRITTEN + 1)]

    manager = visit(round.project.created_by, has_touch=True)
    feedback(manager, round)
    page.goto(f"{phone.address}/work/")
    page.locator('main .notice a.button[href="/feedback/"]').tap()
    page.wait_for_url("**/feedback/")
    page.locator("main a.button--primary").tap()
    page.wait_for_url(re.compile("/feedback/[0-9]+/$"))
    assert barriers(page) == []
    page.locator("main details summary").tap()
    page.fill("#reply", REPLY)
    page.locator('form[action$="/reply/"] button').tap()
    page.locator(".notice--success").wait_for()
    manager.goto(f"/projects/{round.project.slug}/inbox/")
    expect(manager.get_by_text(REPLY)).to_be_visible()
    expect(manager.get_by_text(COMMENT)).to_be_visible()
    assert barriers(manager) == []
    record_testsuite_property("seconds to the next image, 800 ms and 6 kB/s", round_of(waits[: OFFLINE_FROM - 1]))
    record_testsuite_property("seconds to the next image, offline", round_of(waits[OFFLINE_FROM:]))


def report(page: Page) -> None:
    """Report the image that is shown on screen 1, and be back there without it."""
    work = page.url
    page.locator(".rate__item:visible [name=report]").tap()
    page.wait_for_url("**/report/captions/**")
    assert barriers(page) == []
    page.locator("[name=reason][value=broken]").tap()
    page.fill("[name=comment]", COMMENT)
    page.locator("main form button.button--primary").tap()
    page.wait_for_url(f"{work}*")
    expect(page.locator(".rate__item")).to_have_count(WRITTEN)


def write_all(phone: Phone) -> list[float]:
    """Write all captions, on a slow network and then on none; returns the seconds until each next image was there."""
    page, waits = phone.page, []
    phone.network.slow_down()
    for number in range(1, WRITTEN + 1):
        if number == OFFLINE_FROM:
            phone.network.down()
        page.locator("#text").tap()
        page.fill("#text", CAPTION.format(number=number))
        left, began = page.url, time.monotonic()
        page.locator(".write__actions button.button--primary").tap()
        if number < WRITTEN:
            expect(page).not_to_have_url(left)
            page.locator("#text").wait_for()
            waits.append(time.monotonic() - began)
    return waits


def feedback(manager: Page, round: Round) -> None:
    manager.goto(f"/projects/{round.project.slug}/rounds/{round.pk}/feedback/")
    manager.get_by_label("To").select_option(index=1)
    manager.locator("[name=text]").fill("Say where the dog runs.")
    manager.get_by_role("button", name="Give feedback").tap()
    manager.locator(".notice--success").wait_for()


def test_a_whole_comparison_in_telugu(phone: Phone) -> None:
    comparison = make_comparison(language="te", images=6, replication=1, batch_size=6)
    make_images(comparison.collection)
    alike = [new_item(PracticeKind.COMPARING, number, answer="similar") for number in (1, 2, 3)]
    make_practice(comparison.project, PracticeKind.COMPARING, items=alike)
    study = make_study(comparison.project, role="rater", languages=[make_language("te")])
    page = arrive(phone, study, "5f1b")
    practise(page, comparison.project, ["0"] * 3)
    page.locator('form[action$="/take/"] button').tap()
    judged = 0
    page.locator("#trial").wait_for()
    assert barriers(page) == []
    while page.locator("#trial").count():
        number = page.locator("[data-number]").inner_text()
        page.locator(AWAKE).wait_for()
        page.locator('.answer[value="2"]').tap()
        expect(page.locator(f"[data-number]:text-is('{number}')")).to_have_count(0)
        judged += 1
    assert barriers(page) == []
    assert judged >= 6
    assert Judgement.objects.filter(choice=2).count() == judged
    assert finish(page, study) == CODES["done_url"]
    assert Participant.objects.get().state == ParticipantState.DONE


def round_of(seconds: list[float]) -> float:
    return round(median(seconds), 2)
