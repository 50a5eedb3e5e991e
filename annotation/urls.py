"""Addresses of annotation: the annotator's and the manager's pages."""

from django import urls

from people.rules.lazy import LazyModule, path

batches = LazyModule("annotation.views.batches")
bulk = LazyModule("annotation.views.bulk")
campaign = LazyModule("annotation.views.campaign")
checks = LazyModule("annotation.views.checks")
feedback = LazyModule("annotation.views.feedback")
figures = LazyModule("annotation.views.figures")
guidelines = LazyModule("annotation.views.guidelines")
progress = LazyModule("annotation.views.progress")
project_images = LazyModule("annotation.views.project_images")
projects = LazyModule("annotation.views.projects")
quality = LazyModule("annotation.views.quality")
reassignment = LazyModule("annotation.views.reassignment")
released_images = LazyModule("annotation.views.released_images")
releases = LazyModule("annotation.views.releases")
setting_up = LazyModule("annotation.views.setting_up")
verification = LazyModule("annotation.views.verification")
work = LazyModule("annotation.views.work")

app_name = "annotation"
of_batch = [
    path("", batches.batch_show, name="batch-show"),
    path("rate/", batches.batch_rate, name="batch-rate"),
    path("rate/<int:position>/", batches.rating_save, name="rating-save"),
    path("write/open/", batches.writing_open, name="writing-open"),
    path("write/<int:position>/", batches.caption_write, name="caption-write"),
    path("write/<int:position>/draft/", batches.draft_save, name="draft-save"),
    path("review/", batches.batch_review, name="batch-review"),
    path("confirm/", batches.captions_confirm, name="captions-confirm"),
    path("submit/", batches.batch_submit, name="batch-submit"),
    path("done/", batches.batch_done, name="batch-done"),
    path("return/", work.batch_return, name="batch-return"),
    path("resume/", work.batch_resume, name="batch-resume"),
]
urlpatterns = [
    # First, because they are asked for most: Django tries one after the other.
    urls.path("batches/<uuid:batch_id>/", urls.include(of_batch)),
    path("work/", work.work_show, name="work-show"),
    path("work/history/", work.history_show, name="history-show"),
    path("rounds/<int:round_id>/take/", work.batch_take, name="batch-take"),
    path("projects/", projects.project_list, name="project-list"),
    path("projects/new/", setting_up.project_create, name="project-create"),
    path("projects/<slug:slug>/", progress.project_show, name="project-show"),
    path("projects/<slug:slug>/progress/", progress.project_progress, name="project-progress"),
    path("projects/<slug:slug>/rounds/act/", bulk.rounds_act, name="rounds-act"),
    path("projects/<slug:slug>/rounds/<int:round_id>/samples/", checks.samples_show, name="samples-show"),
    path("projects/<slug:slug>/annotators/", progress.annotator_list, name="annotator-list"),
    path("projects/<slug:slug>/annotators/progress/", progress.annotator_progress, name="annotator-progress"),
    path("projects/<slug:slug>/annotators/<int:person_id>/", progress.annotator_show, name="annotator-show"),
    path("projects/<slug:slug>/plots/", figures.plots_show, name="plots-show"),
    path("projects/<slug:slug>/plots/progress/", figures.plots_progress, name="plots-progress"),
    path("projects/<slug:slug>/statistics/", figures.statistics_show, name="statistics-show"),
    path("projects/<slug:slug>/statistics/progress/", figures.statistics_progress, name="statistics-progress"),
    path("projects/<slug:slug>/languages/add/", setting_up.language_add, name="language-add"),
    path("projects/<slug:slug>/languages/<str:tag>/", campaign.language_show, name="language-show"),
    path("projects/<slug:slug>/languages/<str:tag>/progress/", campaign.language_progress, name="language-progress"),
    path("projects/<slug:slug>/languages/<str:tag>/pilots/add/", campaign.pilot_plan, name="pilot-plan"),
    path("projects/<slug:slug>/languages/<str:tag>/pilots/skip/", campaign.pilot_skip, name="pilot-skip"),
    path(
        "projects/<slug:slug>/languages/<str:tag>/people/<int:person_id>/",
        campaign.annotator_status_show,
        name="annotator-status-show",
    ),
    path(
        "projects/<slug:slug>/languages/<str:tag>/people/<int:person_id>/decide/",
        campaign.annotator_status_decide,
        name="annotator-status-decide",
    ),
    path("projects/<slug:slug>/rounds/<int:round_id>/steps/<slug:action>/", campaign.round_step, name="round-step"),
    path(
        "projects/<slug:slug>/rounds/<int:round_id>/return-batches/",
        campaign.round_return_batches,
        name="round-return-batches",
    ),
    path("projects/<slug:slug>/rounds/<int:round_id>/ratings/", campaign.verification_plan, name="verification-plan"),
    path("projects/<slug:slug>/tasks/add/", projects.tasks_add, name="tasks-add"),
    path("projects/<slug:slug>/rounds/<int:round_id>/settings/", projects.round_settings, name="round-settings"),
    path("projects/<slug:slug>/rounds/<int:round_id>/references/", projects.references_use, name="references-use"),
    path("projects/<slug:slug>/captions/<str:layout>/", projects.captions_export, name="captions-export"),
    path("projects/<slug:slug>/guidelines/", guidelines.guidelines_show, name="guidelines-show"),
    path("projects/<slug:slug>/guidelines/edit/", guidelines.guidelines_edit, name="guidelines-edit"),
    path("batches/offline.js", batches.worker_show, name="offline-worker"),
    path("rounds/<int:round_id>/rate/", verification.verification_take, name="verification-take"),
    path("ratings/<uuid:batch_id>/", verification.verification_show, name="verification-show"),
    path("ratings/<uuid:batch_id>/<int:position>/", verification.verdict_save, name="verdict-save"),
    path("ratings/<uuid:batch_id>/done/", verification.verification_done, name="verification-done"),
    path("ratings/<uuid:batch_id>/return/", verification.verification_return, name="verification-return"),
    path("ratings/<uuid:batch_id>/resume/", verification.verification_resume, name="verification-resume"),
    path("projects/<slug:slug>/quality/", quality.quality_show, name="quality-show"),
    path("projects/<slug:slug>/quality/table/", quality.quality_progress, name="quality-progress"),
    path("projects/<slug:slug>/quality/rounds/<int:round_id>/", quality.quality_round, name="quality-round"),
    path("projects/<slug:slug>/quality/download/<str:layout>/", quality.quality_export, name="quality-export"),
    path("projects/<slug:slug>/images/<uuid:public_id>/", project_images.image_show, name="image-show"),
    path("projects/<slug:slug>/releases/", releases.release_list, name="release-list"),
    path("projects/<slug:slug>/releases/new/", releases.release_create, name="release-create"),
    path("projects/<slug:slug>/releases/<int:number>/", releases.release_show, name="release-show"),
    path("projects/<slug:slug>/releases/<int:number>/progress/", releases.release_progress, name="release-progress"),
    path("projects/<slug:slug>/releases/<int:number>/archive/", releases.release_archive, name="release-archive"),
    path(
        "projects/<slug:slug>/releases/<int:number>/references/",
        releases.release_references,
        name="release-references",
    ),
    path("projects/<slug:slug>/releases/<int:number>/files/<path:name>", releases.release_file, name="release-file"),
    path("projects/<slug:slug>/releases/<int:number>/images/", released_images.release_images, name="release-images"),
    path(
        "projects/<slug:slug>/releases/<int:number>/images/random/",
        released_images.release_image_random,
        name="release-image-random",
    ),
    path(
        "projects/<slug:slug>/releases/<int:number>/images/<int:image_number>/",
        released_images.release_image,
        name="release-image",
    ),
    path("feedback/", feedback.feedback_list, name="feedback-list"),
    path("feedback/<int:feedback_id>/", feedback.feedback_show, name="feedback-show"),
    path("feedback/<int:feedback_id>/acknowledge/", feedback.feedback_acknowledge, name="feedback-acknowledge"),
    path("captions/<int:caption_id>/rewrite/", feedback.caption_rewrite, name="caption-rewrite"),
    path("projects/<slug:slug>/languages/<str:tag>/check/", checks.check_show, name="check-show"),
    path("projects/<slug:slug>/captions/<int:caption_id>/check/", checks.caption_check, name="caption-check"),
    path("projects/<slug:slug>/captions/<int:caption_id>/feedback/", checks.caption_feedback, name="caption-feedback"),
    path("projects/<slug:slug>/captions/<int:caption_id>/return/", checks.caption_return, name="caption-return"),
    path("projects/<slug:slug>/rounds/<int:round_id>/feedback/", checks.feedback_create, name="feedback-create"),
    path("projects/<slug:slug>/batches/<uuid:batch_id>/move/", reassignment.batch_move, name="batch-move"),
    path(
        "projects/<slug:slug>/batches/<uuid:batch_id>/return/",
        reassignment.batch_return_by_manager,
        name="batch-return-by-manager",
    ),
]
