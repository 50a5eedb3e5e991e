"""Addresses of people under /api/v1/."""

from django.urls import path

from people.api import views

urlpatterns = [
    path("me/", views.MeView.as_view(), name="me"),
    path("projects/", views.ProjectList.as_view(), name="project-list"),
    path("projects/<slug:slug>/", views.ProjectDetail.as_view(), name="project-show"),
]
