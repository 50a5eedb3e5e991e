from functools import partial

from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"

    def ready(self) -> None:
        from annotation import refusals  # noqa: F401 registers its own
        from annotation.models import Round
        from annotation.permissions import TO_REWRITE
        from annotation.selectors.corrections import images_to_rewrite
        from annotation.selectors.data_export import data_export
        from annotation.selectors.guidelines import newest_guidelines
        from annotation.selectors.image_uses import rounds_of, uses_section
        from annotation.selectors.verification import has_captions_to_rate, images_being_rated
        from annotation.selectors.work import assigned_images
        from annotation.services import withdrawal
        from annotation.services.english_captions import english_switched_off
        from corpora.selectors import usage
        from images.models import Collection
        from images.selectors import image_pages
        from inference.models import CaptioningModel
        from inference.selectors import assigned_work
        from inference.services import caption_switches
        from people import personal_data
        from people.models import TextKind
        from people.selectors import start_pages, texts
        from people.services.ownership import register

        assigned_work.register("annotation", assigned_images, images_being_rated)
        assigned_work.register(TO_REWRITE, images_to_rewrite)
        personal_data.register(
            "annotation", export=data_export, on_withdrawal=withdrawal.withdraw_answers, on_deletion=withdrawal.forget
        )
        texts.register(TextKind.RATING, partial(newest_guidelines, part="rating"))
        texts.register(TextKind.WRITING, partial(newest_guidelines, part="writing"))
        start_pages.register_for_raters("annotation:work-show", has_captions_to_rate)
        register(Collection, lambda used: Round.objects.filter(collection=used))
        usage.register(rounds_of)
        caption_switches.register(english_switched_off)
        image_pages.register("rounds", uses_section)
        register(CaptioningModel, lambda used: Round.objects.filter(captioners=used))
