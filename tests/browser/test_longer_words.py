"""Pages of work on a phone, with every message 40% longer: nothing is wider than the screen, and nobody is kept out."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page
from pytest_django.live_server_helper import LiveServer

from annotation.services.batches import submit_batch
from core.people.models import Project, User
from tests.annotation.submitting import take, write
from tests.browser.annotator import barriers, make_images, sign_in
from tests.factories import (
    make_annotator,
    make_comparison,
    make_player,
    make_rater,
    make_round,
    make_season,
)
from tests.pseudo import LANGUAGE
from tests.pseudo import pseudo as pseudo
from tests.recruitment.panel import Panel, make_study
from tests.sxs_eval.judged import take as take_pairs

pytestmark = pytest.mark.django_db(transaction=True)
WIDTH = 390
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def phone(context: BrowserContext, live_server: LiveServer, pseudo: str) -> Page:
    page = context.new_page()
    page.set_viewport_size({"width": WIDTH, "height": 664})
    context.add_cookies([{"name": settings.LANGUAGE_COOKIE_NAME, "value": pseudo, "url": live_server.url}])
    return page


def look(page: Page, address: str) -> None:
    page.goto(address)
    assert page.locator("html").get_attribute("lang") == LANGUAGE
    assert "⟦" in page.inner_text("body")
    assert page.evaluate(WIDER) <= 0, address
    assert barriers(page) == [], address


@pytest.mark.long(reason="axe reads other pages of the same parts")
def test_annotators(phone: Page, live_server: LiveServer, project: Project) -> None:
    round = make_round(project=project, images=4, batch_size=2, language="te")
    make_images(round.collection)
    anna, now = make_annotator(round, "anna"), timezone.now()
    sign_in(phone.context, anna, live_server.url)
    look(phone, f"{live_server.url}{reverse('annotation:work-show')}")
    batch = take(round, anna, now=now)
    look(phone, f"{live_server.url}{reverse('annotation:batch-rate', args=[batch.pk])}")
    write(batch, anna, "పిల్లి", now=now)
    for name, arguments in (
        ("caption-write", [batch.pk, 1]),
        ("batch-review", [batch.pk]),
        ("batch-return", [batch.pk]),
    ):
        look(phone, f"{live_server.url}{reverse(f'annotation:{name}', args=arguments)}")
    submit_batch(batch_id=batch.pk, person=anna, now=now)
    for name, arguments in (
        ("batch-done", [batch.pk]),
        ("history-show", []),
        ("captions-show", []),
        ("feedback-list", []),
    ):
        look(phone, f"{live_server.url}{reverse(f'annotation:{name}', args=arguments)}")
    look(phone, f"{live_server.url}{reverse('people:profile-show')}")


@pytest.mark.long(reason="axe reads other pages of the same parts")
def test_raters_and_players(phone: Page, live_server: LiveServer, project: Project) -> None:
    comparison = make_comparison(project=project, images=3, batch_size=3, language="te")
    make_images(comparison.collection)
    rita, now = make_rater(comparison, "rita"), timezone.now()
    sign_in(phone.context, rita, live_server.url)
    look(phone, f"{live_server.url}{reverse('sxs_eval:work-show')}")
    batch = take_pairs(comparison, rita, now=now)
    look(phone, f"{live_server.url}{reverse('sxs_eval:batch-show', args=[batch.pk])}")
    day = timedelta(days=1)
    season = make_season(project=project, starts_at=now - day, ends_at=now + day)
    player = make_player(season, "paul")
    sign_in(phone.context, User.objects.get(pk=player.user_id), live_server.url)
    for name in ("season-show", "rules-show"):
        look(phone, f"{live_server.url}{reverse(f'gapgame:{name}', args=[season.slug])}")


@pytest.mark.long(reason="axe reads other pages of the same parts")
def test_people_of_a_panel(phone: Page, live_server: LiveServer, project: Project) -> None:
    make_round(project=project, images=2, batch_size=2, language="de")
    panel = Panel(make_study(project))
    look(phone, live_server.url + panel.address("5f1a"))
    phone.get_by_role("radio").first.check()
    for box in phone.get_by_role("checkbox").all():
        box.check()
    phone.locator("main form button").click()
    phone.wait_for_url("**/work/")
    look(phone, phone.url)
    look(phone, f"{live_server.url}{reverse('recruitment:study-finish')}")
    phone.locator("main form button").click()
    phone.get_by_role("heading", level=1).wait_for()
    assert phone.evaluate(WIDER) <= 0
    assert barriers(phone) == []
