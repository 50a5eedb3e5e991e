"""Somebody without scripts who reports an image, or asks about it, loses nothing that they typed."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.utils import timezone

from gapgame.models import Attempt
from gapgame.services import playing
from sxs_eval.services import judging
from tests.clients import client_of
from tests.factories import NOW, make_comparison, make_player, make_rater, make_season

pytestmark = pytest.mark.django_db


def test_a_rater_finds_their_comment_again_after_a_question() -> None:
    comparison = make_comparison(images=2)
    rater = make_rater(comparison)
    batch = judging.take_batch(comparison=comparison, person=rater, now=timezone.now(), rng=Random(1))
    assert batch is not None
    client, page = client_of(rater), f"/judging/{batch.pk}/"
    report = f"/report/pairs/{batch.pk}/1/"
    assert '<button type="submit" name="report" value="1">' in client.get(page).content.decode()

    sent = client.post(f"{page}1/", {"report": "1", "comment": "Both name a boat."})
    assert sent["Location"] == report
    assert batch.judgements.get(position=1).choice is None
    assert client.post(report, {"comment": "Is it a boat?", "ask": "1"})["Location"] == page
    assert "Both name a boat.</textarea>" in client.get(page).content.decode()
    assert "Both name a boat." not in client.get(page).content.decode(), "once"
    client.post(f"{page}1/", {"report": "1", "comment": "Both name a boat."})
    client.post(report, {"reason": "broken"})
    assert "Both name a boat." not in client.get(page).content.decode(), "it was about the pair that is skipped"


def test_a_player_finds_their_guess_again_after_a_question() -> None:
    season = make_season(starts_at=NOW, ends_at=NOW + timedelta(days=30000))
    player = make_player(season)
    who: dict[str, Any] = {"player_id": player.pk, "user": player.user, "now": timezone.now()}
    playing.take_batch(**who, language="en", rng=Random(1))
    turn = playing.open_turn(**who)
    assert turn is not None
    type(turn).objects.update(attempts_made=1)
    client, page = client_of(player.user), f"/game/turns/{turn.pk}/"
    assert 'name="report" value="1" form="guess-form" formnovalidate' in client.get(page).content.decode()

    sent = client.post(f"{page}guess/", {"report": "1", "guess": "boat", "number": "2"})
    assert sent["Location"] == f"/report/turns/{turn.pk}/1/"
    assert not Attempt.objects.exists()
    assert 'value="boat"' in client.get(page).content.decode()
