"""The report on a season: who found the words, and how close the guesses were."""

from __future__ import annotations

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.operations import ApiOperations
from core.people.api.requested import valid_values
from core.people.api.views import person_asking
from gapgame.permissions import season_for
from gapgame.rules.report import BY
from gapgame.rules.turns import TurnRule
from gapgame.selectors.report import groups_of, report_on

api = ApiOperations("game")


@api.get(
    "game_report",
    "The report on a season",
    OpenApiTypes.OBJECT,
    description="As `manage.py game_report --json` prints it. See docs/game-files.md.",
    parameters=[
        OpenApiParameter(
            "keep", str, many=True, enum=list(TurnRule), description="Count turns that this rule leaves out."
        ),
        OpenApiParameter(
            "by", str, enum=BY, description="Figures for each of these; for players only once the season is closed."
        ),
    ],
)
def game_report(request: Request, slug: str, season_slug: str) -> Response:
    season = season_for(person_asking(request), slug, season_slug)
    by, groups = request.query_params.get("by", ""), groups_of(season)
    if by and by not in groups:
        raise serializers.ValidationError({"by": [valid_values(groups)]})
    return Response(report_on(season, keep=request.query_params.getlist("keep"), by=by).as_json())
