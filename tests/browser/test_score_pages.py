"""Scores in a browser: a scoring is set up, the page follows it to its end, and its images are looked at."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from core.people.models import Project
from research.scoring.models import Scoring
from tests.browser.annotator import sign_in, too_narrow
from tests.browser.conftest import Visit
from tests.factories import make_captioner, make_collection, make_project
from tests.scoring.scored import make_references, make_scoring, run

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def project() -> Project:
    project, collection = make_project("lions"), make_collection(images=4)
    references = make_references(project=project, collection=collection)
    for name, text in (("Alpha", "test caption"), ("Beta", "something else")):
        make_captioner(collection, name, language=references.language_id, text=text)
    return project


def set_up(page: Page, address: str) -> None:
    page.goto(f"{address}/projects/lions/scores/")
    page.get_by_role("link", name="Score captions").first.click()
    page.get_by_label("References", exact=True).select_option(index=1)
    page.get_by_role("button", name="Next").click()
    page.get_by_role("checkbox", name="Alpha").check()
    page.get_by_role("button", name="Score", exact=True).click()


@pytest.mark.long(reason="a whole way, whose steps have tests of their own")
def test_a_scoring_is_set_up_followed_to_its_end_and_looked_into(
    live_server: Any, page: Page, context: BrowserContext, project: Project
) -> None:
    sign_in(context, project.created_by, live_server.url)
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    set_up(page, live_server.url)
    expect(page.get_by_text("Computing: 0 of 4 metrics")).to_be_visible()

    run(Scoring.objects.get())

    # Nobody loads the page: it asks for itself.
    expect(page.get_by_text("Computing:")).to_have_count(0, timeout=20_000)
    expect(page.get_by_role("row", name="Alpha")).to_contain_text("100.0")
    page.get_by_role("link", name="Alpha").click()
    page.get_by_role("link", name="View the images").click()
    page.get_by_label("Metric").select_option(label="ROUGE-L")
    page.get_by_label("First").select_option(label="Best")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("test caption of").first).to_be_visible()
    page.get_by_text("Distribution of ROUGE-L").click()
    expect(page.get_by_role("img", name="ROUGE-L")).to_be_visible()
    assert said == []


@pytest.mark.long(reason="the plain form, which tests without a browser submit")
def test_without_javascript_two_models_are_compared_and_nothing_is_wider_than_the_screen(
    live_server: Any, visit: Visit, project: Project
) -> None:
    page = visit(project.created_by, java_script_enabled=False)
    set_up(page, live_server.url)
    scoring = Scoring.objects.get()
    run(scoring)
    other = make_captioner(scoring.references.collection, "Gamma", language="de", text="an image")
    run(make_scoring(scoring.references, model=other))

    page.goto(f"{live_server.url}/projects/lions/scores/compare/")
    page.get_by_label("First").select_option(index=1)
    page.get_by_label("Second").select_option(index=2)
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", name="Alpha − Gamma")).to_be_visible()
    for where in ("compare/", "", "?metric=rouge-l", f"{scoring.pk}/", f"{scoring.pk}/images/", "new/"):
        page.goto(f"{live_server.url}/projects/lions/scores/{where}")
        assert too_narrow(page, 390, 1366) == [], where
