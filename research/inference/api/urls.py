"""Addresses of captioning models under /api/v1/."""

from django.urls import path

from research.inference.api import captions, embeddings, models, runs, trainings

ONE = "models/<int:model_id>"
RUN = "models/runs/<int:run_id>"
TRAINING = "models/trainings/<int:training_id>"

urlpatterns = [
    path("models/", models.model_list, name="model-list"),
    path("models/encoders/", embeddings.encoder_list, name="encoder-list"),
    path("models/embeddings/", embeddings.embedding_list_or_start, name="embedding-list"),
    path("models/captions/<int:caption_id>/", captions.model_caption_switch, name="model-caption-switch"),
    path("models/runs/", runs.run_list_or_start, name="run-list"),
    path("models/runs/plan/", runs.run_plan_show, name="run-plan"),
    path(f"{RUN}/", runs.run_show_or_change, name="run-show"),
    path(f"{RUN}/trial/", runs.trial_show, name="trial-show"),
    path(f"{RUN}/failures/", runs.run_failures, name="run-failures"),
    path(f"{RUN}/<slug:action>/", runs.run_step, name="run-step"),
    path("models/trainings/", trainings.training_list, name="training-list"),
    path(f"{TRAINING}/", trainings.training_show, name="training-show"),
    path(f"{TRAINING}/<slug:action>/", trainings.training_step, name="training-step"),
    path(f"{ONE}/", models.model_show_change_or_delete, name="model-show"),
    path(f"{ONE}/captions/", captions.model_caption_list, name="model-caption-list"),
    path(f"{ONE}/merge/", models.model_merge, name="model-merge"),
    path(f"{ONE}/try/", runs.model_try, name="model-try"),
]
