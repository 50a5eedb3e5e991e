"""Addresses of the installation itself, for machines."""

from people.rules.lazy import LazyModule, path

views = LazyModule("operations.views")

urlpatterns = [
    path("healthz", views.health_show, name="health-show"),
    path("readyz", views.readiness_show, name="readiness-show"),
    path("metrics", views.metrics_show, name="metrics-show"),
]
