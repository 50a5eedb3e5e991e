"""Addresses of annotation: the annotator's and the manager's pages."""

from django.urls import path

from annotation.views import batches, checks, feedback, moving, projects, verification, work

app_name = "annotation"
urlpatterns = [
    path("work/", work.work_show, name="work-show"),
    path("work/history/", work.history_show, name="history-show"),
    path("rounds/<int:round_id>/take/", work.batch_take, name="batch-take"),
    path("projects/", projects.project_list, name="project-list"),
    path("projects/new/", projects.project_create, name="project-create"),
    path("projects/<slug:slug>/", projects.project_show, name="project-show"),
    path("projects/<slug:slug>/progress/", projects.project_progress, name="project-progress"),
    path("projects/<slug:slug>/languages/add/", projects.language_add, name="language-add"),
    path("projects/<slug:slug>/tasks/add/", projects.tasks_add, name="tasks-add"),
    path("projects/<slug:slug>/rounds/<int:round_id>/settings/", projects.round_settings, name="round-settings"),
    path("projects/<slug:slug>/rounds/<int:round_id>/references/", projects.references_use, name="references-use"),
    path("projects/<slug:slug>/captions/<str:layout>/", projects.captions_export, name="captions-export"),
    path("projects/<slug:slug>/guidelines/", work.guidelines_show, name="guidelines-show"),
    path("batches/<uuid:batch_id>/", batches.batch_show, name="batch-show"),
    path("batches/<uuid:batch_id>/rate/", batches.batch_rate, name="batch-rate"),
    path("batches/<uuid:batch_id>/rate/<int:position>/", batches.rating_save, name="rating-save"),
    path("batches/<uuid:batch_id>/write/open/", batches.writing_open, name="writing-open"),
    path("batches/<uuid:batch_id>/write/<int:position>/", batches.caption_write, name="caption-write"),
    path("batches/<uuid:batch_id>/write/<int:position>/draft/", batches.draft_save, name="draft-save"),
    path("batches/<uuid:batch_id>/review/", batches.batch_review, name="batch-review"),
    path("batches/<uuid:batch_id>/submit/", batches.batch_submit, name="batch-submit"),
    path("batches/<uuid:batch_id>/done/", batches.batch_done, name="batch-done"),
    path("batches/<uuid:batch_id>/return/", work.batch_return, name="batch-return"),
    path("batches/<uuid:batch_id>/resume/", work.batch_resume, name="batch-resume"),
    path("rounds/<int:round_id>/rate/", verification.verification_take, name="verification-take"),
    path("ratings/<uuid:batch_id>/", verification.verification_show, name="verification-show"),
    path("ratings/<uuid:batch_id>/<int:position>/", verification.verdict_save, name="verdict-save"),
    path("ratings/<uuid:batch_id>/done/", verification.verification_done, name="verification-done"),
    path("ratings/<uuid:batch_id>/return/", verification.verification_return, name="verification-return"),
    path("ratings/<uuid:batch_id>/resume/", verification.verification_resume, name="verification-resume"),
    path("feedback/", feedback.feedback_list, name="feedback-list"),
    path("feedback/<int:feedback_id>/", feedback.feedback_show, name="feedback-show"),
    path("feedback/<int:feedback_id>/acknowledge/", feedback.feedback_acknowledge, name="feedback-acknowledge"),
    path("captions/<int:caption_id>/rewrite/", feedback.caption_rewrite, name="caption-rewrite"),
    path("projects/<slug:slug>/languages/<str:tag>/check/", checks.check_show, name="check-show"),
    path("projects/<slug:slug>/captions/<int:caption_id>/check/", checks.caption_check, name="caption-check"),
    path("projects/<slug:slug>/captions/<int:caption_id>/feedback/", checks.caption_feedback, name="caption-feedback"),
    path(
        "projects/<slug:slug>/captions/<int:caption_id>/send-back/", checks.caption_send_back, name="caption-send-back"
    ),
    path("projects/<slug:slug>/rounds/<int:round_id>/feedback/", checks.feedback_create, name="feedback-create"),
    path("projects/<slug:slug>/batches/<uuid:batch_id>/move/", moving.batch_move, name="batch-move"),
    path("projects/<slug:slug>/batches/<uuid:batch_id>/return/", moving.batch_take_back, name="batch-take-back"),
]
