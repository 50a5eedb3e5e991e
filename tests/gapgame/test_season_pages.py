"""Pages of managers and researchers about seasons, and that none of them tells a score before the close."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse

from core.images.models import Image
from core.jobs.models import JobState
from core.people.models import Project
from gapgame.models import ItemSet, Season, SeasonAccess, SeasonLanguage, SkipReason, TurnOutcome
from gapgame.services import playing
from gapgame.services.playing import GRACE
from tests.clients import client_of
from tests.factories import MINUTE, NOW, make_player, make_project, make_season, make_vectors
from tests.gapgame.seasons import DAY, close, make_playable, make_researcher, play, set_clock, text_of, url_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


@pytest.fixture
def items(project) -> ItemSet:
    return make_playable(project)


def form_of(project: Project, items: ItemSet, **fields: str) -> dict[str, str]:
    return {
        "name": "Summer",
        "time_zone": "UTC",
        "starts_at": "2026-05-01T12:00",
        "ends_at": "2026-05-31T20:00",
        "batch_size": "100",
        "access": "invited",
        "vectors-en": str(make_vectors().pk),
    } | fields


def create(client: Client, project: Project, items: ItemSet, **fields: str):
    url = reverse("gapgame:season-create", args=[project.slug]) + f"?items={items.pk}"
    return client.post(url, form_of(project, items, **fields))


def test_a_project_without_sentences_is_told_to_import_some_and_offered_none_of_others(project, manager) -> None:
    assert "First import sentences" in text_of(manager.get(reverse("gapgame:season-list", args=[project.slug])))
    assert "no sentences in use" in text_of(manager.get(reverse("gapgame:season-create", args=[project.slug])))
    other = make_playable(make_project())
    url = reverse("gapgame:season-create", args=[project.slug]) + f"?items={other.pk}"
    assert "This set no longer exists" in text_of(manager.get(url)) or "no sentences" in text_of(manager.get(url))


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(
    ("time_zone", "starts_at", "instant"),
    [
        ("Asia/Kolkata", "2026-05-01T12:00", datetime(2026, 5, 1, 6, 30, tzinfo=UTC)),
        ("America/St_Johns", "2026-05-01T12:00", datetime(2026, 5, 1, 14, 30, tzinfo=UTC)),
        ("Pacific/Kiritimati", "2026-05-01T12:00", datetime(2026, 4, 30, 22, 0, tzinfo=UTC)),
        ("europe/berlin", "2026-03-29T03:00", datetime(2026, 3, 29, 1, 0, tzinfo=UTC)),
    ],
)
def test_times_are_those_of_clocks_in_the_zone(project, items, manager, time_zone, starts_at, instant) -> None:
    response = create(manager, project, items, time_zone=time_zone, starts_at=starts_at)
    assert response.status_code == 302
    season = Season.objects.get()
    assert season.starts_at == instant
    assert season.time_zone.casefold() == time_zone.casefold()
    # The form shows what was typed, and sending it again changes nothing.
    page = manager.get(url_of("season-edit", season)).content.decode()
    assert f'value="{starts_at}"' in page
    again = form_of(project, items, time_zone=time_zone, starts_at=starts_at)
    assert manager.post(url_of("season-edit", season), again).status_code == 302
    season.refresh_from_db()
    assert season.starts_at == instant


def test_a_time_that_is_jumped_over_is_refused_and_a_city_leads_to_its_zone(project, items, manager) -> None:
    response = create(manager, project, items, time_zone="Europe/Berlin", starts_at="2026-03-29T02:30")
    assert response.status_code == 422
    assert "does not exist in Europe/Berlin" in str(response.context["form"].errors["starts_at"])
    assert not Season.objects.exists()
    response = create(manager, project, items, time_zone="st johns")
    assert "America/St_Johns" in str(response.context["form"].errors["time_zone"])


@pytest.mark.parametrize(("which", "hour"), [("first", 0), ("second", 1)])
def test_a_time_that_comes_twice_is_asked_about(project, items, manager, which, hour) -> None:
    times = {"time_zone": "Europe/Berlin", "ends_at": "2026-10-25T02:30"}
    asked = create(manager, project, items, **times)
    assert asked.status_code == 422
    page = asked.content.decode()
    assert "occurs twice" in page
    assert 'name="ends_which"' in page
    assert 'name="starts_which"' not in page
    assert create(manager, project, items, **times, ends_which=which).status_code == 302
    season = Season.objects.get()
    assert season.ends_at == datetime(2026, 10, 25, hour, 30, tzinfo=UTC)
    edit = manager.get(url_of("season-edit", season))
    assert edit.context["form"]["ends_which"].value() == which
    again = form_of(project, items, **times, ends_which=which)
    assert manager.post(url_of("season-edit", season), again).status_code == 302
    season.refresh_from_db()
    assert season.ends_at == datetime(2026, 10, 25, hour, 30, tzinfo=UTC)


def test_what_cannot_be_played_is_refused_with_all_that_was_typed(project, items, manager) -> None:
    for fields, field in (
        ({"time_zone": "Berlin"}, "time_zone"),
        ({"time_zone": "../../etc/passwd"}, "time_zone"),
        ({"starts_at": "tomorrow"}, "starts_at"),
        ({"starts_at": "0001-01-01T00:00", "time_zone": "Pacific/Kiritimati"}, "starts_at"),
        ({"ends_at": "9999-12-31T23:59", "time_zone": "Pacific/Pago_Pago"}, "ends_at"),
        ({"ends_at": "2026-05-01T12:00"}, "__all__"),
        ({"batch_size": "0"}, "batch_size"),
        ({"access": "everybody"}, "access"),
        ({"vectors-en": ""}, "__all__"),
        ({"vectors-en": "0"}, "vectors-en"),
        ({"name": ""}, "name"),
    ):
        response = create(manager, project, items, **{"description": "Typed before", **fields})
        assert response.status_code == 422, fields
        assert field in response.context["form"].errors
        assert "Typed before" in response.content.decode()
    assert not Season.objects.exists()


def test_the_form_offers_vectors_of_the_language_alone(project, items, manager) -> None:
    english, german = make_vectors(), make_vectors("de")
    url = reverse("gapgame:season-create", args=[project.slug]) + f"?items={items.pk}"
    offered = manager.get(url).context["form"].fields["vectors-en"].queryset
    assert set(offered) == {english}
    response = create(manager, project, items, **{"vectors-en": str(german.pk)})
    assert response.status_code == 422
    assert not Season.objects.exists()


def test_a_new_season_is_warned_of_words_without_vectors_and_images_that_wait(project, manager) -> None:
    items = make_playable(project, ("cat", "zyzzyva", "quokka"))
    waiting = items.items.get(word="quokka").images.first()
    Image.objects.filter(pk=waiting.image_id).update(state=JobState.QUEUED)
    response = create(manager, project, items)
    said = text_of(manager.get(response["Location"]))
    assert "2 answers have no vector" in said
    assert "quokka, zyzzyva" in said
    assert "1 of 3 sentences in use have no images ready" in said


def test_many_words_without_vectors_are_counted_and_the_first_ones_named(project, manager) -> None:
    items = make_playable(project, tuple(f"word{number:03}" for number in range(30)))
    said = text_of(manager.get(create(manager, project, items)["Location"]))
    assert "30 answers have no vector" in said
    assert "word019 and more" in said
    assert "word020" not in said


def test_everybody_may_sign_up_for_an_open_season(project, items, manager) -> None:
    create(manager, project, items, access="open")
    season = Season.objects.get()
    assert season.access == SeasonAccess.OPEN
    assert season.invitation is not None
    assert season.invitation.token not in text_of(manager.get(url_of("season-manage", season)))


def test_a_form_from_before_the_start_is_refused_and_then_takes_texts_alone(season, items, manager, project) -> None:
    before = Season.objects.filter(pk=season.pk).values().get()
    response = manager.post(url_of("season-edit", season), form_of(project, items, name="Renamed"))
    assert response.status_code == 422
    assert "has started" in text_of_error(response)
    assert Season.objects.filter(pk=season.pk).values().get() == before
    assert 'value="Renamed"' in response.content.decode()
    page = manager.get(url_of("season-edit", season))
    assert set(page.context["form"].fields) == {"name", "description", "prizes"}
    terms = Season.objects.filter(pk=season.pk).values("starts_at", "ends_at", "time_zone", "batch_size").get()
    sent = {"name": "Renamed", "prizes": "A book"}
    assert manager.post(url_of("season-edit", season), sent).status_code == 302
    season.refresh_from_db()
    assert (season.name, season.prizes) == ("Renamed", "A book")
    assert Season.objects.filter(pk=season.pk).values("starts_at", "ends_at", "time_zone", "batch_size").get() == terms


def text_of_error(response) -> str:
    return str(response.context["form"].non_field_errors())


def test_a_season_can_be_deleted_until_it_begins(project, items, manager, monkeypatch) -> None:
    create(manager, project, items, starts_at="2026-03-03T09:00")
    season = Season.objects.get()
    set_clock(monkeypatch, season.starts_at - timedelta(seconds=10))
    manager.post(url_of("season-delete", season))
    assert Season.objects.exists()
    set_clock(monkeypatch, NOW)
    manager.post(url_of("season-delete", season))
    assert not Season.objects.exists()


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(
    ("since_end", "said"),
    [
        (-3 * DAY, "upcoming"),
        (-DAY, "open"),
        (timedelta(0), "being scored"),
        (GRACE - timedelta(seconds=1), "being scored"),
    ],
)
def test_the_overview_says_where_the_season_is(season, manager, monkeypatch, since_end, said) -> None:
    set_clock(monkeypatch, season.ends_at + since_end)
    assert said in text_of(manager.get(url_of("season-manage", season)))
    assert said in text_of(manager.get(url_of("season-progress", season)))


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_overview_counts_turns_players_and_skips(season, manager, monkeypatch) -> None:
    set_clock(monkeypatch, NOW + MINUTE)
    items = list(season.item_set.items.all())
    ann, bob = make_player(season), make_player(season)
    play(ann, item=items[0], guesses=("cat",))
    play(ann, item=items[1], guesses=("dog", "cat"))
    skipped = play(bob, item=items[0])
    playing.skip(turn_id=skipped.pk, user=bob.user, reason=SkipReason.BROKEN, now=NOW)
    play(bob, item=items[2])
    play(make_player(season), item=items[1], guesses=("cat",), at=NOW - 10 * MINUTE)
    progress = manager.get(url_of("season-manage", season)).context["progress"]
    assert (progress.players, progress.active, progress.batches) == (3, 2, 5)
    assert dict(progress.counts) == {
        TurnOutcome.ATTEMPT_1: 2,
        TurnOutcome.ATTEMPT_2: 1,
        TurnOutcome.SKIPPED: 1,
        TurnOutcome.OPEN: 1,
    }
    assert progress.ended == 4
    said = text_of(manager.get(url_of("season-manage", season)))
    assert "Finished turns 4 In progress 1 Not started" in said
    assert "Skipped 1 Marked" in said


def test_once_closed_the_overview_asks_no_more(season, manager, monkeypatch) -> None:
    set_clock(monkeypatch, season.ends_at + GRACE)
    assert "hx-get" in manager.get(url_of("season-progress", season)).content.decode()
    close(season)
    page = manager.get(url_of("season-progress", season)).content.decode()
    assert "hx-get" not in page
    assert "closed" in page


def test_times_stand_in_the_zone_of_the_season_and_in_utc(project, manager) -> None:
    season = make_season(project=project, time_zone="Asia/Kolkata")
    said = text_of(manager.get(url_of("season-manage", season)))
    assert "3 Mar 2026, 14:30" in said
    assert "Asia/Kolkata" in said
    assert "3 Mar, 09:00 UTC" in said


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_work_of_a_project_leads_to_the_game(project, manager) -> None:
    link = f'href="{reverse("gapgame:season-list", args=[project.slug])}"'
    for client in (manager, client_of(make_researcher(project))):
        assert link in client.get(reverse("annotation:guidelines-show", args=[project.slug])).content.decode()
    assert link in client_of(make_researcher(project)).get(reverse("sxs_eval:evaluation-list")).content.decode()


def test_after_a_batch_the_same_language_is_offered_first(season) -> None:
    german = make_vectors("de")
    SeasonLanguage.objects.create(season=season, language_id="de", vectors=german, signature=german.signature)
    player = make_player(season)
    play(player, item=season.item_set.items.first(), guesses=("cat",))

    page = client_of(player.user).get(reverse("gapgame:season-show", args=[season.slug])).content.decode()

    offered = re.findall(r'class="(button[^"]*)"\s+type="submit" name="language" value="(\w+)"', page)
    assert [language for kind, language in sorted(offered) if "primary" in kind] == ["en"]
    assert len(offered) == 2
