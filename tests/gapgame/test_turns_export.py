"""Turns of a closed season as a file, and that there is none before the close."""

from __future__ import annotations

import io
import json
import sys
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from core.images.models import CollectionImage
from core.people.rules.pseudonyms import pseudonym
from gapgame.formats.turn_files import SeasonNotClosedError, read_turns
from gapgame.models import Mark, Player, PlayerStatus, Season, SkipReason
from gapgame.rules.play import TurnScriptRule
from gapgame.rules.report import build_report
from gapgame.selectors.report import SEED, report_on, turns_of
from gapgame.services import playing
from tests.clients import client_of
from tests.commands import output_of
from tests.exported import export_address, exported_text
from tests.factories import NOW, make_player, make_season
from tests.gapgame.seasons import close, make_researcher, play

pytestmark = pytest.mark.django_db


def make_begun() -> Season:
    season = make_season(batch_size=10)
    for number, item in enumerate(season.item_set.items.all(), start=1):
        image = item.images.get(position=0).image
        CollectionImage.objects.create(
            collection=season.item_set.collection, image=image, key=f"image-{number}", position=number
        )
    return season


def make_played() -> tuple[Season, list[Player]]:
    """One who finds words and skips one, one whose turn is cut off, and one who waits."""
    season = make_begun()
    items = list(season.item_set.items.all())
    ann, bob, cem = make_player(season, "ann"), make_player(season, "bob"), make_player(season, "cem")
    play(ann, item=items[0], guesses=("dog", "CAT"))
    play(ann, item=items[1], guesses=("sky", "xyzzy", "car"))
    turn = play(ann, item=items[2], guesses=("dog",))
    playing.skip(turn_id=turn.pk, user=ann.user, reason=SkipReason.WRONG_IMAGE, note="Private words", now=NOW)
    play(bob, item=items[0], guesses=("cat",))
    play(bob, item=items[3], guesses=("tree",))
    playing.take_batch(player_id=cem.pk, user=cem.user, language="en", now=NOW, rng=Random(1))
    return season, [ann, bob, cem]


@pytest.fixture
def season(made_once, request) -> Season:
    return made_once(make_played)[0] if "players" in request.fixturenames else made_once(make_begun)


@pytest.fixture
def players(season) -> list[Player]:
    return list(Player.objects.filter(season=season).select_related("user", "season").order_by("pk"))


def export_of(season: Season) -> list[str]:
    slug = season.project.slug
    return ["export", slug, "--what=turns", "--format=jsonl", f"--season={season.slug}"]


def text_of(season: Season) -> str:
    return exported_text(season.project, "turns", season=season.slug)


def lines_of(season: Season) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text_of(season).splitlines()]


def url_of(season: Season) -> str:
    return export_address(season.project.slug, "turns", "jsonl", season=season.slug)


@pytest.mark.parametrize("state", ["on", "counting"])
def test_there_is_no_file_before_the_close(season, players, monkeypatch, state) -> None:
    now = NOW if state == "on" else season.ends_at
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    with pytest.raises(SeasonNotClosedError, match="once it is closed"):
        text_of(season)
    response = client_of(season.project.created_by).get(url_of(season))
    assert response.status_code == 422
    assert "once it is closed" in response.content.decode()
    with pytest.raises(CommandError, match="once it is closed"):
        call_command(*export_of(season))


def test_a_line_says_all_of_a_turn_and_turns_that_ended_are_there_and_no_others(season, players) -> None:
    lines = lines_of(close(season))
    first = lines[0]
    item = season.item_set.items.first()
    assert first == {
        "turn": first["turn"],
        "season": season.slug,
        "player": pseudonym(season.project, players[0].user_id),
        "item": item.key,
        "language": "en",
        "split": f"intersect_{item.split}",
        "word": "cat",
        "sense": ["cat.n.01"],
        "images": 3,
        "image": "image-1",
        "opened_at": "2026-03-02T09:00:00+00:00",
        "finished_at": "2026-03-02T09:00:04+00:00",
        "outcome": "attempt_2",
        "skip_reason": "",
        "score": 0.9,
        "attempts": [
            {"number": 1, "guess": "dog", "similarity": 0.8, "has_vector": True, "seconds": 2.0},
            {"number": 2, "guess": "CAT", "similarity": 1.0, "has_vector": True, "seconds": 2.0},
        ],
        "marks": [],
        "set_aside": False,
    }
    assert [line["outcome"] for line in lines] == ["attempt_2", "failed", "skipped", "attempt_1", "cut_off"]
    assert [line["skip_reason"] for line in lines] == ["", "", "wrong_image", "", ""]
    assert lines[1]["attempts"][1] == {
        "number": 2, "guess": "xyzzy", "similarity": 0.0, "has_vector": False, "seconds": 2.0,
    }  # fmt: skip
    assert len({line["player"] for line in lines}) == 2


