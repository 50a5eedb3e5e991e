"""What a browser, or a proxy, keeps of the answers: nothing, but images that are one person's."""

from __future__ import annotations

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path, reverse

from tests.doors.asking import a_visitor, ask, ours, signed_in
from tests.doors.world import ONE_INSIDER, World
from tests.factories import make_user
from tests.leaks.addresses import routes, serving

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

IMAGES = {"images:image-show", "gapgame:image-show", "inference:trial-image"}
"""Kept by the browser of whom they are shown to, for a while; each has a test of its own."""

PAGES = {"people:profile-show", "annotation:work-show", "annotation:history-show", "gapgame:game-home"}
PAGES_OF_MANAGERS = {"people:member-list", "people:invitation-list", "images:collection-list", "people:token-list"}


@pytest.mark.parametrize("insider", ONE_INSIDER)
def test_no_answer_to_who_is_signed_in_is_kept(insider: int, world: World) -> None:
    client, pages, wrong = signed_in(world.insiders[insider]), set(), []
    for route in ours():
        for asked in (one for address in route.addresses(world.known) for one in ask(client, address)):
            if asked.status == 200:
                pages.add(route.name)
            if route.name in IMAGES and asked.status == 200:
                wrong += [f"{asked} is for others, too"] * ("private" not in asked.cache_control)
            elif "no-store" not in asked.cache_control:
                wrong.append(f"{asked} may be kept: {asked.cache_control!r}")
    assert not wrong, "\n".join(wrong)
    assert pages >= PAGES | (PAGES_OF_MANAGERS if insider == 0 else set())


def test_no_answer_of_the_administration_is_kept() -> None:
    client = signed_in(make_user(is_staff=True, is_superuser=True))
    lists = [route for route in routes() if route.template.startswith("admin/") and not route.arguments]

    assert len(lists) > 10
    for route in lists:
        answer = client.get(f"/{route.template}")
        assert "no-store" in answer["Cache-Control"], route


@pytest.mark.parametrize("name", ["people:home-show", "account_login", "health-show"])
def test_nor_is_one_to_a_stranger_who_may_sign_in_next(name: str) -> None:
    assert "no-store" in a_visitor().get(reverse(name))["Cache-Control"]


def test_nor_is_an_error() -> None:
    def broken(_request: HttpRequest) -> HttpResponse:
        raise RuntimeError

    with serving(path("broken/", broken, name="broken")):
        failure = a_visitor().get("/broken/")
    nothing = a_visitor().get("/nothing/")

    assert (failure.status_code, nothing.status_code) == (500, 404)
    assert failure["Cache-Control"] == nothing["Cache-Control"] == "private, no-store"


def test_what_says_itself_how_long_it_is_kept_is() -> None:
    def image(_request: HttpRequest) -> HttpResponse:
        return HttpResponse(headers={"Cache-Control": "private, max-age=60"})

    with serving(path("image/", image, name="image")):
        assert Client().get("/image/")["Cache-Control"] == "private, max-age=60"


def test_style_sheets_are_kept() -> None:
    assert "no-store" not in Client().get("/static/css/base.css")["Cache-Control"]
