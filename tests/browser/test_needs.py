"""What needs a manager, in a browser: the number in the navigation of every page, and the page that it leads to."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.cache import cache
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from core.images.models import ImportJob, ImportKind
from core.jobs.models import JobState
from tests.browser.annotator import barriers_at, sign_in
from tests.browser.conftest import Visit
from tests.factories import make_annotator, make_project, make_round

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_the_number_leads_to_what_needs_the_manager_who_dismisses_what_failed(
    live_server: Any, page: Page, context: BrowserContext
) -> None:
    cache.clear()
    round = make_round(project=make_project("lions"))
    ImportJob.objects.create(
        kind=ImportKind.IMAGES, project=round.project, source_name="dogs.zip", state=JobState.FAILED
    )
    sign_in(context, round.project.created_by, live_server.url)
    page.set_viewport_size({"width": 390, "height": 840})
    page.goto(live_server.url + reverse("people:member-list", args=["lions"]))
    link = page.get_by_role("link", name=re.compile("^Needs you"))
    expect(link).to_have_text(re.compile(r"Needs you\s+2"))
    link.click()
    expect(page.get_by_role("heading", name="Needs you")).to_be_visible()
    expect(page.get_by_role("link", name="Nobody can write")).to_be_visible()
    assert barriers_at(page, 390) == []
    page.get_by_role("button", name=re.compile("Dismiss.*dogs.zip")).click()
    expect(page.get_by_role("link", name="Import of dogs.zip failed")).to_have_count(0)
    expect(page.get_by_role("link", name=re.compile(r"^Needs you\s+1"))).to_be_visible()


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_an_annotator_has_no_such_link_and_asks_for_no_number(live_server: Any, visit: Visit) -> None:
    round = make_round()
    page = visit(make_annotator(round))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(live_server.url + reverse("annotation:work-show"))
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_role("link", name=re.compile("^Needs you"))).to_have_count(0)
    assert not [url for url in asked if "needs" in url]
