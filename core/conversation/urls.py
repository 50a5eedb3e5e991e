"""Addresses of reports and of the inbox."""

from django.urls import path

from core.conversation import views

app_name = "conversation"
urlpatterns = [
    path("report/<str:kind>/<uuid:batch_id>/<int:position>/", views.report_send, name="report-send"),
    path("projects/<slug:slug>/inbox/", views.inbox_show, name="inbox-show"),
    path("projects/<slug:slug>/inbox/images/<int:reported_id>/", views.image_decide, name="image-decide"),
]
