"""What tests about setting up and reading seasons have in common."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from django.urls import reverse

from core.people.models import Membership, Project, Role, User
from gapgame.models import GapItem, ItemSet, Player, Season, SeasonAccess, Turn
from gapgame.rules.play import MIN_PAUSE
from gapgame.services import playing
from gapgame.services.playing import GRACE, close_season
from gapgame.services.seasons import SeasonTerms, SeasonTexts
from research.inference.models import WordVectorSet
from tests.factories import NOW, make_item, make_item_set, make_user, make_vectors

DAY = timedelta(days=1)


def set_clock(monkeypatch: pytest.MonkeyPatch, now: datetime) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)


def url_of(name: str, season: Season, *more: object) -> str:
    return reverse(f"gapgame:{name}", args=[season.project.slug, season.slug, *more])


def text_of(response) -> str:
    assert response.status_code == 200, response.status_code
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def make_researcher(project: Project) -> User:
    user = make_user()
    Membership.objects.create(project=project, user=user, role=Role.RESEARCHER)
    return user


def make_playable(project: Project, words: tuple[str, ...] = ("cat", "dog", "car"), language: str = "en") -> ItemSet:
    """A set of sentences whose images are ready, one for each word."""
    item_set = make_item_set(project)
    for word in words:
        make_item(item_set, word, language=language)
    return item_set


def terms_of(vectors: WordVectorSet | dict[str, WordVectorSet] | None = None, **fields: Any) -> SeasonTerms:
    """From a day after NOW for a day, in English."""
    if not isinstance(vectors, dict):
        vectors = {one.language_id: one for one in [vectors or make_vectors()]}
    values: dict[str, Any] = {"starts_at": NOW + DAY, "ends_at": NOW + 2 * DAY, "time_zone": "UTC"}
    return SeasonTerms(**(values | {"vectors": vectors, "access": SeasonAccess.INVITED} | fields))


def texts_of(name: str = "Spring", **fields: str) -> SeasonTexts:
    return SeasonTexts(name=name, **fields)


def play(player: Player, *, item: GapItem, guesses: tuple[str, ...] = (), at: datetime = NOW) -> Turn:
    """A turn on `item` with these guesses, two seconds apart, through the services; without guesses it is left open."""
    batch = playing.take_batch(player_id=player.pk, user=player.user, language=item.language_id, now=at, rng=Random(1))
    wanted = Turn.objects.get(batch=batch, item=item)
    # The drawn order is of no interest here: all but this one are put off.
    Turn.objects.filter(batch=batch).exclude(pk=wanted.pk).delete()
    turn = playing.open_turn(player_id=player.pk, user=player.user, now=at)
    assert turn == wanted
    for number, guess in enumerate(guesses, start=1):
        turn = playing.make_guess(
            turn_id=turn.pk, user=player.user, number=number, guess=guess, now=at + 2 * number * MIN_PAUSE
        )
    return Turn.objects.get(pk=turn.pk)


def close(season: Season) -> Season:
    close_season(season_id=season.pk, now=season.ends_at + GRACE)
    return Season.objects.select_related("project", "item_set").get(pk=season.pk)
