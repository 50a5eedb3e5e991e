from django.apps import AppConfig


class GapgameConfig(AppConfig):
    name = "gapgame"
    verbose_name = "Gap Filling Game"

    def ready(self) -> None:
        from gapgame.models import ItemSet
        from images.models import Collection
        from inference.selectors import assigned_work
        from people import personal_data
        from people.rules.lazy import LazyModule
        from people.services.ownership import register

        images = LazyModule("gapgame.selectors.assigned_images")
        data_export = LazyModule("gapgame.selectors.data_export")
        withdrawal = LazyModule("gapgame.services.withdrawal")

        assigned_work.register("gapgame", images.assigned_images)
        personal_data.register(
            "gapgame",
            export=data_export.data_export,
            on_withdrawal=withdrawal.withdraw_answers,
            on_deletion=withdrawal.forget,
        )
        register(Collection, lambda collection: ItemSet.objects.filter(collection=collection))
