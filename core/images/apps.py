from django.apps import AppConfig


class ImagesConfig(AppConfig):
    name = "core.images"

    def ready(self) -> None:
        from core.images.selectors import data_export
        from core.people import personal_data

        personal_data.register("images", export=data_export)
