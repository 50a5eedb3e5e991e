"""URLs of scores and reference captions."""

from django.urls import path

from research.scoring.views import references, scores

app_name = "scoring"
SCORES = "projects/<slug:slug>/scores"
ONE = f"{SCORES}/<int:scoring_id>"
REFERENCES = "projects/<slug:slug>/references"
urlpatterns = [
    path(f"{SCORES}/", scores.score_list, name="score-list"),
    path(f"{SCORES}/progress/", scores.scores_progress, name="scores-progress"),
    path(f"{SCORES}/new/", scores.scoring_create, name="scoring-create"),
    path(f"{SCORES}/compare/", scores.score_compare, name="score-compare"),
    path(f"{ONE}/", scores.scoring_show, name="scoring-show"),
    path(f"{ONE}/progress/", scores.scoring_progress, name="scoring-progress"),
    path(f"{ONE}/images/", scores.scoring_images, name="scoring-images"),
    path(f"{ONE}/again/", scores.scoring_again, name="scoring-again"),
    path(f"{ONE}/drop/", scores.scoring_drop, name="scoring-drop"),
    path(f"{REFERENCES}/", references.reference_list, name="reference-list"),
    path(f"{REFERENCES}/train/", references.training_create, name="training-create"),
    path(f"{REFERENCES}/<int:set_id>/", references.reference_show, name="reference-show"),
    path(f"{REFERENCES}/<int:set_id>/evaluation/", references.reference_evaluation, name="reference-evaluation"),
    path(f"{REFERENCES}/<int:set_id>/translate/", references.references_translate, name="references-translate"),
    path(f"{REFERENCES}/<int:set_id>/progress/", references.reference_progress, name="reference-progress"),
    path(f"{REFERENCES}/<int:set_id>/again/", references.reference_again, name="reference-again"),
    path(f"{REFERENCES}/<int:set_id>/drop/", references.reference_drop, name="reference-drop"),
]
