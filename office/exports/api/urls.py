"""The address of the export in the API."""

from __future__ import annotations

from django.urls import path

from office.exports.api import exports

urlpatterns = [path("projects/<slug:slug>/export/", exports.export_show, name="export-show")]
