"""What a browser, or a proxy, keeps of the answers: nothing; every address is asked in test_who_may.py."""

from __future__ import annotations

import pytest
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path, reverse

from tests.doors.asking import a_visitor, signed_in
from tests.factories import make_user
from tests.leaks.addresses import routes, serving

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]


@pytest.mark.long(reason="one middleware says it for all pages")
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
    @login_not_required
    def broken(_request: HttpRequest) -> HttpResponse:
        raise RuntimeError

    with serving(path("broken/", broken, name="broken")):
        failure = a_visitor().get("/broken/")
    nothing = a_visitor().get("/nothing/")

    assert (failure.status_code, nothing.status_code) == (500, 404)
    assert failure["Cache-Control"] == nothing["Cache-Control"] == "private, no-store"


def test_what_says_itself_how_long_it_is_kept_is() -> None:
    @login_not_required
    def image(_request: HttpRequest) -> HttpResponse:
        return HttpResponse(headers={"Cache-Control": "private, max-age=60"})

    with serving(path("image/", image, name="image")):
        assert Client().get("/image/")["Cache-Control"] == "private, max-age=60"


def test_style_sheets_are_kept() -> None:
    assert "no-store" not in Client().get("/static/css/base.css")["Cache-Control"]
