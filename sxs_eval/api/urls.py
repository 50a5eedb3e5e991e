"""Addresses of side-by-side evaluation under /api/v1/."""

from django.urls import path

from sxs_eval.api import comparisons, judgements

COMPARISONS = "projects/<slug:slug>/comparisons"
ONE = f"{COMPARISONS}/<int:comparison_id>"

urlpatterns = [
    path(f"{COMPARISONS}/", comparisons.comparison_list, name="comparison-list"),
    path(f"{COMPARISONS}/results/", comparisons.results_show, name="results-show"),
    path(f"{ONE}/", comparisons.comparison_show, name="comparison-show"),
    path(f"{ONE}/results/", comparisons.comparison_results, name="comparison-results"),
    path("projects/<slug:slug>/judgements/", judgements.judgement_list, name="judgement-list"),
]
