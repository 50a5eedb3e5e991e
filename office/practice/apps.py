from functools import partial

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PracticeConfig(AppConfig):
    name = "office.practice"

    def ready(self) -> None:
        from core.people import personal_data
        from core.people.selectors import qualification, texts
        from core.people.services.members import also_begin
        from office.practice.rules.texts import check_translation
        from office.practice.selectors.managing import data_export
        from office.practice.selectors.practising import images_kept_from, images_of_examples, missing_practice
        from office.practice.selectors.texts import TEXT_KINDS, newest_text
        from office.practice.services.attempts import forget_messages
        from office.practice.services.sets import begin_practice
        from research.inference.selectors import assigned_work

        personal_data.register("practice", export=data_export, on_deletion=forget_messages)
        assigned_work.register_known(images_kept_from, images_of_examples)
        qualification.also_require(missing_practice)
        also_begin(begin_practice)
        help_text = _(
            "Lines with > are captions: write them as people say it, with the same content and the same mistakes. "
            "Lines with = are what a caption must mention, with | between words for the same thing or "
            "their beginnings."
        )
        for kind, text in TEXT_KINDS.items():
            texts.register(text, partial(newest_text, kind=kind), check=check_translation, help=help_text)
