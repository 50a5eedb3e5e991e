"""The navigation of a project, on every page that each of its addresses shows."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import resolve, reverse

from core.people.models import Membership, Role
from core.people.rules.project_pages import GROUPS, PAGES_OF_PARTICIPANTS, ProjectPage, page_of, path_of
from tests.doors.asking import signed_in, undone
from tests.doors.world import World
from tests.factories import make_user
from tests.leaks.addresses import routes
from tests.servers import ROOT

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

NAVIGATION = re.compile(r'<nav class="project" .*?</nav>', re.DOTALL)
BREADCRUMB = re.compile(r'<nav class="breadcrumb".*?</nav>', re.DOTALL)
MARKED = re.compile(r'href="([^"]+)" aria-current="(page|true)"')
PAGES = [page for group in GROUPS for page in group.pages]


def addresses(world: World) -> list[str]:
    """All of the project, with everything they take."""
    of_project = [route for route in routes() if route.template.startswith("projects/%(slug)s/")]
    assert len(of_project) > 150
    return [address for route in of_project for address in route.addresses(world.known)]


def pages_of(client: Client, asked: list[str]) -> Iterator[tuple[str, str]]:
    """The addresses that answer with a whole page, and the page."""
    for address in asked:
        with undone(client):
            response = client.get(address)
        if response.status_code == 200 and response["Content-Type"].startswith("text/html"):
            text = response.content.decode()
            if text.startswith("<!doctype html>"):
                yield address, text


def page_at(address: str) -> ProjectPage | None:
    return page_of(resolve(address).route)


def path_at(address: str) -> str | None:
    return path_of(resolve(address).route)


def url_of(page: ProjectPage, world: World) -> str:
    return reverse(page.name, args=[world.seeded.project.slug])


def test_every_address_belongs_to_one_page_or_to_participants(world):
    assert [address for address in addresses(world) if path_at(address) is None] == []


def test_the_link_of_every_page_opens_that_page(world):
    assert [page.name for page in PAGES if page_at(url_of(page, world)) != page] == []


def test_every_path_is_that_of_an_address(world):
    used = {path_at(address) for address in addresses(world)}
    named = [path for page in PAGES for path in page.paths] + list(PAGES_OF_PARTICIPANTS)
    assert len(named) == len(set(named))
    assert set(named) == used


@pytest.mark.long(reason="every page of a project is made once more")
def test_a_manager_sees_it_on_every_page_with_the_right_marks(world):
    asked, wrong = 0, []
    for address, text in pages_of(signed_in(world.seeded.manager), addresses(world)):
        page = page_at(address)
        if page is None:
            assert not NAVIGATION.search(text), address
            continue
        asked += 1
        found = NAVIGATION.findall(text)
        group = next(group for group in GROUPS if page in group.pages)
        first, here = url_of(group.pages[0], world), url_of(page, world)
        state = "page" if address == here else "true"
        expected = [(first, state)] if len(group.pages) == 1 else [(first, "true"), (here, state)]
        assert "css/project." in text, address
        if len(found) != 1 or MARKED.findall(found[0]) != expected or len(BREADCRUMB.findall(text)) != 1:
            wrong.append(f"{address}: {len(found)} navigations, {[MARKED.findall(one) for one in found]}")
        elif (here in BREADCRUMB.findall(text)[0]) != (address != here):
            wrong.append(f"{address}: {BREADCRUMB.findall(text)[0]}")
    assert not wrong, "\n".join(wrong)
    assert asked > 75


def test_a_researcher_sees_the_pages_that_researchers_can_open(world):
    researcher = make_user()
    Membership.objects.create(project=world.seeded.project, user=researcher, role=Role.RESEARCHER)
    client = signed_in(researcher)
    opened = {page.name for page in PAGES if client.get(url_of(page, world)).status_code == 200}
    assert opened == {page.name for page in PAGES if page.is_for_researchers}
    linked = set()
    for group in GROUPS:
        if any(page.is_for_researchers for page in group.pages):
            first = next(page for page in group.pages if page.is_for_researchers)
            links = re.findall(
                r'href="([^"]+)"', NAVIGATION.findall(client.get(url_of(first, world)).content.decode())[0]
            )
            linked.update(links)
    assert linked == {url_of(page, world) for page in PAGES if page.is_for_researchers}


def test_the_guide_says_which_pages_researchers_open():
    """One table: in the code, and in the guide about security."""
    guide = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"(?s)Only managers open these pages of a project: (.*?)\. ", guide)
    assert re.split(r";\s", listed) == [str(page.label) for page in PAGES if not page.is_for_researchers]


def test_people_who_work_in_a_project_never_see_it(world):
    paths = {*PAGES_OF_PARTICIPANTS, "guidelines/"}
    asked = 0
    for person in world.insiders[1:]:
        client = signed_in(person)
        for address, text in pages_of(client, [one for one in addresses(world) if path_at(one) in paths]):
            asked += 1
            assert not NAVIGATION.search(text), address
            assert 'popovertarget="project"' not in text, address
    assert asked > 10


def test_a_page_that_is_not_found_shows_no_navigation(world):
    address = reverse("annotation:release-show", args=[world.seeded.project.slug, 99])
    response = signed_in(world.seeded.manager).get(address)
    assert response.status_code == 404
    assert not NAVIGATION.search(response.content.decode())
