"""Every page of a project as its manager sees it, in light and in dark: axe-core finds nothing, nothing is cut off."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Browser

from tests.browser.annotator import barriers, sign_in
from tests.doors.conftest import world  # noqa: F401
from tests.doors.test_project_navigation import pages_of
from tests.doors.asking import signed_in
from tests.doors.world import World
from tests.leaks.addresses import routes

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)


def addresses(world: World) -> list[str]:
    """One for each kind of page, and the pages of the API."""
    client = signed_in(world.seeded.project.created_by)
    of_project = [route for route in routes() if route.template.startswith("projects/%(slug)s/")]
    firsts = [next(iter(route.addresses(world.known)), None) for route in of_project]
    return [address for address, _text in pages_of(client, [one for one in firsts if one])]


@pytest.mark.long(reason="axe-core reads a hundred pages")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_of_a_project_has_barriers(live_server: Any, browser: Browser, world: World, scheme: Any) -> None:
    context = browser.new_context(viewport={"width": 1366, "height": 768}, color_scheme=scheme, locale="en-GB", reduced_motion="reduce")
    sign_in(context, world.seeded.project.created_by, live_server.url)
    page = context.new_page()
    found = {}
    with open(f"/tmp/axe-{scheme}.txt", "w") as out:
        for address in addresses(world):
            page.goto(live_server.url + address)
            found[address] = barriers(page)
            if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
                found[address].append("wider than the screen")
            print(address, found[address], file=out, flush=True)
    context.close()
    assert {address: said for address, said in found.items() if said} == {}
