from django.apps import AppConfig


class GapgameConfig(AppConfig):
    name = "gapgame"
    verbose_name = "Gap Filling Game"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from gapgame.selectors.hand import images_in_hand
        from inference import exposure

        exposure.register("gapgame", images_in_hand)
