"""Addresses of people under /api/v1/."""

from django.urls import path

from core.people.api import invitations, jobs, views

urlpatterns = [
    path("me/", views.me, name="me"),
    path("jobs/<str:job>/", jobs.job_show, name="job-show"),
    path("projects/<slug:slug>/", views.project_show, name="project-show"),
    path("projects/<slug:slug>/invitations/", invitations.invitation_list_or_create, name="invitation-list"),
]
