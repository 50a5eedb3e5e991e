"""Addresses of imports of files under /api/v1/."""

from django.urls import path

from office.imports.api import imports

IMPORTS = "projects/<slug:slug>/imports"
ONE = f"{IMPORTS}/<int:job_id>"

urlpatterns = [
    path(f"{IMPORTS}/", imports.import_list_or_start, name="import-list"),
    path(f"{ONE}/", imports.import_show_answer_or_discard, name="import-show"),
    path(f"{ONE}/confirm/", imports.import_confirm, name="import-confirm"),
    path(f"{ONE}/undo/", imports.import_undo, name="import-undo"),
    path(f"{ONE}/report/", imports.import_report, name="import-report"),
]
