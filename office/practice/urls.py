"""Addresses of practice: for people who practise, and a manager's pages."""

from django.urls import path

from office.practice.views import managing, practising

app_name = "practice"
MANAGED = "projects/<slug:slug>/practice/manage"
urlpatterns = [
    path("projects/<slug:slug>/practice/", practising.practice_show, name="practice-show"),
    path("projects/<slug:slug>/practice/start/", practising.practice_start, name="practice-start"),
    path("practice/<int:attempt_id>/", practising.attempt_show, name="attempt-show"),
    path("practice/<int:attempt_id>/message/", practising.message_send, name="message-send"),
    path(f"{MANAGED}/", managing.practice_list, name="practice-list"),
    path(f"{MANAGED}/tries/<int:attempt_id>/", managing.attempt_review, name="attempt-review"),
    path(
        f"{MANAGED}/tries/<int:attempt_id>/allow/",
        managing.attempt_forgive,
        name="attempt-forgive",
    ),
    path(f"{MANAGED}/<str:kind>/switch/", managing.practice_switch, name="practice-switch"),
    path(f"{MANAGED}/<str:kind>/", managing.practice_edit, name="practice-edit"),
]
