from django.apps import AppConfig


class GapgameConfig(AppConfig):
    name = "gapgame"
    verbose_name = "Gap Filling Game"

    def ready(self) -> None:
        from core.images.models import Collection
        from core.people import personal_data
        from core.people.services.ownership import register
        from gapgame.models import ItemSet
        from gapgame.selectors import assigned_images, data_export
        from gapgame.services import withdrawal
        from research.inference.selectors import assigned_work

        assigned_work.register("gapgame", assigned_images.assigned_images)
        personal_data.register(
            "gapgame",
            export=data_export.data_export,
            on_withdrawal=withdrawal.withdraw_answers,
            on_deletion=withdrawal.forget,
        )
        register(Collection, lambda collection: ItemSet.objects.filter(collection=collection))
