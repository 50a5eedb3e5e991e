"""Addresses of side-by-side evaluation under /api/v1/."""

from django.urls import path

from sxs_eval.api import comparisons, judgements, judging, metrics, pairs, planning, quality, setting_up

COMPARISONS = "projects/<slug:slug>/comparisons"
BATCH = "work/comparing/batches/<uuid:batch_id>"
ONE = f"{COMPARISONS}/<int:comparison_id>"

urlpatterns = [
    path(f"{COMPARISONS}/", setting_up.comparison_list_or_start, name="comparison-list"),
    path(f"{COMPARISONS}/results/", comparisons.results_show, name="results-show"),
    path(f"{COMPARISONS}/plan/", planning.plan_propose, name="plan-propose"),
    path(f"{COMPARISONS}/plan/start/", planning.plan_start, name="plan-start"),
    path(f"{ONE}/", setting_up.comparison_show_change_or_delete, name="comparison-show"),
    path(f"{ONE}/leave-out/", setting_up.comparison_leave_out, name="comparison-leave-out"),
    path(f"{ONE}/count/", setting_up.comparison_count, name="comparison-count"),
    path(f"{ONE}/pairs/", pairs.pair_list_or_add, name="pairs-add"),
    path(f"{ONE}/raters/", quality.rater_list, name="rater-list"),
    path(f"{ONE}/raters/<slug:pseudonym>/decision/", quality.rater_decide, name="rater-decide"),
    path(f"{ONE}/gold/", quality.gold_list_or_add, name="gold-list"),
    path(f"{ONE}/gold/<int:gold_id>/", quality.gold_change, name="gold-change"),
    path("projects/<slug:slug>/instructions/", setting_up.instructions_publish, name="instructions-publish"),
    path(f"{COMPARISONS}/metrics/", metrics.metric_agreement, name="metrics-show"),
    path(f"{ONE}/results/", comparisons.comparison_results, name="comparison-results"),
    path("work/comparing/", judging.comparing_work_show, name="comparing-work-show"),
    path("work/comparing/comparisons/<int:comparison_id>/take/", judging.judging_batch_take, name="judging-batch-take"),
    path(f"{BATCH}/", judging.judging_batch_show, name="judging-batch-show"),
    path(f"{BATCH}/judgements/<int:position>/", judging.judgement_save_or_undo, name="judgement-save"),
    path(f"{BATCH}/return/", judging.judging_batch_return, name="judging-batch-return"),
    path(f"{BATCH}/resume/", judging.judging_batch_resume, name="judging-batch-resume"),
    path("projects/<slug:slug>/judgements/", judgements.judgement_list, name="judgement-list"),
]
