"""Addresses of imports of files."""

from django.urls import path

from office.imports import views

app_name = "imports"
IMPORTS = "projects/<slug:slug>/import"
ONE = f"{IMPORTS}/<int:job_id>"
urlpatterns = [
    path("import/", views.import_choose, name="import-choose"),
    path(f"{IMPORTS}/", views.import_create, name="import-create"),
    path(f"{ONE}/", views.import_show, name="import-show"),
    path(f"{ONE}/progress/", views.import_progress, name="import-progress"),
    path(f"{ONE}/undo/", views.import_undo, name="import-undo"),
    path(f"{ONE}/discard/", views.import_discard, name="import-discard"),
]
