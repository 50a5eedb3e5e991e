"""Addresses of annotation under /api/v1/."""

from django.urls import path

from annotation.api import checking, managing, planning, rating, releases, rounds, working

PROJECT = "projects/<slug:slug>"
ROUND = f"{PROJECT}/rounds/<int:round_id>"
BATCH = "work/batches/<uuid:batch_id>"
RATINGS = "work/rating/batches/<uuid:batch_id>"

urlpatterns = [
    path("projects/", planning.project_list_or_create, name="project-list"),
    path(f"{PROJECT}/languages/", planning.language_list_or_add, name="language-list"),
    path(f"{PROJECT}/rounds/", managing.round_list, name="round-list"),
    path(f"{ROUND}/", planning.round_show_or_change, name="round-show"),
    path(f"{ROUND}/verifications/", planning.verification_plan, name="verification-plan"),
    path(f"{ROUND}/return-batches/", planning.round_return_batches, name="round-return-batches"),
    path(f"{ROUND}/references/", planning.round_references, name="round-references"),
    path(f"{PROJECT}/languages/<str:tag>/pilots/", planning.pilot_plan, name="pilot-plan"),
    path(f"{PROJECT}/languages/<str:tag>/pilots/skip/", planning.pilot_skip, name="pilot-skip"),
    path(f"{PROJECT}/captions/<int:caption_id>/check/", checking.caption_check, name="caption-check"),
    path(f"{PROJECT}/captions/<int:caption_id>/feedback/", checking.caption_feedback, name="caption-feedback"),
    path(f"{PROJECT}/captions/<int:caption_id>/return/", checking.caption_return, name="caption-return"),
    path(f"{PROJECT}/batches/<uuid:batch_id>/return/", checking.batch_take_back, name="batch-take-back"),
    path(f"{PROJECT}/tasks/", planning.tasks_add, name="tasks-add"),
    path(f"{ROUND}/<slug:action>/", rounds.round_step, name="round-step"),
    path(f"{PROJECT}/progress/", managing.progress_show, name="progress-show"),
    path(f"{PROJECT}/statistics/", managing.statistics_show, name="statistics-show"),
    path(f"{PROJECT}/quality/", managing.quality_show, name="quality-show"),
    path(f"{PROJECT}/images/", managing.image_list, name="image-list"),
    path(f"{PROJECT}/captions/", managing.caption_list, name="caption-list"),
    path(f"{PROJECT}/ratings/", managing.rating_list, name="rating-list"),
    path(f"{PROJECT}/verdicts/", managing.verdict_list, name="verdict-list"),
    path(f"{PROJECT}/feedback/", managing.feedback_list, name="feedback-list"),
    path(f"{PROJECT}/releases/", releases.release_list_or_start, name="release-list"),
    path(f"{PROJECT}/releases/<int:number>/", releases.release_show, name="release-show"),
    path(f"{PROJECT}/releases/<int:number>/archive/", releases.release_archive, name="release-archive"),
    path(f"{PROJECT}/releases/<int:number>/files/", releases.release_files, name="release-files"),
    path(f"{PROJECT}/releases/<int:number>/files/<path:name>/", releases.release_file, name="release-file"),
    path("work/", working.work_show, name="work-show"),
    path("work/captions/", working.own_caption_list, name="own-caption-list"),
    path("work/feedback/", working.own_feedback_list, name="own-feedback-list"),
    path("work/feedback/<int:feedback_id>/acknowledge/", working.feedback_acknowledge, name="feedback-acknowledge"),
    path("work/rounds/<int:round_id>/take/", working.batch_take, name="batch-take"),
    path(f"{BATCH}/", working.batch_show, name="batch-show"),
    path(f"{BATCH}/ratings/<int:position>/", working.rating_save, name="rating-save"),
    path(f"{BATCH}/open-writing/", working.writing_open, name="writing-open"),
    path(f"{BATCH}/captions/<int:position>/", working.draft_save, name="draft-save"),
    path(f"{BATCH}/submit/", working.batch_submit, name="batch-submit"),
    path(f"{BATCH}/return/", working.batch_return, name="batch-return"),
    path(f"{BATCH}/resume/", working.batch_resume, name="batch-resume"),
    path("work/rating/", rating.rating_work_show, name="rating-work-show"),
    path("work/rating/rounds/<int:round_id>/take/", rating.rating_batch_take, name="rating-batch-take"),
    path(f"{RATINGS}/", rating.rating_batch_show, name="rating-batch-show"),
    path(f"{RATINGS}/verdicts/<int:position>/", rating.verdict_save, name="verdict-save"),
    path(f"{RATINGS}/submit/", rating.rating_batch_submit, name="rating-batch-submit"),
    path(f"{RATINGS}/return/", rating.rating_batch_return, name="rating-batch-return"),
    path(f"{RATINGS}/resume/", rating.rating_batch_resume, name="rating-batch-resume"),
]
