"""Seasons that are for players with a confirmed e-mail address alone."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse

from core.people.models import Membership, Project, Role, User
from core.people.services.invitations import invite
from gapgame.models import Player, Season, SeasonAccess
from tests.clients import client_of
from tests.factories import NOW, make_player, make_season
from tests.gapgame.seasons import make_playable, url_of
from tests.gapgame.test_season_pages import create, form_of
from tests.kept import kept
from tests.people.conftest import PASSWORD

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


@kept
def season() -> Season:
    """Open to everybody who has an address."""
    season = make_season(access=SeasonAccess.OPEN, needs_address=True)
    about: dict[str, Any] = {"role": Role.PLAYER, "places": 100, "created_by": season.project.created_by}
    season.invitation = invite(project=season.project, expires_at=NOW + timedelta(days=90), now=NOW, **about)
    season.save()
    return season


def page_of(client: Client, season: Season) -> str:
    return client.get(reverse("gapgame:season-show", args=[season.slug])).content.decode()


def take_part(client: Client, season: Season) -> str:
    answer = client.post(reverse("gapgame:season-join", args=[season.slug]), {"nickname": "Cat"}, follow=True)
    return answer.content.decode()


def player_of(season: Season, **about: str) -> User:
    """A player of the project who is not in the season yet."""
    user = make_player(make_season(project=season.project)).user
    User.objects.filter(pk=user.pk).update(**about)
    return User.objects.get(pk=user.pk)


def test_who_has_confirmed_no_address_is_asked_to_and_takes_part_with_one_and_is_not_asked_again(season: Season):
    user = player_of(season, email="")
    client = client_of(user)

    assert reverse("account_email") in page_of(client, season)
    assert "Confirm an e-mail address first" in take_part(client, season)
    assert not Player.objects.filter(season=season).exists()
    User.objects.filter(pk=user.pk).update(email="paul@example.org")
    assert "Confirm your e-mail address" not in page_of(client, season)
    take_part(client, season)
    assert Player.objects.get(season=season).user == user
    User.objects.update(email="")
    assert "Confirm your e-mail address" not in page_of(client, season)


@pytest.mark.postgres
def test_a_stranger_joins_confirms_and_takes_part(season: Season):
    client = Client()
    page = page_of(client, season)
    assert "You will need to confirm your e-mail address." in page
    link = re.findall(r'href="(/join/[^"]+)"', page)[0]
    account = {"username": "zoe", "email": "zoe@example.org", "password": PASSWORD}
    client.post(link, account | {"consent": "on", "consent_version": "1"})
    assert Membership.objects.get(user__username="zoe").role == Role.PLAYER
    assert "Confirm an e-mail address first" in take_part(client, season)
    client.post(urlsplit(re.findall(r"https?://\S+", str(mail.outbox[0].body))[0]).path)
    take_part(client, season)

    assert Player.objects.get(season=season).user.email == "zoe@example.org"


def test_other_seasons_ask_for_none(season: Season):
    Season.objects.filter(pk=season.pk).update(needs_address=False)
    take_part(client_of(player_of(season, email="")), season)

    assert Player.objects.filter(season=season).exists()


def test_a_manager_chooses_it_until_the_season_begins(project: Project):
    client, items = client_of(project.created_by), make_playable(project)
    create(client, project, items, needs_address="on", access="open")
    season = Season.objects.get()
    edit = url_of("season-edit", season)

    assert season.needs_address
    assert re.search(r'name="needs_address"[^>]*checked', client.get(edit).content.decode())
    client.post(edit, form_of(project, items))
    season.refresh_from_db()
    assert not season.needs_address
