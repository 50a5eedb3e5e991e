"""Annotators of a language: what they did, decisions about them, feedback, and batches that others get."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.checking import feedback_response
from annotation.api.refusals import check_no_assigned_images
from annotation.api.shapes import FeedbackSerializer
from annotation.forms.campaign import AnnotatorDecision, DecisionForm
from annotation.forms.checks import FeedbackTextForm
from annotation.models import AnnotatorState, Exclusion
from annotation.permissions import batch_managed_by, feedback_readers, language_of, round_of
from annotation.rules.writing_marks import MarkKind
from annotation.selectors.campaign import PersonRow, language_page, may_be_decided_about
from annotation.selectors.marks import marks_of_person
from annotation.services import annotator_status, reassignment
from core.allocation.models import Batch, BatchState
from core.languages.models import Language
from core.people.api.forms import filled_form, form_shape, sent_form
from core.people.api.operations import ApiOperations
from core.people.api.problems import ApiError, explain
from core.people.api.pseudonyms import person_called
from core.people.api.requested import validated_data
from core.people.api.views import person_asking
from core.people.models import Project, Role, User
from core.people.permissions import project_for
from core.people.rules.pseudonyms import pseudonym

api = ApiOperations("projects")
explain({"reassignment-refused": "The batch cannot be given to this person; detail says why."})


class AnnotatorSerializer(serializers.Serializer[Any]):
    annotator = serializers.SerializerMethodField(help_text="A pseudonym.")
    state = serializers.ChoiceField(
        AnnotatorState.choices, source="status.state", default="", allow_blank=True, help_text="Empty if not decided."
    )
    reason = serializers.CharField(source="status.reason", default="", allow_blank=True)
    is_excluded = serializers.SerializerMethodField(help_text="Whether their work in the language does not count.")
    is_member = serializers.BooleanField(help_text="Whether they may still work in the language.")
    captions = serializers.IntegerField()
    ratings = serializers.IntegerField(help_text="Of captions that others wrote.")
    open_batches = serializers.SerializerMethodField(help_text="The IDs of their unfinished batches.")

    def get_annotator(self, row: PersonRow) -> str:
        return pseudonym(self.context["project"], row.person.pk)

    def get_is_excluded(self, row: PersonRow) -> bool:
        return row.exclusion is not None

    def get_open_batches(self, row: PersonRow) -> list[UUID]:
        return [batch.pk for batch in self.context["batches"] if batch.person_id == row.person.pk]


class AnnotatorsSerializer(serializers.Serializer[Any]):
    results = AnnotatorSerializer(many=True)


AnnotatorDecisionSerializer = form_shape("AnnotatorDecision", DecisionForm)
NewFeedbackSerializer = form_shape(
    "NewFeedback", FeedbackTextForm, annotator=serializers.CharField(help_text="A pseudonym.")
)


class MarkSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(MarkKind.choices)
    captions = serializers.ListField(child=serializers.IntegerField(), help_text="Their IDs, the newest first.")


class MarksSerializer(serializers.Serializer[Any]):
    looked_at = serializers.IntegerField(help_text="How many of the newest captions were looked at.")
    results = MarkSerializer(many=True)


class MoveSerializer(serializers.Serializer[Any]):
    annotator = serializers.CharField(help_text="The pseudonym of the person who gets the batch.")


class MovedBatchSerializer(serializers.Serializer[Any]):
    batch = serializers.UUIDField(source="batch.pk", help_text="Theirs, which they start from the beginning.")
    moved = serializers.IntegerField(help_text="How many images it has.")
    left = serializers.IntegerField(help_text="How many they had before, which anybody else can take.")


@api.get("annotators", "The annotators of a language, and decisions about them", AnnotatorsSerializer)
def annotator_list(request: Request, slug: str, tag: str) -> Response:
    project, language = language_of(person_asking(request), slug, tag, Role.MANAGER)
    return Response({"results": _annotators(project, language)})


@api.get(
    "annotator_marks",
    "Marks on an annotator's newest captions",
    MarksSerializer,
    description="What may be worth a look. A mark proves nothing: docs/statistics.md says how often each is wrong.",
)
def annotator_marks(request: Request, slug: str, pseudonym: str) -> Response:
    project = project_for(person_asking(request), slug, Role.MANAGER)
    person = person_called(pseudonym, project, User.objects.filter(captions__round__project=project).distinct())
    marks = marks_of_person(project, person)
    found = [{"kind": kind, "captions": [one.pk for one in of_kind]} for kind, of_kind in marks.captions.items()]
    return Response({"looked_at": marks.looked_at, "results": found})


@api.post(
    "annotator_decide",
    "Qualify, pause or exclude an annotator in a language, or undo that",
    AnnotatorSerializer,
    description="`lift` withdraws a pause or qualification; `undo` counts excluded work again, as far as nobody else "
    "has its places.",
    request=AnnotatorDecisionSerializer,
)
def annotator_decide(request: Request, slug: str, tag: str, pseudonym: str) -> Response:
    project, language = language_of(person_asking(request), slug, tag, Role.MANAGER)
    person = person_called(pseudonym, project, User.objects.filter(may_be_decided_about(project, language)))
    decided = sent_form(request, AnnotatorDecisionSerializer, DecisionForm).cleaned_data
    about = {"project": project, "language": language, "person": person}
    who = {"by": person_asking(request), "now": timezone.now()}
    _DECISIONS[AnnotatorDecision(decided["decision"])](about, decided["reason"], who)
    return Response(_annotators(project, language, person)[0])


@api.post(
    "feedback_create",
    "Send an annotator feedback on a round in general",
    {201: FeedbackSerializer},
    request=NewFeedbackSerializer,
    description="They read it before they get another batch.",
)
def feedback_create(request: Request, slug: str, round_id: int) -> Response:
    round = round_of(person_asking(request), slug, round_id, Role.MANAGER)
    check_no_assigned_images(person_asking(request), round.project)
    sent = validated_data(NewFeedbackSerializer, request)
    person = person_called(sent.pop("annotator"), round.project, feedback_readers(round))
    return feedback_response(request, round=round, person=person, **filled_form(FeedbackTextForm, sent).cleaned_data)


@api.post(
    "batch_move",
    "Give the images of an unfinished batch to another annotator",
    MovedBatchSerializer,
    request=MoveSerializer,
)
def batch_move(request: Request, slug: str, batch_id: UUID) -> Response:
    batch = batch_managed_by(person_asking(request), slug, batch_id)
    name = validated_data(MoveSerializer, request)["annotator"]
    project = batch.pool.round.project
    to = person_called(
        name, project, User.objects.filter(memberships__project=project, memberships__role=Role.ANNOTATOR)
    )
    try:
        moved = reassignment.move_batch(batch=batch, to=to, by=person_asking(request), now=timezone.now())
    except reassignment.NOT_REASSIGNED as refused:
        raise ApiError(409, "reassignment-refused", reassignment.why_not_reassigned(refused, name)) from None
    return Response(MovedBatchSerializer(moved).data)


def _undo_exclusion(about: dict[str, Any], who: dict[str, Any]) -> None:
    exclusion = Exclusion.objects.filter(undone_at=None, **about).first()
    if exclusion is not None:
        annotator_status.undo_exclusion(exclusion=exclusion, **who)


_DECISIONS: dict[AnnotatorDecision, Callable[[dict[str, Any], str, dict[str, Any]], object]] = {
    AnnotatorDecision.QUALIFY: lambda about, why, who: annotator_status.qualify(reason=why, **about, **who),
    AnnotatorDecision.PAUSE: lambda about, why, who: annotator_status.pause(reason=why, **about, **who),
    AnnotatorDecision.LIFT: lambda about, _why, who: annotator_status.undo_decision(**about, **who),
    AnnotatorDecision.EXCLUDE: lambda about, why, who: annotator_status.exclude(reason=why, **about, **who),
    AnnotatorDecision.UNDO: lambda about, _why, who: _undo_exclusion(about, who),
}


def _annotators(project: Project, language: Language, person: User | None = None) -> Any:
    rows = [row for row in language_page(project, language, now=timezone.now()).people if person in (None, row.person)]
    of_rounds = {"pool__round__project": project, "pool__round__language": language}
    context = {"project": project, "batches": Batch.objects.filter(state=BatchState.OPEN, **of_rounds).order_by("pk")}
    return AnnotatorSerializer(rows, many=True, context=context).data
