"""Results in a browser: every column of a table is in view, on a usual screen and on a phone."""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page

from core.people.models import Project
from tests.browser.annotator import barriers, sign_in
from tests.factories import make_captioner, make_collection, make_comparison, make_project, make_rater
from tests.sxs_eval.judged import judge_all, keys_of
from tests.sxs_eval.planning import describe
from tests.sxs_eval.test_across_pages import make_compared_models, make_scored

pytestmark = pytest.mark.django_db(transaction=True)


def make_judged_by_several() -> Project:
    """Three models with names of a usual length, in two languages and on two scales, judged by three raters each."""
    project, collection, rng = make_project("lions"), make_collection(20), Random(7)
    names = ("blip2-opt-2.7b-coco", "mblip-bloomz-7b", "paligemma-3b-mix")
    models = [make_captioner(collection, name, language="de", text=f"{name} sagt") for name in names]
    for name in names:
        describe(collection, name, "fr", images=20)
    for language, scale in (("de", 7), ("fr", 5)):
        for base, test in combinations(models, 2):
            comparison = make_comparison(
                project=project, collection=collection, base=base, test=test, language=language, scale=scale,
                replication=3,
            )  # fmt: skip
            for _rater in range(3):
                scores = {key: rng.choice([3, 2, 2, 0, -2]) for key in keys_of(comparison)}
                judge_all(comparison, make_rater(comparison), scores)
    return project


def assert_all_in_view(page: Page) -> None:
    for table in page.locator("div.table").all():
        assert table.evaluate("one => one.scrollWidth - one.clientWidth") <= 0, table.inner_text()[:80]
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.long(reason="axe reads other pages of the same parts")
@pytest.mark.parametrize("make", [make_compared_models, make_judged_by_several])
def test_no_column_of_the_results_is_outside_a_screen(
    live_server: Any, page: Page, context: BrowserContext, make: Any
) -> None:
    project = make()
    sign_in(context, project.created_by, live_server.url)
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(live_server.url + reverse("sxs_eval:results-show", args=[project.slug]))
    assert_all_in_view(page)
    assert barriers(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert_all_in_view(page)


@pytest.mark.long(reason="axe reads other pages of the same parts")
def test_no_column_of_metrics_beside_people_is_outside_a_screen(
    live_server: Any, page: Page, context: BrowserContext
) -> None:
    project, *_ = make_scored()
    sign_in(context, project.created_by, live_server.url)
    page.goto(live_server.url + reverse("sxs_eval:metrics-show", args=[project.slug]) + "?min_images=0")
    for width in (1366, 390):
        page.set_viewport_size({"width": width, "height": 768})
        assert_all_in_view(page)
    assert barriers(page) == []
