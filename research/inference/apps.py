from django.apps import AppConfig


class InferenceConfig(AppConfig):
    name = "research.inference"

    def ready(self) -> None:
        from django.utils.translation import gettext_lazy as _

        from core.images.selectors import filters, image_pages
        from core.people import personal_data
        from research.inference.selectors.gallery import caption_choices, caption_condition, captions_section
        from research.inference.selectors.users import data_export, register_users

        personal_data.register("inference", export=data_export)
        register_users()
        filters.register(filters.ImagesFilter("captions", _("English caption"), caption_choices, caption_condition))
        image_pages.register("captions", captions_section)
