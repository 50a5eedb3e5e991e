from django.apps import AppConfig


class ImagesConfig(AppConfig):
    name = "images"

    def ready(self) -> None:
        from images.selectors import data_export
        from people import personal_data

        personal_data.register("images", export=data_export)
