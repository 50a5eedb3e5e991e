"""Messages to managers, their replies, and saved answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.conversation import services
from core.conversation.forms.inbox import SavedAnswerForm
from core.conversation.models import ManagerThread, SavedAnswer, ThreadMessage
from core.conversation.permissions import inbox_of, project_asked, saved_answer_for, thread_for
from core.conversation.selectors import languages_of, messages_for, own_messages, threads_of
from core.people.api.forms import form_shape
from core.people.api.operations import ApiOperations
from core.people.api.pagination import ListPart, many_shown, page
from core.people.api.requested import asked_language, check_form, validated_data
from core.people.api.views import person_asking
from core.people.models import Project, User
from core.people.rules.pseudonyms import pseudonym

api = ApiOperations("inbox")


class TextSerializer(serializers.Serializer[Any]):
    text = serializers.CharField(max_length=services.MAX_MESSAGE_CHARACTERS)


class RepliesReadSerializer(serializers.Serializer[Any]):
    replies = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=10**12 - 1),
        max_length=1000,
        help_text="The IDs of those that you were shown.",
    )


class MessageShownSerializer(serializers.ModelSerializer[ThreadMessage]):
    quote = serializers.CharField(
        allow_blank=True, help_text="The feedback that it answers, or the sentence that was skipped."
    )
    reason = serializers.CharField(
        source="report.reason", default="", help_text="Of the report whose comment it is, or empty."
    )

    class Meta:
        model = ThreadMessage
        fields = ("id", "at", "is_reply", "text", "quote", "language", "reason", "origin")


class ThreadSerializer(serializers.ModelSerializer[ManagerThread]):
    person = serializers.SerializerMethodField(help_text="A pseudonym.")
    messages = serializers.SerializerMethodField()

    class Meta:
        model = ManagerThread
        fields = ("id", "person", "is_open", "asked_at", "messages")

    def get_person(self, thread: ManagerThread) -> str:
        return pseudonym(self.context["project"], thread.person_id)

    @extend_schema_field(MessageShownSerializer(many=True))
    def get_messages(self, thread: ManagerThread) -> Any:
        return MessageShownSerializer(self.context["said"][thread.pk], many=True).data


class SavedAnswerSerializer(serializers.ModelSerializer[SavedAnswer]):
    class Meta:
        model = SavedAnswer
        fields = ("id", "title", "text")


NewAnswerSerializer = form_shape("NewAnswer", SavedAnswerForm)


@api.list("messages", "What you and the managers wrote", "MessagePage", MessageShownSerializer)
def message_list(request: Request, slug: str) -> Response:
    mine = own_messages(project_asked(request.user, slug), person_asking(request))
    return page(request, [ListPart(0, mine)], order=["pk"], show=many_shown(MessageShownSerializer))


@api.post("message_send", "Write to the managers of a project", MessageShownSerializer, request=TextSerializer)
def message_send(request: Request, slug: str) -> Response:
    about: dict[str, Any] = {"project": project_asked(request.user, slug), "person": person_asking(request)}
    text = validated_data(TextSerializer, request)["text"]
    return sent_or_refused(lambda: services.ask_managers(**about, text=text, now=timezone.now()))


def sent_or_refused(send: Callable[[], ThreadMessage]) -> Response:
    """Answer with the message that a service sends, or with why it refuses the text."""
    try:
        return Response(MessageShownSerializer(send()).data)
    except services.MessageRefusedError as refused:
        raise serializers.ValidationError({"text": [str(refused)]}) from None


@api.post(
    "replies_confirm",
    "Confirm that you have read replies",
    {204: None},
    request=RepliesReadSerializer,
    has_key=False,
    description="A reply that is hidden while you work stays new until you have seen it and confirm it too.",
)
def replies_confirm(request: Request, slug: str) -> Response:
    about: dict[str, Any] = {"project": project_asked(request.user, slug), "person": person_asking(request)}
    replies = validated_data(RepliesReadSerializer, request)["replies"]
    services.confirm_replies(**about, replies=replies, now=timezone.now())
    return Response(status=204)


@api.list(
    "threads",
    "What people asked the managers of a project",
    "ThreadPage",
    ThreadSerializer,
    parameters=[
        OpenApiParameter("answered", str, enum=["yes"], description="Those that need no answer."),
        OpenApiParameter("language", str, description="Only those about this language, by its tag, in any spelling."),
    ],
)
def thread_list(request: Request, slug: str) -> Response:
    project = inbox_of(request.user, slug)
    rows = threads_of(project, **asked_of_inbox(request, project))
    show = partial(_shown, project, person_asking(request))
    return page(request, [ListPart(0, rows)], order=["pk"], show=show)


@api.post("thread_answer", "Reply to somebody", MessageShownSerializer, request=TextSerializer)
def thread_answer(request: Request, slug: str, thread_id: int) -> Response:
    thread = thread_for(request.user, slug, thread_id)
    text = validated_data(TextSerializer, request)["text"]
    about: dict[str, Any] = {"thread_id": thread.pk, "by": person_asking(request)}
    return sent_or_refused(lambda: services.answer_thread(**about, text=text, now=timezone.now()))


@api.post("thread_resolve", "Close a thread that needs no answer", {204: None}, has_key=False)
def thread_resolve(request: Request, slug: str, thread_id: int) -> Response:
    services.resolve_thread(thread_id=thread_for(request.user, slug, thread_id).pk)
    return Response(status=204)


def asked_of_inbox(request: Request, project: Project) -> dict[str, Any]:
    """Return the filters of the page. Raises rest_framework.serializers.ValidationError."""
    language = asked_language(request, (one.tag for one in languages_of(project)))
    return {"is_waiting": request.query_params.get("answered") != "yes", "language": language or ""}


def _shown(project: Project, reader: User, threads: Sequence[ManagerThread]) -> Any:
    context = {"project": project, "said": messages_for(reader, threads)}
    return ThreadSerializer(threads, many=True, context=context).data


@api.list("saved_answers", "Saved answers of a project", "SavedAnswerPage", SavedAnswerSerializer)
def saved_list(request: Request, slug: str) -> Response:
    rows = SavedAnswer.objects.filter(project=inbox_of(request.user, slug))
    return page(request, [ListPart(0, rows)], order=["pk"], show=many_shown(SavedAnswerSerializer))


@api.post("saved_answer_add", "Save an answer", SavedAnswerSerializer, request=NewAnswerSerializer)
def saved_add(request: Request, slug: str) -> Response:
    project = inbox_of(request.user, slug)
    form = SavedAnswerForm(validated_data(NewAnswerSerializer, request))
    form.instance.project = project
    check_form(form)
    return Response(SavedAnswerSerializer(form.save()).data)


@api.delete("saved_answer_delete", "Delete a saved answer")
def saved_delete(request: Request, slug: str, answer_id: int) -> Response:
    saved_answer_for(request.user, slug, answer_id).delete()
    return Response(status=204)
