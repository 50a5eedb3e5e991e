from django.apps import AppConfig


class CorporaConfig(AppConfig):
    name = "corpora"

    def ready(self) -> None:
        from django.db.models import Q
        from django.utils.translation import gettext_lazy as _

        from corpora.models import LanguageCollection, Selection
        from corpora.selectors.collection_filters import place_choices, place_condition, places_section
        from images.models import Collection
        from images.selectors import filters, image_pages
        from images.services import expected_images
        from people.services.ownership import register

        register(Collection, lambda used: Selection.objects.filter(Q(source=used) | Q(collection=used)))
        filters.register(filters.ImagesFilter("place", _("Taken in"), place_choices, place_condition))
        image_pages.register("places", places_section)
        expected_images.register("corpora.services.selected_files.chosen_candidate")
        of_languages = LanguageCollection.objects
        register(Collection, lambda used: of_languages.filter(collection=used), "selection__project")
