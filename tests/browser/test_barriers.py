"""Every page of a project as its manager sees it, in light and in dark: axe-core finds nothing, nothing is cut off."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from tests.annotation.submitting import submit_captions
from tests.browser.annotator import barriers_at, sign_in
from tests.doors.asking import signed_in
from tests.doors.conftest import world  # noqa: F401
from tests.doors.test_project_navigation import pages_of
from tests.doors.world import World
from tests.factories import make_annotator, make_project, make_round
from tests.leaks.addresses import routes

pytestmark = pytest.mark.django_db(transaction=True)

ABOVE = (
    "annotation:project-list",
    "annotation:project-create",
    "images:collection-list",
    "inference:model-list",
    "dashboard:need-list",
    "dashboard:email-choices",
    "dashboard:search-show",
    "api:docs",
)
"""Pages that belong to no project."""


def addresses(of: World) -> list[str]:
    """One for each kind of page."""
    client = signed_in(of.seeded.project.created_by)
    of_project = [route for route in routes() if route.template.startswith("projects/%(slug)s/")]
    firsts = [next(iter(route.addresses(of.known)), None) for route in of_project]
    found = [address for address, _text in pages_of(client, [one for one in firsts if one])]
    assert len(found) > 90
    return [*(reverse(name) for name in ABOVE), *found]


def what_is_wrong(page: Page, *widths: int) -> list[str]:
    """Look at the page at these widths, with all that can be opened on it open."""
    page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true")
    return barriers_at(page, *widths)


@pytest.mark.long(reason="axe reads other pages of the same parts")
def test_the_pages_of_the_api_and_of_charts_have_none(live_server: Any, page: Page, context: BrowserContext) -> None:
    round = make_round(project=make_project("lions"), images=2)
    submit_captions(round, make_annotator(round), now=timezone.now())
    sign_in(context, round.project.created_by, live_server.url)
    for address, drawn in (
        (reverse("api:docs"), ".opblock-tag"),
        (reverse("annotation:plots-show", args=["lions"]), "svg"),
    ):
        page.goto(live_server.url + address)
        expect(page.locator(drawn).first).to_be_visible()
        assert what_is_wrong(page, 390, 1366) == [], address


def test_on_the_page_of_the_api_a_change_is_made_and_told_as_a_command(
    live_server: Any, page: Page, context: BrowserContext
) -> None:
    project = make_project("lions")
    sign_in(context, project.created_by, live_server.url)
    page.goto(live_server.url + reverse("api:docs"))
    page.locator(".opblock-tag", has_text="subsets").click()
    operation = page.locator(".opblock", has_text="Make a named subset")
    operation.locator(".opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_placeholder("slug").fill("lions")
    operation.get_by_role("button", name="Execute").click()
    # Refused for what it says, not for the lack of a token against forged requests.
    expect(operation.locator(".live-responses-table")).to_contain_text("subset-refused")
    expect(operation.locator(".curl").first).not_to_contain_text("CSRF")
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.long(reason="axe-core reads more than a hundred pages")
def test_no_page_of_a_project_has_barriers(
    live_server: Any,
    page: Page,
    context: BrowserContext,
    world: World,  # noqa: F811
) -> None:
    sign_in(context, world.seeded.project.created_by, live_server.url)
    found = {}
    for address in addresses(world):
        page.goto(live_server.url + address)
        found[address] = what_is_wrong(page, 1366)
    assert {address: said for address, said in found.items() if said} == {}
