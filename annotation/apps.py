from functools import partial

from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"

    def ready(self) -> None:
        from allocation import refusals
        from annotation.models import Round
        from annotation.permissions import TO_REWRITE
        from annotation.selectors import corrections, data_export, guidelines, image_uses, verification, work
        from annotation.services import english_captions, withdrawal
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

        refusals.register_module("annotation.refusals")
        assigned_work.register("annotation", work.assigned_images, verification.images_being_rated)
        assigned_work.register(TO_REWRITE, corrections.images_to_rewrite)
        personal_data.register(
            "annotation",
            export=data_export.data_export,
            on_withdrawal=withdrawal.withdraw_answers,
            on_deletion=withdrawal.return_open_batches,
        )
        texts.register(TextKind.RATING, partial(guidelines.newest_guidelines, part="rating"))
        texts.register(TextKind.WRITING, partial(guidelines.newest_guidelines, part="writing"))
        start_pages.register_for_raters("annotation:work-show", verification.has_captions_to_rate)
        register(Collection, lambda used: Round.objects.filter(collection=used))
        usage.register(image_uses.rounds_of)
        caption_switches.register(english_captions.english_switched_off)
        image_pages.register("rounds", image_uses.uses_section)
        register(CaptioningModel, lambda used: Round.objects.filter(captioners=used))
