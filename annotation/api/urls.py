"""Addresses of annotation under /api/v1/."""

from django.urls import path

from annotation.api import managing, rating, releases, working

PROJECT = "projects/<slug:slug>"
BATCH = "work/batches/<uuid:batch_id>"
RATINGS = "work/rating/batches/<uuid:batch_id>"

urlpatterns = [
    path(f"{PROJECT}/languages/", managing.LanguageList.as_view(), name="language-list"),
    path(f"{PROJECT}/rounds/", managing.RoundList.as_view(), name="round-list"),
    path(f"{PROJECT}/rounds/<int:round_id>/", managing.RoundDetail.as_view(), name="round-show"),
    path(f"{PROJECT}/progress/", managing.ProgressView.as_view(), name="progress-show"),
    path(f"{PROJECT}/images/", managing.ImageList.as_view(), name="image-list"),
    path(f"{PROJECT}/captions/", managing.CaptionList.as_view(), name="caption-list"),
    path(f"{PROJECT}/ratings/", managing.RatingList.as_view(), name="rating-list"),
    path(f"{PROJECT}/verdicts/", managing.VerdictList.as_view(), name="verdict-list"),
    path(f"{PROJECT}/feedback/", managing.FeedbackList.as_view(), name="feedback-list"),
    path(f"{PROJECT}/exports/<str:layout>/", managing.CaptionExport.as_view(), name="captions-export"),
    path(f"{PROJECT}/releases/", releases.ReleaseList.as_view(), name="release-list"),
    path(f"{PROJECT}/releases/<int:number>/", releases.ReleaseDetail.as_view(), name="release-show"),
    path(f"{PROJECT}/releases/<int:number>/archive/", releases.ReleaseArchive.as_view(), name="release-archive"),
    path(f"{PROJECT}/releases/<int:number>/files/", releases.ReleaseFiles.as_view(), name="release-files"),
    path(f"{PROJECT}/releases/<int:number>/files/<path:name>/", releases.ReleaseFile.as_view(), name="release-file"),
    path("work/", working.WorkView.as_view(), name="work-show"),
    path("work/captions/", working.OwnCaptionList.as_view(), name="own-caption-list"),
    path("work/feedback/", working.OwnFeedbackList.as_view(), name="own-feedback-list"),
    path(
        "work/feedback/<int:feedback_id>/acknowledge/",
        working.FeedbackAcknowledge.as_view(),
        name="feedback-acknowledge",
    ),
    path("work/rounds/<int:round_id>/take/", working.BatchTake.as_view(), name="batch-take"),
    path(f"{BATCH}/", working.BatchDetail.as_view(), name="batch-show"),
    path(f"{BATCH}/ratings/<int:position>/", working.RatingSave.as_view(), name="rating-save"),
    path(f"{BATCH}/open-writing/", working.WritingOpen.as_view(), name="writing-open"),
    path(f"{BATCH}/captions/<int:position>/", working.DraftSave.as_view(), name="draft-save"),
    path(f"{BATCH}/submit/", working.BatchSubmit.as_view(), name="batch-submit"),
    path(f"{BATCH}/return/", working.BatchReturn.as_view(), name="batch-return"),
    path(f"{BATCH}/resume/", working.BatchResume.as_view(), name="batch-resume"),
    path("work/rating/", rating.RatingWorkView.as_view(), name="rating-work-show"),
    path("work/rating/rounds/<int:round_id>/take/", rating.RatingBatchTake.as_view(), name="rating-batch-take"),
    path(f"{RATINGS}/", rating.RatingBatchDetail.as_view(), name="rating-batch-show"),
    path(f"{RATINGS}/verdicts/<int:position>/", rating.VerdictSave.as_view(), name="verdict-save"),
    path(f"{RATINGS}/submit/", rating.RatingBatchSubmit.as_view(), name="rating-batch-submit"),
    path(f"{RATINGS}/return/", rating.RatingBatchReturn.as_view(), name="rating-batch-return"),
    path(f"{RATINGS}/resume/", rating.RatingBatchResume.as_view(), name="rating-batch-resume"),
]
