from django.apps import AppConfig


class ScoringConfig(AppConfig):
    name = "scoring"

    def ready(self) -> None:
        from django.db.models import Q

        from images.models import Collection
        from inference.models import CaptioningModel, Encoder, Run
        from people import personal_data
        from people.services.ownership import register
        from scoring.models import ReferenceSet, Scoring
        from scoring.selectors.data_export import data_export

        personal_data.register("scoring", export=data_export)
        register(Collection, lambda found: ReferenceSet.objects.filter(collection=found))
        register(CaptioningModel, lambda found: Scoring.objects.filter(model=found))
        register(Encoder, lambda found: Scoring.objects.filter(Q(encoder=found) | Q(english_encoder=found)))
        register(Run, lambda found: Scoring.objects.filter(features__run=found))
