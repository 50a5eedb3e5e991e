from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"

    def ready(self) -> None:
        from annotation.models import Round
        from annotation.permissions import TO_REWRITE
        from annotation.selectors.corrections import images_to_rewrite
        from annotation.selectors.own_data import own_data
        from annotation.selectors.verification import images_being_rated
        from annotation.selectors.work import images_in_hand
        from annotation.services import leaving
        from images.models import Collection
        from inference import exposure
        from inference.models import CaptioningModel
        from people import personal
        from people.ownership import register

        exposure.register("annotation", images_in_hand, images_being_rated)
        exposure.register(TO_REWRITE, images_to_rewrite)
        personal.register(
            "annotation", export=own_data, on_withdrawal=leaving.withdraw_answers, on_deletion=leaving.forget
        )
        register(Collection, lambda found: Round.objects.filter(collection=found))
        register(CaptioningModel, lambda found: Round.objects.filter(captioners=found))
