"""Players of a season under pseudonyms, and managers' decisions about them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.operations import ApiOperations
from core.people.api.pagination import ListPart, page
from core.people.api.pseudonyms import person_called
from core.people.api.requested import validated_data
from core.people.api.views import person_asking
from core.people.models import Role, User
from core.people.rules.pseudonyms import pseudonym
from gapgame.models import Player, PlayerStatus, Season
from gapgame.permissions import season_for
from gapgame.selectors.overview import PlayerRow, PlayersShown, player_rows, players_of
from gapgame.services.ranking import DECISIONS, decide

api = ApiOperations("game")


class BrokenRuleSerializer(serializers.Serializer[Any]):
    label = serializers.CharField(help_text="Why play looks scripted.")  # type: ignore[assignment]
    turns = serializers.IntegerField(help_text="How many single turns do; 0 if it is about play as a whole.")


class PlayerSerializer(serializers.Serializer[Any]):
    player = serializers.SerializerMethodField(help_text="A pseudonym.")
    status = serializers.ChoiceField(PlayerStatus.choices, source="player.status")
    is_marked = serializers.BooleanField(source="player.is_marked")
    rules = BrokenRuleSerializer(many=True)
    joined_at = serializers.DateTimeField(source="player.joined_at")
    points = serializers.FloatField(allow_null=True, help_text="Null until the season is closed.")
    turns = serializers.IntegerField(allow_null=True, help_text="Scored ones; null until the season is closed.")

    def get_player(self, row: PlayerRow) -> str:
        return pseudonym(self.context["project"], row.player.user_id)


class PlayerDecisionSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(
        DECISIONS, help_text="`set_aside` players cannot win; `cleared` ones stay whatever is marked; `playing` undoes."
    )


@api.list(
    "players",
    "The players of a season",
    "PlayerPage",
    PlayerSerializer,
    parameters=[OpenApiParameter("shown", str, enum=PlayersShown.values, description="Only those in this state.")],
)
def player_list(request: Request, slug: str, season_slug: str) -> Response:
    season = season_for(person_asking(request), slug, season_slug, Role.MANAGER)
    players = players_of(season, PlayersShown(request.query_params.get("shown") or PlayersShown.ALL))
    return page(request, [ListPart(0, players)], order=["pk"], show=partial(_shown, season))


@api.post(
    "player_decide",
    "Set a player aside or clear them, or undo that",
    PlayerSerializer,
    request=PlayerDecisionSerializer,
    description="Who withdrew their answers stays out.",
)
def player_decide(request: Request, slug: str, season_slug: str, pseudonym: str) -> Response:
    season = season_for(person_asking(request), slug, season_slug, Role.MANAGER)
    players = players_of(season)
    person = person_called(pseudonym, season.project, User.objects.filter(pk__in=players.values("user")))
    status = PlayerStatus(validated_data(PlayerDecisionSerializer, request)["status"])
    found = players.get(user=person)
    decide(player_id=found.pk, season=season, status=status, by=person_asking(request), now=timezone.now())
    return Response(_shown(season, [players.get(pk=found.pk)])[0])


def _shown(season: Season, players: Sequence[Player]) -> Any:
    return PlayerSerializer(player_rows(season, players), many=True, context={"project": season.project}).data
