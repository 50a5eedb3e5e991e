"""Addresses of side-by-side evaluation: the rater's pages, and those of managers and researchers."""

from django.urls import path

from sxs_eval.views import comparisons, judging, quality, reports

app_name = "sxs_eval"
ONE = "projects/<slug:slug>/comparisons/<int:comparison_id>"
urlpatterns = [
    path("compare/", judging.work_show, name="work-show"),
    path("compare/<int:comparison_id>/take/", judging.batch_take, name="batch-take"),
    path("judging/<uuid:batch_id>/", judging.batch_show, name="batch-show"),
    path("judging/<uuid:batch_id>/<int:position>/", judging.judgement_save, name="judgement-save"),
    path("judging/<uuid:batch_id>/<int:position>/undo/", judging.judgement_undo, name="judgement-undo"),
    path("judging/<uuid:batch_id>/return/", judging.batch_return, name="batch-return"),
    path("judging/<uuid:batch_id>/resume/", judging.batch_resume, name="batch-resume"),
    path("projects/<slug:slug>/instructions/", judging.instructions_show, name="instructions-show"),
    path("projects/<slug:slug>/instructions/new/", comparisons.instructions_publish, name="instructions-publish"),
    path("evaluations/", comparisons.evaluation_list, name="evaluation-list"),
    path("projects/<slug:slug>/comparisons/", comparisons.comparison_list, name="comparison-list"),
    path("projects/<slug:slug>/comparisons/new/", comparisons.comparison_create, name="comparison-create"),
    path("projects/<slug:slug>/comparisons/progress/", comparisons.comparisons_progress, name="comparisons-progress"),
    path("projects/<slug:slug>/comparisons/results/", reports.results_show, name="results-show"),
    path("projects/<slug:slug>/comparisons/metrics/", reports.metrics_show, name="metrics-show"),
    path("projects/<slug:slug>/comparisons/metrics/<str:layout>/", reports.metrics_export, name="metrics-export"),
    path("projects/<slug:slug>/comparisons/tables/<str:layout>/", reports.tables_export, name="tables-export"),
    path("projects/<slug:slug>/plan/", comparisons.plan_show, name="plan-show"),
    path(f"{ONE}/", reports.comparison_show, name="comparison-show"),
    path(f"{ONE}/progress/", reports.comparison_progress, name="comparison-progress"),
    path(f"{ONE}/pairs/", reports.pair_list, name="pair-list"),
    path(f"{ONE}/settings/", comparisons.comparison_settings, name="comparison-settings"),
    path(f"{ONE}/remove/", comparisons.comparison_remove, name="comparison-remove"),
    path(f"{ONE}/pairs/add/", comparisons.pairs_add, name="pairs-add"),
    path(f"{ONE}/gold/", quality.gold_list, name="gold-list"),
    path(f"{ONE}/gold/<int:gold_id>/", quality.gold_change, name="gold-change"),
    path(f"{ONE}/raters/", quality.rater_list, name="rater-list"),
    path(f"{ONE}/raters/pause-scripted/", quality.scripted_pause, name="scripted-pause"),
    path(f"{ONE}/raters/<int:rater_id>/", quality.rater_decide, name="rater-decide"),
]
