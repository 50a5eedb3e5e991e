"""The front page: seasons that everybody may join, past results, and in the demo alone its people by one click."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.people.models import User
from gapgame.models import SeasonAccess
from tests.factories import NOW, make_season, make_user
from tools.demo.people import MANAGER, PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture
def manager() -> User:
    """Somebody with the name and the password of the demo's manager."""
    user = make_user(MANAGER)
    user.set_password(PASSWORD)
    user.save()
    return user


def began_as(folder: Path, settings: Any, *, is_embedded: bool = True, edition: int | None = 7) -> None:
    settings.VAR, settings.IS_EMBEDDED = folder, is_embedded
    (folder / "prepared.json").write_text(json.dumps({"edition": edition}))


@pytest.mark.usefixtures("manager")
def test_one_click_signs_in_as_one_of_the_demos_people(tmp_path, settings):
    began_as(tmp_path, settings)
    client = Client()
    (form,) = re.findall(rf'<form(?:(?!</form>).)*value="{MANAGER}".*?</form>', client.get("/").text, re.DOTALL)
    given = dict(re.findall(r'name="(login|password)" value="([^"]+)"', form))
    client.post(re.search(r'action="([^"]+)"', form)[1], given)
    assert client.get(reverse("people:profile-show")).status_code == 200


@pytest.mark.usefixtures("manager")
@pytest.mark.parametrize(("is_embedded", "edition"), [(True, None), (False, 7)])
def test_an_installation_offers_nobody(tmp_path, settings, is_embedded, edition):
    began_as(tmp_path, settings, is_embedded=is_embedded, edition=edition)
    page = Client().get("/").text
    assert MANAGER not in page
    assert PASSWORD not in page


def test_it_lists_open_seasons_and_results_and_none_for_invited_people():
    make_season(name="For all", access=SeasonAccess.OPEN, ends_at=timezone.now() + timedelta(days=1))
    make_season(name="Last year", access=SeasonAccess.OPEN, closed_at=NOW + timedelta(days=2))
    make_season(name="For a class", access=SeasonAccess.INVITED)
    page = Client().get("/").text
    assert ("Take part" in page, "See the result" in page) == (True, True)
    assert ("For all" in page, "Last year" in page, "For a class" in page) == (True, True, False)
