"""Addresses of captioning models under /api/v1/."""

from django.urls import path

from research.inference.api import models, runs

urlpatterns = [
    path("models/", models.model_list, name="model-list"),
    path("models/runs/", runs.run_list_or_start, name="run-list"),
    path("models/runs/<int:run_id>/", runs.run_show, name="run-show"),
    path("models/runs/<int:run_id>/<slug:action>/", runs.run_step, name="run-step"),
    path("models/<int:model_id>/", models.model_show, name="model-show"),
]
