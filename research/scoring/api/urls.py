"""Addresses of scores and reference captions under /api/v1/."""

from django.urls import path

from research.scoring.api import comparing, references, scores, trainings

PROJECT = "projects/<slug:slug>"

urlpatterns = [
    path(f"{PROJECT}/trainings/", trainings.training_start, name="training-start"),
    path(f"{PROJECT}/scores/", scores.score_list_or_start, name="score-list"),
    path(f"{PROJECT}/scores/compare/", comparing.scores_compare, name="scores-compare"),
    path(f"{PROJECT}/scores/<int:scoring_id>/", scores.score_show_or_delete, name="score-show"),
    path(f"{PROJECT}/scores/<int:scoring_id>/again/", scores.score_again, name="score-again"),
    path(f"{PROJECT}/references/", references.reference_list_or_create, name="reference-list"),
    path(f"{PROJECT}/references/<int:set_id>/", references.reference_show_change_or_delete, name="reference-show"),
    path(f"{PROJECT}/references/<int:set_id>/captions/", references.reference_captions, name="reference-captions"),
    path(f"{PROJECT}/references/<int:set_id>/translate/", references.references_translate, name="references-translate"),
    path(f"{PROJECT}/references/<int:set_id>/again/", references.reference_again, name="reference-again"),
]
