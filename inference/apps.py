from django.apps import AppConfig


class InferenceConfig(AppConfig):
    name = "inference"

    def ready(self) -> None:
        from django.utils.translation import gettext_lazy as _

        from images.selectors import filters, image_pages
        from inference.selectors.users import register_users
        from people import personal_data
        from people.rules.lazy import LazyModule

        data_export = LazyModule("inference.selectors.data_export")
        captions = LazyModule("inference.selectors.image_captions")

        personal_data.register("inference", export=data_export.data_export)
        register_users()
        filters.register(
            filters.Filter("captions", _("English caption"), captions.caption_choices, captions.caption_condition)
        )
        image_pages.register("captions", captions.captions_section)
