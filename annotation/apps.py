from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from annotation.selectors.work import images_in_hand
        from inference import exposure

        exposure.register("annotation", images_in_hand)
