"""Addresses of the API about a project as a whole."""

from __future__ import annotations

from django.urls import path

from office.dashboard.api import campaigns, images, needs, projects

IMAGE = "collections/<slug:slug>/images/<uuid:public_id>"

urlpatterns = [
    path("needs/", needs.need_list, name="need-list"),
    path("needs/dismiss/", needs.need_dismiss, name="need-dismiss"),
    path("projects/<slug:slug>/campaign/", campaigns.campaign_show_or_apply, name="campaign-file"),
    path("projects/<slug:slug>/duplicate/", projects.project_duplicate, name="project-duplicate"),
    path("projects/<slug:slug>/images/", images.image_list, name="image-list"),
    path(f"{IMAGE}/", projects.image_show_change_or_take_out, name="collection-image-show"),
    path(f"{IMAGE}/leave-out/", projects.image_leave_out, name="image-leave-out"),
    path(f"{IMAGE}/count/", projects.image_count, name="image-count"),
]
