"""Addresses of choosing images by place."""

from django.urls import path

from corpora.views import tables

app_name = "corpora"

TABLE = "projects/<slug:slug>/where-spoken"

urlpatterns = [
    path(f"{TABLE}/", tables.table_show, name="table-show"),
    path(f"{TABLE}/upload/", tables.table_upload, name="table-upload"),
    path(f"{TABLE}/replace/", tables.table_replace, name="table-replace"),
    path(f"{TABLE}/reset/", tables.table_reset, name="table-reset"),
    path(f"{TABLE}/table.json", tables.table_export, name="table-export"),
    path(f"{TABLE}/versions/<int:number>/table.json", tables.version_export, name="version-export"),
    path(f"{TABLE}/languages/<str:tag>/", tables.areas_edit, name="areas-edit"),
]
