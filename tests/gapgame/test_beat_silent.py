"""A season whose cut-off has passed while beat is silent: it closes when somebody opens it, and the page says why."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
import redis
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.allocation.services.lifecycle import SILENT_AFTER, record_sweep
from gapgame import tasks
from gapgame.models import Season, SeasonAccess
from gapgame.services.playing import GRACE
from tests.factories import make_project, make_season
from tests.gapgame.seasons import set_clock
from tests.kept import kept

pytestmark = pytest.mark.django_db
STOOD_STILL = "Background work has not run since"


@kept
def season() -> Season:
    return make_season(access=SeasonAccess.OPEN, slug="spring")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seasons that a worker was asked to close."""
    asked: list[int] = []
    monkeypatch.setattr(tasks.close_season, "delay", asked.append)
    monkeypatch.setattr("gapgame.tasks.transaction.on_commit", lambda call, robust: call())
    return asked


def page_of(season: Season) -> str:
    return Client().get(f"/game/{season.slug}/").content.decode()


def test_an_overdue_season_is_closed_when_it_is_opened(season, asked, monkeypatch):
    set_clock(monkeypatch, season.ends_at + timedelta(seconds=1))
    page_of(season)
    assert asked == [], "the last guesses may be on their way"

    set_clock(monkeypatch, season.ends_at + GRACE)
    for _ in range(3):
        assert "the leaderboard will be published in about a minute" in page_of(season)
    assert asked == [season.pk]

    tasks.close_season(season.pk)
    season.refresh_from_db()
    assert season.closed_at == season.ends_at + GRACE
    assert "See the leaderboard" in page_of(season)


def test_the_page_says_since_when_nothing_goes_on_by_itself(season, asked, monkeypatch):
    now = season.ends_at + timedelta(hours=1)
    set_clock(monkeypatch, now)
    assert STOOD_STILL not in page_of(season)
    record_sweep(now=now - SILENT_AFTER)
    assert STOOD_STILL not in page_of(season)
    record_sweep(now=season.ends_at)
    assert STOOD_STILL in page_of(season)


def test_the_page_is_shown_while_nobody_can_be_asked_to_close_it(season, monkeypatch):
    set_clock(monkeypatch, season.ends_at + GRACE)
    monkeypatch.setattr("gapgame.tasks.cache.add", raises(redis.ConnectionError))
    assert "the leaderboard will be published in about a minute" in page_of(season)


def test_managers_pages_say_it_too(client):
    project = make_project("lions")
    client.force_login(project.created_by)
    record_sweep(now=timezone.now() - timedelta(hours=1))
    for route in ("annotation:project-show", "scoring:score-list", "sxs_eval:comparison-list"):
        assert STOOD_STILL in client.get(reverse(route, args=[project.slug])).content.decode()


def raises(error: type[Exception]) -> Callable[..., None]:
    def fail(*_arguments: object) -> None:
        raise error

    return fail
