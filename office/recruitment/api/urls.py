"""Addresses of studies and rates under /api/v1/."""

from django.urls import path

from office.recruitment.api import prolific, rates, studies

STUDIES = "projects/<slug:slug>/studies"

urlpatterns = [
    path("projects/<slug:slug>/rates/", rates.rates_show_or_replace, name="rates-show"),
    path(f"{STUDIES}/", studies.study_list_or_create, name="study-list"),
    path(f"{STUDIES}/prolific/", prolific.prolific_token_set, name="prolific-token"),
    path(f"{STUDIES}/<int:study_id>/prolific/", prolific.panel_show_or_plan, name="panel-show"),
    path(f"{STUDIES}/<int:study_id>/prolific/check/", prolific.panel_check, name="panel-check"),
    path(f"{STUDIES}/<int:study_id>/prolific/<slug:action>/", prolific.panel_step, name="panel-step"),
    path(f"{STUDIES}/<int:study_id>/", studies.study_show_or_change, name="study-show"),
]
