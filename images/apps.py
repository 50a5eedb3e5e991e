from django.apps import AppConfig


class ImagesConfig(AppConfig):
    name = "images"

    def ready(self) -> None:
        from images.selectors import own_data
        from people import personal

        personal.register("images", export=own_data)
