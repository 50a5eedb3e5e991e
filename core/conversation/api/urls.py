"""Addresses of reports and of the inbox under /api/v1/."""

from django.urls import path

from core.conversation.api import reports

urlpatterns = [
    path("work/reports/<str:kind>/<uuid:batch_id>/<int:position>/", reports.report_send, name="report-send"),
    path("projects/<slug:slug>/inbox/images/", reports.image_list, name="reported-image-list"),
    path("projects/<slug:slug>/inbox/images/<int:reported_id>/", reports.image_decide, name="reported-image-decide"),
]
