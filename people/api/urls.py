"""Addresses of people under /api/v1/."""

from people.rules.lazy import LazyModule, path

views = LazyModule("people.api.views")

urlpatterns = [
    path("me/", views.me, name="me"),
    path("projects/", views.project_list, name="project-list"),
    path("projects/<slug:slug>/", views.project_show, name="project-show"),
]
