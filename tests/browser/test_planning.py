"""Planning in a browser: scores from a file, costs that follow the ticks, comparisons made on a click."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from core.people.models import Project
from sxs_eval.models import Comparison
from tests.browser.annotator import sign_in
from tests.browser.conftest import Visit
from tests.factories import make_captioner, make_collection, make_project

pytestmark = pytest.mark.django_db(transaction=True)

SCORES = "language,model,first,second\nde,Alpha,50,60\nde,Beta,52,55\nde,Gamma,70,80\n"


@pytest.fixture
def project() -> Project:
    collection = make_collection(images=4)
    for name in ("Alpha", "Beta", "Gamma"):
        make_captioner(collection, name, language="de")
    return make_project("lions")


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    file = tmp_path / "scores.csv"
    file.write_text(SCORES)
    return file


def propose(page: Page, address: str, project: Project, scores: Path) -> None:
    page.goto(f"{address}/projects/{project.slug}/plan/")
    page.get_by_label("File with the scores").set_input_files(scores)
    page.get_by_label("Collection").select_option(index=1)
    page.get_by_label("Number of images").fill("2")
    page.get_by_label("Gold pairs").fill("50")
    page.get_by_role("button", name="Propose comparisons").click()


def expect_totals(page: Page, *totals: str) -> None:
    expect(page.locator("[data-total]")).to_have_text(list(totals))


@pytest.mark.long(reason="one more way of a page that other tests drive")
def test_costs_follow_the_ticks_and_what_is_ticked_is_made(
    live_server: Any, page: Page, context: BrowserContext, project: Project, scores: Path
) -> None:
    sign_in(context, project.created_by, live_server.url)
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    propose(page, live_server.url, project, scores)
    expect_totals(page, "1", "6", "4", "0.1")

    page.get_by_text("2 pairs are clear").click()
    page.get_by_role("checkbox", name="Gamma against Alpha").check()
    expect_totals(page, "2", "12", "8", "0.1")
    page.get_by_role("checkbox", name="Beta against Alpha").uncheck()
    expect_totals(page, "1", "6", "4", "0.1")
    page.get_by_role("button", name="Create selected comparisons").click()

    expect(page).to_have_url(f"{live_server.url}/projects/lions/comparisons/")
    [made] = Comparison.objects.all()
    assert (made.base.name, made.test.name, made.subset) == ("Alpha", "Gamma", 2)
    assert said == []


@pytest.mark.long(reason="the plain form, which tests without a browser submit")
def test_without_javascript_the_same_is_made_and_nothing_is_wider_than_the_screen(
    live_server: Any, visit: Visit, project: Project, scores: Path
) -> None:
    page = visit(project.created_by, java_script_enabled=False)
    propose(page, live_server.url, project, scores)

    expect_totals(page, "1", "6", "4", "0.1")
    for width in (1366, 390):
        page.set_viewport_size({"width": width, "height": 844})
        box = page.locator("table").first.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= width
    page.get_by_role("button", name="Create selected comparisons").click()
    expect(page).to_have_url(f"{live_server.url}/projects/lions/comparisons/")
    assert Comparison.objects.get().base.name == "Alpha"
