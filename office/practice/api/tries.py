"""Tries at practice: one's own, with a message to managers after the last, and those of a project."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.conversation.services import MessageRefusedError
from core.people.api.operations import ApiOperations
from core.people.api.pagination import ListPart, many_shown, page
from core.people.api.problems import field_refused
from core.people.api.requested import validated_data
from core.people.api.views import person_asking
from core.people.models import Project, Role
from core.people.permissions import project_for
from core.people.rules.pseudonyms import pseudonym
from office.practice.models import PracticeAttempt, PracticeKind
from office.practice.permissions import attempt_for, attempt_of_project
from office.practice.selectors.managing import attempts_of
from office.practice.services.attempts import (
    MAX_MESSAGE_CHARACTERS,
    allow_another_try,
    write_to_managers,
)

api = ApiOperations("practice")


class OwnTrySerializer(serializers.ModelSerializer[PracticeAttempt]):
    project = serializers.CharField(source="practice.project.slug")
    kind = serializers.ChoiceField(PracticeKind.choices, source="practice.kind")
    language = serializers.CharField(source="working_language_id")
    message = serializers.CharField(allow_blank=True, help_text="To the managers, after the last try.")

    class Meta:
        model = PracticeAttempt
        fields: tuple[str, ...] = (
            "id",
            "project",
            "kind",
            "language",
            "started_at",
            "finished_at",
            "right",
            "passed",
            "message",
        )
        read_only_fields: tuple[str, ...] = fields


class TrySerializer(OwnTrySerializer):
    person = serializers.SerializerMethodField(help_text="A pseudonym.")

    class Meta(OwnTrySerializer.Meta):
        fields = (*OwnTrySerializer.Meta.fields, "person", "is_forgiven")
        read_only_fields: tuple[str, ...] = fields

    def get_person(self, attempt: PracticeAttempt) -> str:
        return pseudonym(self.context["project"], attempt.person_id)


class MessageSerializer(serializers.Serializer[Any]):
    text = serializers.CharField(max_length=MAX_MESSAGE_CHARACTERS)


@api.list("own_practice_tries", "Your tries at practice", "OwnTryPage", OwnTrySerializer)
def own_try_list(request: Request) -> Response:
    mine = PracticeAttempt.objects.filter(person=person_asking(request)).select_related("practice__project")
    return page(request, [ListPart(0, mine)], order=["pk"], show=many_shown(OwnTrySerializer))


@api.put(
    "practice_message",
    "Write to the managers after your last try failed",
    OwnTrySerializer,
    request=MessageSerializer,
    description="The try keeps your last message; the managers find all in their inbox, and reply in your messages.",
)
def message_send(request: Request, attempt_id: int) -> Response:
    attempt = attempt_for(person_asking(request), attempt_id)
    with field_refused("text", MessageRefusedError):
        write_to_managers(attempt=attempt, text=validated_data(MessageSerializer, request)["text"], now=timezone.now())
    return Response(OwnTrySerializer(attempt).data)


@api.list("practice_tries", "Tries at the practice of a project", "TryPage", TrySerializer)
def try_list(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, Role.MANAGER)
    return page(request, [ListPart(0, attempts_of(project))], order=["pk"], show=partial(_shown, project))


@api.post("practice_try_allow", "Allow another try instead of a failed one", TrySerializer)
def try_allow(request: Request, slug: str, attempt_id: int) -> Response:
    project = project_for(person_asking(request), slug, Role.MANAGER)
    attempt = attempt_of_project(project, attempt_id)
    allow_another_try(attempt=attempt, by=person_asking(request), now=timezone.now())
    return Response(_shown(project, [attempt_of_project(project, attempt_id)])[0])


def _shown(project: Project, attempts: Sequence[PracticeAttempt]) -> Any:
    return TrySerializer(attempts, many=True, context={"project": project}).data
