from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from django.apps import AppConfig

if TYPE_CHECKING:
    from core.people.models import User


def _skip_reported(turn_id: UUID, player: User, position: int, now: datetime) -> bool:
    # Its module brings numpy, which takes longer to load than most commands take.
    from gapgame.services import playing

    return playing.skip_reported(turn_id, player, position, now)


def _open_after(turn_id: UUID, player: User, now: datetime) -> str:
    from gapgame.services import playing

    return playing.open_after(turn_id, player, now)


class GapgameConfig(AppConfig):
    name = "gapgame"
    verbose_name = "Gap Filling Game"

    def ready(self) -> None:
        from core.conversation import permissions as reporting
        from core.conversation.rules import ReportReason
        from core.images.models import Collection
        from core.people import personal_data
        from core.people.services.ownership import register
        from gapgame.models import ItemSet
        from gapgame.selectors import persons, play
        from gapgame.services import ranking
        from research.inference.selectors import assigned_work

        reporting.KINDS["turns"] = reporting.ReportableKind(
            play.reportable_hint,
            _skip_reported,
            # There is no caption in the game.
            reasons=[reason for reason in ReportReason if reason != ReportReason.LANGUAGE],
            is_locked_last=True,
            go_on=_open_after,
        )
        assigned_work.register("gapgame", persons.assigned_images)
        personal_data.register(
            "gapgame",
            export=persons.data_export,
            on_withdrawal=ranking.withdraw_answers,
            on_deletion=ranking.forget,
        )
        register(Collection, lambda collection: ItemSet.objects.filter(collection=collection))
