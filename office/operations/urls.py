"""Addresses of the installation itself, for machines."""

from django.urls import path

from office.operations import views

urlpatterns = [
    path("healthz", views.health_show, name="health-show"),
    path("readyz", views.readiness_show, name="readiness-show"),
    path("metrics", views.metrics_show, name="metrics-show"),
]
