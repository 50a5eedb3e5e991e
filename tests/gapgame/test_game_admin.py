"""The administration shows neither words nor scores, and shows the game to superusers alone."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.urls import reverse

from gapgame.models import GameBatch, GapItem, ItemSet, Mark, Player, Season, Turn
from gapgame.rules.play import TurnScriptRule
from tests.clients import client_of
from tests.factories import NOW, make_item, make_player, make_season, make_user
from tests.gapgame.seasons import play
from tests.kept import kept

pytestmark = pytest.mark.django_db
MODELS = (GameBatch, GapItem, ItemSet, Mark, Player, Season, Turn)


@kept
def season() -> Season:
    season = make_season(items=0)
    item = make_item(season.item_set, "quokka", key="quokka-7", before="Behold the ", after=" of Rottnest.")
    player = make_player(season)
    turn = play(player, item=item, guesses=("wombat", "quokka"))
    Mark.objects.create(player=player, turn=turn, rule=TurnScriptRule.FAST, detail="wombat: 7", made_at=NOW)
    return season


def addresses() -> list[str]:
    pages = []
    for model in MODELS:
        name = f"admin:gapgame_{model._meta.model_name}"
        pages.append(reverse(f"{name}_changelist"))
        pages += [reverse(f"{name}_change", args=[row.pk]) for row in model.objects.all()]
    return pages


def test_a_superuser_finds_and_filters_all_but_words_guesses_and_scores_and_changes_nothing(season) -> None:
    client = client_of(make_user(is_staff=True, is_superuser=True))
    assert len(addresses()) == 2 * len(MODELS)
    for address in addresses():
        response = client.get(address)
        assert response.status_code == 200, address
        page = response.content.decode()
        for secret in ("quokka", "Rottnest", "wombat", "900000", "900,000"):
            assert secret not in page, (address, secret)
    asked = [f"player/?season__id__exact={season.pk}&is_marked__exact=0", "gapitem/?split__exact=1", "mark/?rule=fast"]
    asked += [f"season/?project__id__exact={season.project_id}&access__exact=open", "player/?q=nick"]
    for address in asked:
        assert client.get(f"/admin/gapgame/{address}").status_code == 200, address
    for model in MODELS:
        assert not admin.site.get_model_admin(model).has_add_permission(None)
        row = model.objects.get()
        url = reverse(f"admin:gapgame_{model._meta.model_name}_delete", args=[row.pk])
        assert client.post(url, {"post": "yes"}).status_code == 403


@pytest.mark.parametrize(
    "asked",
    [
        "player/?total__gte=1",
        "player/?turns__gt=0",
        "player/?season__players__total__gte=1",
        "gapitem/?word__startswith=q",
        "gapitem/?key__contains=quokka",
        "gapitem/?before__contains=Behold",
        "turn/?score__gte=1",
        "turn/?outcome=attempt_2",
        "turn/?item__word=quokka",
        "mark/?detail__contains=wombat",
    ],
)
def test_words_and_scores_cannot_be_asked_for_in_the_address(season, asked) -> None:
    client = client_of(make_user(is_staff=True, is_superuser=True))
    assert client.get(f"/admin/gapgame/{asked}").status_code == 400


def test_staff_with_permissions_see_nothing_of_the_game(season) -> None:
    staff = make_user(is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(content_type__app_label="gapgame"))
    client = client_of(staff)
    assert [address for address in addresses() if client.get(address).status_code != 403] == []
    assert "gapgame" not in client.get(reverse("admin:index")).content.decode()