def test_nobody_is_named(season, players) -> None:
    text = text_of(close(season))
    for player in players:
        for name in (player.nickname, player.user.username, player.user.email):
            assert name not in text
    assert "Private words" not in text


def test_marks_that_stand_and_who_is_set_aside_are_told(season, players) -> None:
    ann, bob, _cem = players
    Mark.objects.create(player=ann, turn=ann.all_turns.get(outcome="failed"), rule=TurnScriptRule.FAST, made_at=NOW)
    Mark.objects.create(player=bob, rule=TurnScriptRule.STEADY, made_at=NOW)
    Player.objects.filter(pk=bob.pk).update(status=PlayerStatus.SET_ASIDE)
    lines = lines_of(close(season))
    assert [line["marks"] for line in lines] == [[], ["fast"], [], ["steady"], ["steady"]]
    assert [line["set_aside"] for line in lines] == [False, False, False, True, True]
    Player.objects.update(status=PlayerStatus.CLEARED)
    assert all(line["marks"] == [] and not line["set_aside"] for line in lines_of(close(season)))


def test_the_file_gives_the_figures_of_the_page(season, players, tmp_path: Path) -> None:
    ann, bob, _cem = players
    Mark.objects.create(player=ann, turn=ann.all_turns.get(outcome="failed"), rule=TurnScriptRule.FAST, made_at=NOW)
    Mark.objects.create(player=bob, rule=TurnScriptRule.STEADY, made_at=NOW)
    season = close(season)
    file = tmp_path / "turns.jsonl"
    call_command(*export_of(season), output=file, stderr=io.StringIO())
    read = read_turns(file).turns
    assert [turn._replace(guesses=None, opened_at=None) for turn in read] == turns_of(season)
    for keep in ([], ["scripted"], ["skipped", "cut_off", "scripted"]):
        page = report_on(season, keep=keep, by="player")
        from_file = build_report(read, keep=keep, seed=SEED, by=["player"], vectors=season.languages.get().signature)
        assert from_file.as_json() == page.as_json()
        said = output_of(
            "game_report", file, "--json", keep=keep, by=["player"], vectors=season.languages.get().signature
        )
        assert json.loads(said) == {"repeated_lines": 0, **page.as_json()}


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_same_turns_give_the_same_bytes_in_chunks_and_on_standard_output(
    season, players, monkeypatch, tmp_path
) -> None:
    season = close(season)
    assert text_of(season) == text_of(season)
    whole = lines_of(season)
    monkeypatch.setattr("gapgame.selectors.turns.TURNS_AT_ONCE", 2)
    assert lines_of(season) == whole
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=out))
    call_command(*export_of(season))
    assert out.getvalue().decode() == text_of(season)


def test_researchers_can_download_it(season, players, monkeypatch) -> None:
    closed = close(season)
    monkeypatch.setattr("django.utils.timezone.now", lambda: closed.closed_at)
    response = client_of(make_researcher(season.project)).get(url_of(season))
    assert response.status_code == 200
    assert response["Content-Disposition"].startswith(
        f'attachment; filename="{season.project.slug}-turns-{season.slug}-'
    )
    assert len(response.getvalue().splitlines()) == 5


def test_an_unknown_season_and_a_folder_that_is_not_there_are_told(season, players, tmp_path) -> None:
    with pytest.raises(CommandError, match=season.slug):
        call_command(*export_of(season), season="nosuch")
    close(season)
    with pytest.raises(CommandError, match="cannot be written"):
        call_command(*export_of(season), output=tmp_path / "nowhere" / "turns.jsonl")


def test_seconds_of_attempts_begin_with_the_sentence(season) -> None:
    player = make_player(season)
    item = season.item_set.items.first()
    opened = datetime.fromisoformat("2026-03-02T10:00:00+00:00")
    turn = play(player, item=item, at=opened)
    for number, (guess, after) in enumerate([("dog", 3.25), ("cat", 10)], start=1):
        playing.make_guess(
            turn_id=turn.pk, user=player.user, number=number, guess=guess, now=opened + timedelta(seconds=after)
        )
    (line,) = lines_of(close(season))
    assert [attempt["seconds"] for attempt in line["attempts"]] == [3.25, 6.75]
