from django.apps import AppConfig


class CorporaConfig(AppConfig):
    name = "corpora"

    def ready(self) -> None:
        from django.db.models import Q
        from django.utils.translation import gettext_lazy as _

        from corpora.models import LanguageCollection, Selection
        from images.models import Collection
        from images.selectors import filters, image_pages
        from people.rules.lazy import LazyModule
        from people.services.ownership import register

        of_places = LazyModule("corpora.selectors.collection_filters")

        register(Collection, lambda used: Selection.objects.filter(Q(source=used) | Q(collection=used)))
        filters.register(filters.Filter("place", _("Taken in"), of_places.place_choices, of_places.place_condition))
        image_pages.register("places", of_places.places_section)
        of_languages = LanguageCollection.objects
        register(Collection, lambda used: of_languages.filter(collection=used), "selection__project")
