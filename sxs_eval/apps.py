from django.apps import AppConfig


class SxsEvalConfig(AppConfig):
    name = "sxs_eval"
    verbose_name = "side-by-side evaluation"

    def ready(self) -> None:
        from django.db.models import Q

        from core.allocation import refusals
        from core.conversation import permissions as reporting
        from core.images.models import Collection
        from core.people import personal_data
        from core.people.models import TextKind
        from core.people.selectors import texts
        from core.people.selectors.projects import register_for_raters
        from core.people.services.ownership import register
        from crosslens_metrics.scales import level_names
        from research.inference.models import CaptioningModel
        from research.inference.selectors import assigned_work
        from research.scoring.selectors import human_judgements
        from research.selection.selectors import usage
        from sxs_eval.models import Comparison
        from sxs_eval.selectors import for_others, work
        from sxs_eval.services import judging, quality

        refusals.register_module("sxs_eval.refusals")
        reporting.KINDS["pairs"] = reporting.ReportableKind(
            work.reportable_trial, judging.KIND.skip_task, work.captions_of_trials
        )
        assigned_work.register("sxs_eval", work.assigned_images, work.images_of_worse_captions)
        human_judgements.register("sxs_eval", for_others.human_judgements_of)
        texts.register(TextKind.INSTRUCTIONS, for_others.newest_instructions, level_names)
        personal_data.register(
            "sxs_eval",
            export=for_others.data_export,
            on_withdrawal=quality.withdraw_answers,
            on_deletion=quality.forget,
        )
        usage.register_for_subsets(for_others.comparisons_by_subset)
        register_for_raters("sxs_eval:work-show", work.has_pairs_to_judge)
        register(Collection, lambda used: Comparison.objects.filter(collection=used))
        register(CaptioningModel, lambda used: Comparison.objects.filter(Q(base=used) | Q(test=used)))
