"""What needs a package that an installation lacks says how to install it, on a page, in the API and at a terminal."""

from __future__ import annotations

import sys

import pytest
from django.test import Client, RequestFactory

import manage
from core.jobs.rules.missing_packages import how_to_install
from office.operations import views


@pytest.fixture
def without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise ModuleNotFoundError("No module named 'scipy'", name="scipy.special")

    monkeypatch.setattr("office.operations.views.readiness", fail)
    monkeypatch.setattr("django.core.management.execute_from_command_line", fail)


@pytest.mark.usefixtures("without_scipy")
def test_a_page_names_the_extra_that_brings_the_package():
    answer = Client(raise_request_exception=False).get("/readyz")
    assert (answer.status_code, "crosslens[research]" in answer.text) == (501, True)


@pytest.mark.usefixtures("without_scipy")
def test_a_command_names_the_extra_that_brings_the_package(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["manage.py", "sxs_report"])
    with pytest.raises(SystemExit, match=r"CommandError: .*scipy.*crosslens\[research\]"):
        manage.main()


def test_the_api_says_so_too(rf: RequestFactory):
    try:
        raise ModuleNotFoundError(name="pyarrow")
    except ModuleNotFoundError:
        answer = views.failure_show(rf.get("/api/v1/projects/"))
    assert (answer.status_code, b"crosslens[research]" in answer.content) == (500, True)


def test_our_own_mistakes_are_not_taken_for_missing_packages():
    assert how_to_install(ModuleNotFoundError(name="annotation.nowhere")) == how_to_install(None) == ""
