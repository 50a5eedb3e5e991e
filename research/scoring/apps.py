from django.apps import AppConfig


class ScoringConfig(AppConfig):
    name = "research.scoring"

    def ready(self) -> None:
        from django.db.models import Q

        from core.images.models import Collection
        from core.people import personal_data
        from core.people.services.ownership import register
        from research.inference.models import CaptioningModel, Encoder, Run, Translator
        from research.scoring.models import ReferenceSet, ReferenceTranslation, Scoring
        from research.scoring.selectors.data_export import data_export

        personal_data.register("scoring", export=data_export)
        register(Collection, lambda owned: ReferenceSet.objects.filter(collection=owned))
        register(CaptioningModel, lambda owned: Scoring.objects.filter(model=owned))
        register(Encoder, lambda owned: Scoring.objects.filter(Q(encoder=owned) | Q(english_encoder=owned)))
        register(Run, lambda owned: Scoring.objects.filter(features__run=owned))
        register(Translator, lambda owned: ReferenceTranslation.objects.filter(translator=owned), "made__project")
