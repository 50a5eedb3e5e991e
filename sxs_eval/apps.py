from django.apps import AppConfig


class SxsEvalConfig(AppConfig):
    name = "sxs_eval"
    verbose_name = "side-by-side evaluation"

    def ready(self) -> None:
        from inference import exposure
        from people import personal
        from scoring import verdicts
        from sxs_eval.selectors.own_data import own_data
        from sxs_eval.selectors.verdicts import verdicts_of
        from sxs_eval.selectors.work import images_in_hand, images_of_worse_captions
        from sxs_eval.services import leaving

        exposure.register("sxs_eval", images_in_hand, images_of_worse_captions)
        verdicts.register("sxs_eval", verdicts_of)
        personal.register(
            "sxs_eval", export=own_data, on_withdrawal=leaving.withdraw_answers, on_deletion=leaving.forget
        )
