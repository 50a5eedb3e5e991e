from django.apps import AppConfig


class CorporaConfig(AppConfig):
    name = "research.selection"
    label = "corpora"

    def ready(self) -> None:
        from django.db.models import Q
        from django.utils.translation import gettext_lazy as _

        from core.images.models import Collection
        from core.images.selectors import filters, image_pages
        from core.images.services import expected_images
        from core.people.services.ownership import register
        from research.selection.models import LanguageCollection, Selection
        from research.selection.selectors.image_places import place_choices, place_condition, places_section

        register(Collection, lambda used: Selection.objects.filter(Q(source=used) | Q(collection=used)))
        filters.register(filters.ImagesFilter("place", _("Taken in"), place_choices, place_condition))
        image_pages.register("places", places_section)
        expected_images.register("research.selection.services.exchanges.chosen_candidate")
        of_languages = LanguageCollection.objects
        register(Collection, lambda used: of_languages.filter(collection=used), "selection__project")
