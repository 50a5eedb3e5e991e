from django.apps import AppConfig


class GapgameConfig(AppConfig):
    name = "gapgame"
    verbose_name = "Gap Filling Game"

    def ready(self) -> None:
        from core.conversation import permissions as reporting
        from core.images.models import Collection
        from core.people import personal_data
        from core.people.services.ownership import register
        from gapgame.models import ItemSet
        from gapgame.selectors import persons, play
        from gapgame.services import ranking
        from research.inference.selectors import assigned_work

        reporting.KINDS["turns"] = reporting.ReportableKind(play.reportable_hint, lambda *_item: None)
        assigned_work.register("gapgame", persons.assigned_images)
        personal_data.register(
            "gapgame",
            export=persons.data_export,
            on_withdrawal=ranking.withdraw_answers,
            on_deletion=ranking.forget,
        )
        register(Collection, lambda collection: ItemSet.objects.filter(collection=collection))
