from django.apps import AppConfig


class GapgameConfig(AppConfig):
    name = "gapgame"
    verbose_name = "Gap Filling Game"

    def ready(self) -> None:
        from gapgame.models import ItemSet
        from gapgame.selectors import assigned_images, data_export
        from gapgame.services import withdrawal
        from images.models import Collection
        from inference.selectors import assigned_work
        from people import personal_data
        from people.services.ownership import register

        assigned_work.register("gapgame", assigned_images.assigned_images)
        personal_data.register(
            "gapgame",
            export=data_export.data_export,
            on_withdrawal=withdrawal.withdraw_answers,
            on_deletion=withdrawal.forget,
        )
        register(Collection, lambda collection: ItemSet.objects.filter(collection=collection))
