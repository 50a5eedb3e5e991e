"""Admin pages of seasons and their people. They show neither words nor scores to anybody."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from core.people.admin import LookUpAdmin, LookUpOnly
from gapgame.models import GameBatch, GapItem, ItemSet, Mark, Player, Season, SeasonLanguage, Turn


class SuperuserOnly(LookUpAdmin):
    """Staff with single permissions may be players of a season."""

    def has_view_permission(self, request: HttpRequest, row: Model | None = None) -> bool:
        return bool(request.user.is_active and request.user.is_superuser)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Only the page's filters: with ?total__gte=… in the address, somebody could rebuild the scores."""
        return lookup.partition("__")[0] in self.list_filter and super().lookup_allowed(lookup, value, request)


class SeasonLanguageInline(LookUpOnly, admin.TabularInline):  # type: ignore[type-arg]
    model = SeasonLanguage
    extra = 0


@admin.register(ItemSet)
class ItemSetAdmin(SuperuserOnly):
    list_display = ("name", "project", "created_at", "created_by")
    list_filter = ("project",)
    list_select_related = ("project", "created_by")


@admin.register(GapItem)
class ItemAdmin(SuperuserOnly):
    """Hide keys too: they may be made of words."""

    list_display = ("pk", "item_set", "language", "split", "is_used")
    fields = ("item_set", "language", "split", "representative_source", "is_used")
    list_filter = ("split", "is_used")
    list_select_related = ("item_set", "language")

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> GapItem | None:
        item: GapItem | None = super().get_object(request, object_id, from_field)
        if item is not None:
            # The heading of the page is the row's own name.
            item.key = str(item.pk)
        return item


@admin.register(Season)
class SeasonAdmin(SuperuserOnly):
    list_display = ("name", "project", "access", "starts_at", "ends_at", "time_zone", "closed_at")
    list_filter = ("project", "access")
    list_select_related = ("project",)
    exclude = ("invitation",)
    inlines = (SeasonLanguageInline,)


@admin.register(Player)
class PlayerAdmin(SuperuserOnly):
    list_display = ("nickname", "season", "user", "joined_at", "is_marked", "status")
    fields = ("season", "user", "nickname", "is_on_leaderboard", "joined_at", "is_marked", "status")
    list_filter = ("season", "status", "is_marked")
    search_fields = ("nickname", "user__username")
    list_select_related = ("season", "user")


@admin.register(GameBatch)
class GameBatchAdmin(SuperuserOnly):
    list_display = ("pk", "player", "language", "number", "taken_at")
    list_select_related = ("player", "language")


@admin.register(Turn)
class TurnAdmin(SuperuserOnly):
    list_display = ("pk", "player", "batch", "position", "opened_at", "finished_at")
    fields = ("player", "batch", "position", "opened_at", "finished_at")
    list_select_related = ("player", "batch__player")


@admin.register(Mark)
class MarkAdmin(SuperuserOnly):
    """Hide the evidence: it may say what was guessed, or how often it was right."""

    list_display = ("player", "rule", "turn", "made_at")
    fields = ("player", "rule", "turn", "made_at")
    list_filter = ("rule",)
    list_select_related = ("player", "turn")
