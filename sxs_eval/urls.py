"""Addresses of side-by-side evaluation: the rater's pages, and those of managers and researchers."""

from django.urls import path

from sxs_eval.views import judging

app_name = "sxs_eval"
urlpatterns = [
    path("compare/", judging.work_show, name="work-show"),
    path("compare/<int:comparison_id>/take/", judging.batch_take, name="batch-take"),
    path("judging/<uuid:batch_id>/", judging.batch_show, name="batch-show"),
    path("judging/<uuid:batch_id>/<int:position>/", judging.judgement_save, name="judgement-save"),
    path("judging/<uuid:batch_id>/<int:position>/undo/", judging.judgement_undo, name="judgement-undo"),
    path("judging/<uuid:batch_id>/return/", judging.batch_return, name="batch-return"),
    path("judging/<uuid:batch_id>/resume/", judging.batch_resume, name="batch-resume"),
    path("projects/<slug:slug>/instructions/", judging.instructions_show, name="instructions-show"),
]
