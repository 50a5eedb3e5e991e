from django.apps import AppConfig


class InferenceConfig(AppConfig):
    name = "inference"

    def ready(self) -> None:
        from django.utils.translation import gettext_lazy as _

        from images.selectors import filters, image_pages
        from inference.selectors.data_export import data_export
        from inference.selectors.image_captions import caption_choices, caption_condition, captions_section
        from inference.selectors.users import register_users
        from people import personal_data

        personal_data.register("inference", export=data_export)
        register_users()
        filters.register(filters.ImagesFilter("captions", _("English caption"), caption_choices, caption_condition))
        image_pages.register("captions", captions_section)
