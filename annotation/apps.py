from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from django.apps import AppConfig

if TYPE_CHECKING:
    from core.people.models import User


def _skip_rating(batch_id: UUID, person: User, position: int, now: datetime) -> bool:
    # Its module brings numpy, which takes longer to load than most commands take.
    from annotation.services import verification

    return verification.KIND.skip_task(batch_id, person, position, now)


class AnnotationConfig(AppConfig):
    name = "annotation"

    def ready(self) -> None:
        from annotation.models import CaptionGloss, GlossRequest, MessageGloss, Round
        from annotation.models.rounds import level_names
        from annotation.permissions import TO_REWRITE, is_kept_from_author
        from annotation.selectors import data_export, feedback, guidelines, image_uses, reportable, verification, work
        from annotation.services import batches, english_captions, withdrawal
        from core.allocation import refusals
        from core.conversation import permissions as reporting
        from core.conversation.selectors import ReadingRule, message_glosses, register_reading
        from core.images.models import Collection
        from core.images.selectors import image_pages
        from core.people import personal_data
        from core.people.models import TextKind
        from core.people.selectors import texts
        from core.people.selectors.projects import register_for_raters
        from core.people.services.ownership import register
        from research.inference.models import CaptioningModel, Translator
        from research.inference.selectors import assigned_work
        from research.inference.services import caption_switches
        from research.selection.selectors import usage

        refusals.register_module("annotation.refusals")
        register_reading(
            ReadingRule(
                others=assigned_work.is_assigned,
                feedback=is_kept_from_author,
                written=work.is_on_screen_2,
                while_writing=work.while_writing,
            )
        )
        reporting.KINDS["captions"] = reporting.ReportableKind(
            reportable.described, batches.KIND.skip_task, reportable.described_captions
        )
        reporting.KINDS["ratings"] = reporting.ReportableKind(reportable.rated, _skip_rating, reportable.rated_captions)
        assigned_work.register("annotation", work.assigned_images, verification.images_being_rated)
        assigned_work.register(TO_REWRITE, feedback.images_to_rewrite)
        personal_data.register(
            "annotation",
            export=data_export.data_export,
            on_withdrawal=withdrawal.withdraw_answers,
            on_deletion=withdrawal.return_open_batches,
        )
        for part in (TextKind.RATING, TextKind.WRITING):
            texts.register(part, partial(guidelines.newest_guidelines, part=part), level_names)
        register_for_raters("annotation:work-show", verification.has_captions_to_rate)
        register(Collection, lambda used: Round.objects.filter(collection=used))
        register(Translator, lambda used: GlossRequest.objects.filter(translator=used))
        register(Translator, lambda used: CaptionGloss.objects.filter(translator=used), "caption__round__project")
        register(Translator, lambda used: MessageGloss.objects.filter(translator=used), "message__thread__project")
        message_glosses.append("gloss__translator")
        usage.register(image_uses.rounds_of)
        caption_switches.register(english_captions.english_switched_off)
        image_pages.register("rounds", image_uses.uses_section)
        register(CaptioningModel, lambda used: Round.objects.filter(captioners=used))
