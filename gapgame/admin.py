"""Admin pages of seasons and their people. They show neither words nor scores to anybody."""

from __future__ import annotations

from django.db.models import Model
from django.http import HttpRequest

from core.people.admin import LookUpAdmin, look_up, look_up_inline
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


look_up(GameBatch, ItemSet, kind=SuperuserOnly)
look_up(Season, hidden=("invitation",), inlines=(look_up_inline(SeasonLanguage),), kind=SuperuserOnly)
look_up(
    Player, kind=SuperuserOnly, list_filter=("season", "status", "is_marked"),
    hidden=("total", "reached_at", "turns", "streak", "best_streak", "turns_checked", "rank"),
)  # fmt: skip
look_up(
    Turn, kind=SuperuserOnly, list_filter=(), list_select_related=("player", "batch__player"),
    hidden=("id", "item", "seed", "outcome", "attempts_made", "score", "shown_at", "skip_reason", "skip_note"),
)  # fmt: skip
# The evidence may say what was guessed, or how often it was right.
look_up(Mark, hidden=("detail",), list_filter=("rule",), kind=SuperuserOnly)


class ItemAdmin(SuperuserOnly):
    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> GapItem | None:
        item: GapItem | None = super().get_object(request, object_id, from_field)
        if item is not None:
            # The heading of the page is the row's own name, and keys may be made of words, too.
            item.key = str(item.pk)
        return item


look_up(
    GapItem, kind=ItemAdmin, list_filter=("split", "is_used"),
    hidden=("key", "before", "after", "word", "sense", "import_job"),
)  # fmt: skip
