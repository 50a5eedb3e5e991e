from django.apps import AppConfig
from django.utils import translation

from crosslens_metrics import messages


class LanguagesConfig(AppConfig):
    name = "core.languages"

    def ready(self) -> None:
        messages.use(translation)
