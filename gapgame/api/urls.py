"""Addresses of the Gap Filling Game under /api/v1/."""

from django.urls import path

from gapgame.api import items, players, reports, seasons

GAME = "projects/<slug:slug>/game"
ONE = f"{GAME}/seasons/<slug:season_slug>"

urlpatterns = [
    path(f"{GAME}/seasons/", seasons.season_list_or_create, name="season-list"),
    path(f"{ONE}/", seasons.season_show_change_or_delete, name="season-show"),
    path(f"{ONE}/report/", reports.game_report, name="game-report"),
    path(f"{ONE}/skipped/", items.skipped_list, name="skipped-list"),
    path(f"{ONE}/players/", players.player_list, name="player-list"),
    path(f"{ONE}/players/<slug:pseudonym>/decision/", players.player_decide, name="player-decide"),
    path(f"{GAME}/items/", items.item_set_list, name="item-set-list"),
    path(f"{GAME}/items/<int:item_set_id>/", items.item_list, name="item-list"),
    path(f"{GAME}/items/<int:item_set_id>/<int:item_id>/", items.item_change, name="item-change"),
    path(f"{GAME}/vectors/", items.vectors_list_or_import, name="vectors-list"),
]
