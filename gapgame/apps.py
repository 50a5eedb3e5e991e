from django.apps import AppConfig


class GapgameConfig(AppConfig):
    name = "gapgame"
    verbose_name = "Gap Filling Game"
    default_auto_field = "django.db.models.BigAutoField"
