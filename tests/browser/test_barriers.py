"""Every page of a project as its manager sees it, in light and in dark: axe-core finds nothing, nothing is cut off."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Browser

from tests.browser.annotator import barriers, sign_in
from tests.doors.asking import signed_in
from tests.doors.conftest import world  # noqa: F401
from tests.doors.test_project_navigation import pages_of
from tests.doors.world import World
from tests.leaks.addresses import routes

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)

ABOVE = ("annotation:project-list", "annotation:project-create", "images:collection-list", "api:docs")
"""Pages that belong to no project."""


def addresses(of: World) -> list[str]:
    """One for each kind of page."""
    client = signed_in(of.seeded.project.created_by)
    of_project = [route for route in routes() if route.template.startswith("projects/%(slug)s/")]
    firsts = [next(iter(route.addresses(of.known)), None) for route in of_project]
    found = [address for address, _text in pages_of(client, [one for one in firsts if one])]
    assert len(found) > 100
    return [*(reverse(name) for name in ABOVE), *found]


@pytest.mark.long(reason="axe-core reads more than a hundred pages")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_of_a_project_has_barriers(
    live_server: Any,
    browser: Browser,
    world: World,  # noqa: F811
    scheme: Any,
) -> None:
    context = browser.new_context(
        viewport={"width": 1366, "height": 768}, color_scheme=scheme, locale="en-GB", reduced_motion="reduce"
    )
    sign_in(context, world.seeded.project.created_by, live_server.url)
    page = context.new_page()
    found = {}
    for address in addresses(world):
        page.goto(live_server.url + address)
        page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true")
        found[address] = barriers(page)
        if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            found[address].append("wider than the screen")
    context.close()
    assert {address: said for address, said in found.items() if said} == {}
