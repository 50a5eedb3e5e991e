"""The results of all comparisons in a browser: every column of the table is in view on a usual screen."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page

from tests.browser.annotator import barriers, sign_in
from tests.sxs_eval.test_across_pages import make_compared_models

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.long(reason="axe reads other pages of the same parts")
def test_no_column_of_the_results_is_outside_a_screen_of_1366_pixels(
    live_server: Any, page: Page, context: BrowserContext
) -> None:
    project = make_compared_models()
    sign_in(context, project.created_by, live_server.url)
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(live_server.url + reverse("sxs_eval:results-show", args=[project.slug]))
    for table in page.locator("div.table").all():
        assert table.evaluate("one => one.scrollWidth - one.clientWidth") <= 0, table.inner_text()[:80]
    assert barriers(page) == []
