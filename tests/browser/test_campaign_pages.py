"""The pages of a language's campaign: no barriers, wide and narrow, from right to left, and without scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotation import tasks
from annotation.models import GuidelineExample, Rating, Round
from annotation.services import annotator_status, planning
from annotation.services.campaign import LanguageBeginning
from annotation.services.projects import publish_guidelines
from core.people.models import User
from tests.annotation.submitting import begin_language, submit_captions, take
from tests.browser.annotator import check_all, make_images
from tests.browser.conftest import Visit
from tests.factories import make_annotator, make_collection, make_language, make_project

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def pilot(media: Path, monkeypatch: pytest.MonkeyPatch) -> Round:
    """One batch of it is handed in, and one is in hand."""
    monkeypatch.setattr(tasks.fill_round, "delay", lambda round_id: None)
    collection, project, now = make_collection(6), make_project("postcards"), timezone.now()
    make_images(collection)
    about: dict[str, Any] = {
        "replication": 2,
        "lease_s": 36_000,
        "beginning": LanguageBeginning(pilot_images=4),
        "now": now,
    }
    first = begin_language(project, collection, **about)
    mina = make_annotator(first, "mina")
    submit_captions(first, mina, now=now)
    take(first, mina, now=now)
    annotator_status.qualify(
        project=project, person=mina, language=first.language, by=project.created_by, now=now, reason="Careful."
    )
    image, english = collection.entries.first().image, make_language("en")
    boats = GuidelineExample(image=image, language=english, caption="Two boats.", level=Rating.GOOD, why="Both.")
    publish_guidelines(
        project=project,
        rating="Choose **one** level.\n",
        writing="Write two sentences.\n",
        note="Two sentences now.",
        examples=[boats],
        by=project.created_by,
        now=now,
    )
    return first


@pytest.fixture
def addresses(pilot: Round) -> list[str]:
    mina = User.objects.get(username="mina")
    return [
        "/projects/postcards/languages/de/",
        f"/projects/postcards/languages/de/people/{mina.pk}/",
        f"/projects/postcards/languages/de/people/{mina.pk}/decide/",
        f"/projects/postcards/rounds/act/?action=close&round={pilot.pk}",
        "/projects/postcards/rounds/act/?action=settings&language=de",
        "/projects/postcards/guidelines/?version=2&before=1",
        "/projects/postcards/guidelines/edit/",
        f"/projects/postcards/rounds/{pilot.pk}/settings/",
    ]


@pytest.fixture
def page(visit: Visit, pilot: Round, request: Any) -> Page:
    return visit(pilot.project.created_by, **{"locale": "en-GB"} | request.param)


@pytest.mark.long(reason="axe reads other pages of the same parts")
@pytest.mark.parametrize(
    "page", [{}, {"viewport": {"width": 390, "height": 800}, "locale": "ar"}], ids=["wide", "narrow"], indirect=True
)
def test_nobody_is_kept_out_and_nothing_is_wider_than_the_screen(page: Page, addresses: list[str]) -> None:
    check_all(page, addresses)


@pytest.mark.long(reason="the plain form, which tests without a browser submit")
@pytest.mark.parametrize("page", [{"java_script_enabled": False}], ids=["without scripts"], indirect=True)
def test_a_pilot_is_closed_without_scripts(page: Page, pilot: Round) -> None:
    page.goto("/projects/postcards/languages/de/")
    page.locator('form[action$="/steps/close/"] button').click()
    expect(page.get_by_text("1 batch is unfinished, of mina.")).to_be_visible()
    page.get_by_label("Return them; people keep their drafts").check()
    page.locator('form[action$="/steps/close/"] button').click()
    expect(page.get_by_role("link", name="Reject… Pilot 1")).to_be_visible()
    pilot.refresh_from_db()
    assert pilot.state == "closed"
    page.get_by_role("link", name="Reject… Pilot 1").click()
    page.get_by_label("Reason").fill("Too short.")
    page.get_by_role("button", name="Reject: 1 round").click()
    expect(page.get_by_text("Pilot 1: Rejected.")).to_be_visible()
    pilot.refresh_from_db()
    assert (pilot.state, pilot.reason) == ("rejected", "Too short.")
    planning.plan_pilot(
        project=pilot.project,
        language=pilot.language,
        seed=2,
        sample_size=2,
        by=pilot.project.created_by,
        now=timezone.now(),
    )
    page.reload()
    expect(page.get_by_text("Pilot 2").first).to_be_visible()
