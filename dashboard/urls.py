"""Addresses of what spans projects and apps."""

from django.urls import path

from dashboard.views import projects, search, setup

app_name = "dashboard"
urlpatterns = [
    path("search/", search.search_show, name="search-show"),
    path("projects/<slug:slug>/setup/", setup.setup_show, name="setup-show"),
    path("projects/<slug:slug>/settings/", projects.project_settings, name="project-settings"),
    path("projects/<slug:slug>/settings/duplicate/", projects.project_duplicate, name="project-duplicate"),
    path("projects/<slug:slug>/settings/archive/", projects.project_archive, name="project-archive"),
    path("projects/<slug:slug>/settings/restore/", projects.project_restore, name="project-restore"),
    path("projects/<slug:slug>/settings/delete/", projects.project_delete, name="project-delete"),
]
