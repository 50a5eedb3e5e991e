"""Addresses of the Gap Filling Game: the players', and those of managers and researchers."""

from django.urls import path

from gapgame.views import pictures, play, players

app_name = "gapgame"
urlpatterns = [
    path("game/", players.game_home, name="game-home"),
    path("game/turns/<uuid:turn_id>/", play.turn_show, name="turn-show"),
    path("game/turns/<uuid:turn_id>/guess/", play.guess_make, name="guess-make"),
    path("game/turns/<uuid:turn_id>/skip/", play.turn_skip, name="turn-skip"),
    path("game/turns/<uuid:turn_id>/<str:signature>/", pictures.picture_show, name="picture-show"),
    path("game/<slug:slug>/", players.season_show, name="season-show"),
    path("game/<slug:slug>/join/", players.season_join, name="season-join"),
    path("game/<slug:slug>/me/", players.player_edit, name="player-edit"),
    path("game/<slug:slug>/batch/", play.batch_take, name="batch-take"),
    path("game/<slug:slug>/next/", play.turn_open, name="turn-open"),
    path("game/<slug:slug>/turns/", players.turn_list, name="turn-list"),
    path("game/<slug:slug>/board/", players.board_show, name="board-show"),
    path("game/<slug:slug>/rules/", players.rules_show, name="rules-show"),
]
