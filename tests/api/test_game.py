"""Seasons, sentences, word vectors and players by the API, which never sends a word that players have to guess."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from gapgame.models import GapItem, PlayerStatus, Season
from tests.api.seeded import Program
from tests.api.test_work import address, code
from tests.factories import make_player, make_season, make_vectors

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def season() -> Season:
    """It begins tomorrow; every word is "cat"."""
    now = timezone.now()
    return make_season(starts_at=now + DAY, ends_at=now + 2 * DAY)


@pytest.fixture
def mia(season: Season) -> Program:
    return Program(season.project.created_by)


def test_a_season_is_set_up_changed_and_deleted_until_it_begins(season, mia):
    where, begins = address("season-list", season.project.slug), timezone.now() + DAY
    times = {"starts_at": begins.isoformat(), "ends_at": (begins + DAY).isoformat()}
    (items,) = mia.all_of(address("item-set-list", season.project.slug))
    sent = {"name": "Winter", "items": items["id"], "time_zone": "Asia/Tokyo", **times}
    assert mia.post(where, **sent, vectors={"xx": 1}).json()["errors"] == {"vectors": ["Valid values: en."]}
    for wrong in ({"ends_at": "9999-12-31T23:59:59Z"}, {"starts_at": "0001-01-01"}, {"time_zone": "Moon/Base"}):
        assert list(mia.post(where, **(sent | wrong)).json()["errors"]) == list(wrong)
    made = mia.post(where, **sent)
    assert made.status_code == 201, made.json()
    assert (Season.objects.get(name="Winter").starts_at, made.json()["access"]) == (begins, "invited")
    assert made.json()["vectors"] == {"en": make_vectors().pk}
    assert list(mia.post(where, **sent).json()["errors"]) == ["name"]
    one = f"{where}{made.json()['slug']}/"
    moved = mia.patch(one, time_zone="Europe/Berlin", batch_size=7)
    assert moved.json() == made.json() | {"time_zone": "Europe/Berlin", "batch_size": 7}
    assert mia.delete(one).status_code == 204


def test_once_a_season_has_begun_only_its_texts_change(season, mia):
    Season.objects.update(starts_at=timezone.now() - DAY)
    where = address("season-show", season.project.slug, season.slug)
    assert mia.patch(where, prizes="A cake").json()["prizes"] == "A cake"
    assert mia.patch(where, batch_size=7).json()["errors"] == {"batch_size": ["This cannot be set here."]}
    assert code(mia.delete(where)) == (409, "season-refused")


def test_a_sentence_is_switched_off_and_no_word_is_sent(season, mia):
    where = address("item-list", season.project.slug, season.item_set_id)
    first, *others = mia.all_of(where)
    changed = mia.patch(f"{where}{first['id']}/", is_used=False)
    assert changed.json() == first | {"is_used": False}
    assert [row["is_used"] for row in mia.all_of(where)] == [False, *(True for _row in others)]
    assert [row["id"] for row in mia.all_of(where, use="0", language="EN")] == [first["id"]]
    of_split = {split: [row["id"] for row in mia.all_of(where, split=split)] for split in range(5)}
    assert of_split == {
        split: list(GapItem.objects.filter(split=split).values_list("pk", flat=True)) for split in range(5)
    }
    assert mia.get(where, split="5").json()["errors"] == {"split": ["Valid values: 0, 1, 2, 3, 4."]}
    pages = [mia.get(one) for one in (where, address("item-set-list", season.project.slug))]
    assert not any("cat" in page.content.decode() for page in [*pages, changed])


def test_a_player_is_set_aside_under_a_pseudonym(season, mia):
    make_player(season, "paul")
    (player,) = mia.all_of(address("player-list", season.project.slug, season.slug))
    assert (player["status"], player["points"], "paul" in str(player)) == ("playing", None, False)
    where = address("player-decide", season.project.slug, season.slug, player["player"])
    assert mia.post(where, status="set_aside").json()["status"] == PlayerStatus.SET_ASIDE
    listed = address("player-list", season.project.slug, season.slug)
    assert [len(mia.all_of(listed, shown=shown)) for shown in ("marked", "set-aside")] == [0, 1]
    assert list(mia.post(where, status="withdrawn").json()["errors"]) == ["status"]


def test_vectors_of_a_package_are_imported_in_the_background(season, mia):
    where = address("vectors-list", season.project.slug)
    assert list(mia.post(where, name="glove-6b-50d", language="xx").json()["errors"]) == ["language"]
    asked = mia.post(where, name="glove-6b-50d")
    assert (asked.status_code, asked.json()["language"]) == (202, "en")
    assert mia.get(asked["Location"]).json()["results"] == [where]
