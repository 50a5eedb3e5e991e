"""Addresses of captioning models under /api/v1/."""

from django.urls import path

from research.inference.api import models

urlpatterns = [
    path("models/", models.model_list, name="model-list"),
    path("models/<int:model_id>/", models.model_show, name="model-show"),
]
