"""Addresses of reports, messages and the inbox."""

from django.urls import path

from core.conversation.views import inbox, working

app_name = "conversation"
INBOX = "projects/<slug:slug>/inbox"
urlpatterns = [
    path("report/<str:kind>/<uuid:batch_id>/<int:position>/", working.report_send, name="report-send"),
    path("projects/<slug:slug>/messages/", working.thread_show, name="thread-show"),
    path(f"{INBOX}/", inbox.inbox_show, name="inbox-show"),
    path(f"{INBOX}/images/<int:reported_id>/", inbox.image_decide, name="image-decide"),
    path(f"{INBOX}/threads/<int:thread_id>/", inbox.thread_answer, name="thread-answer"),
    path(f"{INBOX}/answers/", inbox.saved_answer_add, name="saved-answer-add"),
    path(f"{INBOX}/answers/<int:answer_id>/delete/", inbox.saved_answer_delete, name="saved-answer-delete"),
]
