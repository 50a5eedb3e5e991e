from django.apps import AppConfig


class GapgameConfig(AppConfig):
    name = "gapgame"
    verbose_name = "Gap Filling Game"

    def ready(self) -> None:
        from corpora.rules import played
        from gapgame.models import ItemSet
        from gapgame.selectors.assigned_images import assigned_images
        from gapgame.selectors.corpus_turns import played_senses
        from gapgame.selectors.data_export import data_export
        from gapgame.services import withdrawal
        from images.models import Collection
        from inference.selectors import assigned_work
        from people import personal_data
        from people.services.ownership import register

        assigned_work.register("gapgame", assigned_images)
        personal_data.register(
            "gapgame", export=data_export, on_withdrawal=withdrawal.withdraw_answers, on_deletion=withdrawal.forget
        )
        played.register("gapgame", played_senses)
        register(Collection, lambda collection: ItemSet.objects.filter(collection=collection))
