"""Addresses of the Gap Filling Game: the players', and those of managers and researchers."""

from django.urls import path

from gapgame.views import items, play, seasons

app_name = "gapgame"
GAME = "projects/<slug:slug>/game"
ITEMS = f"{GAME}/items/<int:item_set_id>"
ONE = f"{GAME}/<slug:season_slug>"
urlpatterns = [
    path("game/", play.game_home, name="game-home"),
    path("game/turns/<uuid:turn_id>/", play.turn_show, name="turn-show"),
    path("game/turns/<uuid:turn_id>/guess/", play.guess_make, name="guess-make"),
    path("game/turns/<uuid:turn_id>/skip/", play.turn_skip, name="turn-skip"),
    path("game/turns/<uuid:turn_id>/<str:signature>/", play.image_show, name="image-show"),
    path("game/<slug:slug>/", play.season_show, name="season-show"),
    path("game/<slug:slug>/join/", play.season_join, name="season-join"),
    path("game/<slug:slug>/me/", play.player_edit, name="player-edit"),
    path("game/<slug:slug>/batch/", play.batch_take, name="batch-take"),
    path("game/<slug:slug>/next/", play.turn_open, name="turn-open"),
    path("game/<slug:slug>/ahead/", play.turn_fetch, name="turn-fetch"),
    path("game/<slug:slug>/turns/", play.turn_list, name="turn-list"),
    path("game/<slug:slug>/leaderboard/", play.leaderboard_show, name="leaderboard-show"),
    path("game/<slug:slug>/rules/", play.rules_show, name="rules-show"),
    # Before the addresses of single seasons: none may have such a name.
    path(f"{GAME}/", seasons.season_list, name="season-list"),
    path(f"{GAME}/new/", seasons.season_create, name="season-create"),
    path(f"{GAME}/items/", items.item_set_list, name="item-set-list"),
    path(f"{ITEMS}/", items.item_set_show, name="item-set-show"),
    path(f"{ITEMS}/<int:item_id>/", items.item_change, name="item-change"),
    path(f"{GAME}/vectors/", items.vectors_show, name="vectors-show"),
    path(f"{GAME}/vectors/import/", items.vectors_import, name="vectors-import"),
    path(f"{ONE}/", seasons.season_manage, name="season-manage"),
    path(f"{ONE}/progress/", seasons.season_progress, name="season-progress"),
    path(f"{ONE}/settings/", seasons.season_edit, name="season-edit"),
    path(f"{ONE}/delete/", seasons.season_delete, name="season-delete"),
    path(f"{ONE}/players/", seasons.player_list, name="player-list"),
    path(f"{ONE}/players/<int:player_id>/", seasons.player_decide, name="player-decide"),
    path(f"{ONE}/skipped/", seasons.skip_list, name="skip-list"),
    path(f"{ONE}/report/", seasons.game_report, name="game-report"),
]
