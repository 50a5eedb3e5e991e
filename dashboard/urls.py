"""Addresses of what spans projects and apps."""

from django.urls import path

from dashboard.views import emails, needs

app_name = "dashboard"
urlpatterns = [
    path("needs/", needs.need_list, name="need-list"),
    path("needs/number/", needs.need_count, name="need-count"),
    path("needs/dismiss/", needs.need_dismiss, name="need-dismiss"),
    path("profile/e-mails/", emails.email_choices, name="email-choices"),
    path("e-mails/stop/<str:token>/", emails.email_stop, name="email-stop"),
]
