from django.apps import AppConfig


class GapgameConfig(AppConfig):
    name = "gapgame"
    verbose_name = "Gap Filling Game"

    def ready(self) -> None:
        from gapgame.models import ItemSet
        from gapgame.selectors.hand import images_in_hand
        from gapgame.selectors.own_data import own_data
        from gapgame.services import leaving
        from images.models import Collection
        from inference import exposure
        from people import personal
        from people.ownership import register

        exposure.register("gapgame", images_in_hand)
        personal.register(
            "gapgame", export=own_data, on_withdrawal=leaving.withdraw_answers, on_deletion=leaving.forget
        )
        register(Collection, lambda found: ItemSet.objects.filter(collection=found))
