"""Addresses of people under /api/v1/."""

from django.urls import path

from core.people.api import invitations, jobs, log, members, texts, views, webhooks

PROJECT = "projects/<slug:slug>"
WEBHOOK = f"{PROJECT}/webhooks/<int:webhook_id>"

urlpatterns = [
    path("me/", views.me, name="me"),
    path("jobs/<str:job>/", jobs.job_show, name="job-show"),
    path(f"{PROJECT}/", views.project_show, name="project-show"),
    path(f"{PROJECT}/invitations/", invitations.invitation_list_or_create, name="invitation-list"),
    path(f"{PROJECT}/invitations/addresses/", invitations.invitation_addresses, name="invitation-addresses"),
    path(f"{PROJECT}/invitations/change/", invitations.invitation_change, name="invitation-change"),
    path(f"{PROJECT}/log/", log.log_list, name="log-list"),
    path(f"{PROJECT}/members/", members.member_list, name="member-list"),
    path(f"{PROJECT}/members/<int:pk>/", members.member_remove, name="member-remove"),
    path(f"{PROJECT}/members/<int:pk>/link/", members.link_replace_or_revoke, name="member-link"),
    path(f"{PROJECT}/texts/<str:kind>/<str:tag>/", texts.translation_show_or_save, name="translation-show"),
    path(f"{PROJECT}/webhooks/", webhooks.webhook_list_or_add, name="webhook-list"),
    path(f"{WEBHOOK}/", webhooks.webhook_show_or_turn_off, name="webhook-show"),
    path(f"{WEBHOOK}/test/", webhooks.webhook_test, name="webhook-test"),
    path(f"{WEBHOOK}/deliveries/", webhooks.delivery_list, name="delivery-list"),
    path(f"{PROJECT}/deliveries/<int:delivery_id>/retry/", webhooks.delivery_retry, name="delivery-retry"),
]
