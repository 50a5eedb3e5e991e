from django.apps import AppConfig


class SxsEvalConfig(AppConfig):
    name = "sxs_eval"
    verbose_name = "side-by-side evaluation"

    def ready(self) -> None:
        from django.db.models import Q

        from images.models import Collection
        from inference import exposure
        from inference.models import CaptioningModel
        from people import personal
        from people.ownership import register
        from scoring import verdicts
        from sxs_eval.models import Comparison
        from sxs_eval.selectors.own_data import own_data
        from sxs_eval.selectors.verdicts import verdicts_of
        from sxs_eval.selectors.work import images_in_hand, images_of_worse_captions
        from sxs_eval.services import leaving

        exposure.register("sxs_eval", images_in_hand, images_of_worse_captions)
        verdicts.register("sxs_eval", verdicts_of)
        personal.register(
            "sxs_eval", export=own_data, on_withdrawal=leaving.withdraw_answers, on_deletion=leaving.forget
        )
        register(Collection, lambda found: Comparison.objects.filter(collection=found))
        register(CaptioningModel, lambda found: Comparison.objects.filter(Q(base=found) | Q(test=found)))
