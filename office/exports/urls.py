"""The address of the export."""

from django.urls import path

from office.exports import views

app_name = "exports"
urlpatterns = [path("projects/<slug:slug>/export/", views.export_show, name="export-show")]
