"""Addresses of practice under /api/v1/."""

from django.urls import path

from office.practice.api import tries

TRIES = "projects/<slug:slug>/practice"

urlpatterns = [
    path("work/practice/", tries.own_try_list, name="own-try-list"),
    path("work/practice/<int:attempt_id>/message/", tries.message_send, name="practice-message"),
    path(f"{TRIES}/", tries.try_list, name="try-list"),
    path(f"{TRIES}/<int:attempt_id>/allow/", tries.try_allow, name="try-allow"),
]
