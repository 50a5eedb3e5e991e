from django.apps import AppConfig


class SxsEvalConfig(AppConfig):
    name = "sxs_eval"
    verbose_name = "side-by-side evaluation"

    def ready(self) -> None:
        from django.db.models import Q

        from corpora.selectors import usage
        from images.models import Collection
        from inference.models import CaptioningModel
        from inference.selectors import assigned_work
        from people import personal_data
        from people.models import TextKind
        from people.selectors import start_pages, texts
        from people.services.ownership import register
        from scoring.selectors import human_judgements
        from sxs_eval import refusals  # noqa: F401 registers its own
        from sxs_eval.models import Comparison
        from sxs_eval.selectors.data_export import data_export
        from sxs_eval.selectors.human_judgements import human_judgements_of
        from sxs_eval.selectors.instructions import newest_instructions
        from sxs_eval.selectors.subset_uses import comparisons_by_subset
        from sxs_eval.selectors.work import assigned_images, has_pairs_to_judge, images_of_worse_captions
        from sxs_eval.services import withdrawal

        assigned_work.register("sxs_eval", assigned_images, images_of_worse_captions)
        human_judgements.register("sxs_eval", human_judgements_of)
        texts.register(TextKind.INSTRUCTIONS, newest_instructions)
        personal_data.register(
            "sxs_eval", export=data_export, on_withdrawal=withdrawal.withdraw_answers, on_deletion=withdrawal.forget
        )
        usage.register_for_subsets(comparisons_by_subset)
        start_pages.register_for_raters("sxs_eval:work-show", has_pairs_to_judge)
        register(Collection, lambda used: Comparison.objects.filter(collection=used))
        register(CaptioningModel, lambda used: Comparison.objects.filter(Q(base=used) | Q(test=used)))
