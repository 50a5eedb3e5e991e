from django.apps import AppConfig


class CorporaConfig(AppConfig):
    name = "corpora"

    def ready(self) -> None:
        from django.db.models import Q

        from corpora.models import LanguageCollection, Selection
        from images.models import Collection
        from people.services.ownership import register

        register(Collection, lambda used: Selection.objects.filter(Q(source=used) | Q(collection=used)))
        of_languages = LanguageCollection.objects
        register(Collection, lambda used: of_languages.filter(collection=used), "selection__project")
