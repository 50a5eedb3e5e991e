"""Addresses of reports, messages and the inbox under /api/v1/."""

from django.urls import path

from core.conversation.api import messages, reports
from core.people.api.operations import one_address

MESSAGES, INBOX = "projects/<slug:slug>/messages", "projects/<slug:slug>/inbox"
urlpatterns = [
    path("work/reports/<str:kind>/<uuid:batch_id>/<int:position>/", reports.report_send, name="report-send"),
    path(f"{MESSAGES}/", one_address(messages.message_list, messages.message_send), name="message-list"),
    path(f"{MESSAGES}/read/", messages.replies_confirm, name="replies-confirm"),
    path(f"{INBOX}/images/", reports.image_list, name="reported-image-list"),
    path(f"{INBOX}/images/<int:reported_id>/", reports.image_decide, name="reported-image-decide"),
    path(f"{INBOX}/threads/", messages.thread_list, name="thread-list"),
    path(f"{INBOX}/threads/<int:thread_id>/", messages.thread_answer, name="thread-answer"),
    path(f"{INBOX}/threads/<int:thread_id>/resolve/", messages.thread_resolve, name="thread-resolve"),
    path(f"{INBOX}/answers/", one_address(messages.saved_list, messages.saved_add), name="saved-answer-list"),
    path(f"{INBOX}/answers/<int:answer_id>/", messages.saved_delete, name="saved-answer-delete"),
]
