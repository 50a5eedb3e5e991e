"""What managers set up: languages, pilots, verifications, settings of rounds, and what rounds lack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from random import SystemRandom
from typing import Any

from django.core.exceptions import PermissionDenied
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import tasks
from annotation.api.managing import language_list, round_show
from annotation.api.shapes import RoundSerializer
from annotation.forms.campaign import PilotForm, ReasonForm, SampleForm
from annotation.forms.projects import REPLICATION, CollectionForm, LanguagesForm, ProjectNameForm, RoundForm
from annotation.models import Round
from annotation.pages.estimates import estimate_lines, estimate_total
from annotation.permissions import language_of, round_of
from annotation.rules.estimates import EstimateBasis
from annotation.selectors.campaign import images_to_draw
from annotation.selectors.estimates import measured_times
from annotation.selectors.overview import coverage_of
from annotation.services import planning
from annotation.services import projects as services
from annotation.services.campaign import StepNotAllowedError, take_back
from annotation.services.references import use_as_references
from core.allocation.forms import MAX_REPLICATION
from core.images.models import Collection
from core.jobs.models import JobState
from core.languages.models import Language
from core.people.api.forms import Shape, filled_form, form_shape, sent_form
from core.people.api.jobs import JobReport, job_kind, started
from core.people.api.operations import ApiOperations, one_address
from core.people.api.problems import field_refused, refused_as
from core.people.api.requested import validated_data
from core.people.api.views import ProjectSerializer, asking_now, person_asking, project_list, projects_shown
from core.people.models import Project, Role
from core.people.permissions import manages_anything, project_for
from research.inference.permissions import models_in
from research.scoring.api.references import ReferenceSetSerializer
from research.scoring.services.references import ReferenceFileError

api = ApiOperations("projects")
SEED_BITS = 32
ONLY_ESTIMATES = ("people", "hours_a_day", "rate", "currency")


class RoundsSerializer(serializers.Serializer[Any]):
    results = RoundSerializer(many=True)


class ReturnedBatchesSerializer(serializers.Serializer[Any]):
    batches = serializers.IntegerField(help_text="How many were returned.")


NewProjectSerializer = form_shape("NewProject", ProjectNameForm)
NewPilotSerializer = form_shape("NewPilot", PilotForm)
ReasonSerializer = form_shape("Reason", ReasonForm)
NewVerificationSerializer = form_shape("NewVerification", SampleForm)
RoundSettingsSerializer = form_shape("RoundSettings", RoundForm, filled=None)
LANGUAGE_FIELDS: dict[str, Any] = {
    "filled": ("captioners",),
    "collection": serializers.SlugField(help_text="Of the images to describe, by its slug."),
    "replications": serializers.DictField(
        child=serializers.IntegerField(min_value=1, max_value=MAX_REPLICATION),
        required=False,
        help_text="Captions per image of languages that differ, by tag.",
    ),
}
NewLanguagesSerializer = form_shape("NewLanguages", LanguagesForm, omit=ONLY_ESTIMATES, **LANGUAGE_FIELDS)
LanguagesToEstimateSerializer = form_shape("LanguagesToEstimate", LanguagesForm, **LANGUAGE_FIELDS)


class EstimatedSerializer(serializers.Serializer[Any]):
    captions = serializers.IntegerField(source="estimate.captions")
    ratings = serializers.IntegerField(source="estimate.ratings")
    batches = serializers.IntegerField(source="estimate.batches")
    hours = serializers.FloatField(source="estimate.hours")
    hours_within = serializers.FloatField(
        source="estimate.hours_within", allow_null=True, help_text="How far the hours may be off; or null."
    )
    cost = serializers.DecimalField(
        source="estimate.cost", max_digits=None, decimal_places=2, allow_null=True, help_text="Null without a rate."
    )
    ends_on = serializers.DateField(allow_null=True, help_text="If work begins today; null if that is years away.")


class EstimatedLanguageSerializer(EstimatedSerializer):
    language = serializers.CharField(source="language.tag")
    caption_s = serializers.FloatField(source="caption.seconds", help_text="Seconds for a caption.")
    caption_basis = serializers.ChoiceField(EstimateBasis.choices, source="caption.basis")
    rating_s = serializers.FloatField(source="rating.seconds", help_text="Seconds for a rating of a caption.")
    rating_basis = serializers.ChoiceField(EstimateBasis.choices, source="rating.basis")


class LanguagesEstimateSerializer(serializers.Serializer[Any]):
    images = serializers.IntegerField()
    without_caption = serializers.IntegerField(help_text="Images that no chosen model describes in English.")
    currency = serializers.CharField(allow_blank=True)
    total = EstimatedSerializer()
    languages = EstimatedLanguageSerializer(many=True)


@api.post(
    "project_create",
    "Start a project, of which you are the manager",
    {201: ProjectSerializer},
    request=NewProjectSerializer,
    description="Empty: import images and captions, and add languages. A campaign file makes a whole one.",
)
def project_create(request: Request) -> Response:
    if not manages_anything(person_asking(request)):
        raise PermissionDenied(
            _("Only managers can start projects. Ask the administrator of this site to make you one.")
        )
    form = sent_form(request, NewProjectSerializer, ProjectNameForm)
    made = services.create_empty_project(
        creator=person_asking(request), name=form.cleaned_data["name"], now=timezone.now()
    )
    return Response(projects_shown(person_asking(request), [made])[0], status=201)


@api.post(
    "languages_add",
    "Add languages to a project",
    {202: RoundsSerializer},
    request=NewLanguagesSerializer,
    description="Each begins with a pilot or the main round. Their images are prepared in the background.",
)
def languages_add(request: Request, slug: str) -> Response:
    project, collection, form = _languages_sent(request, slug, NewLanguagesSerializer)
    setting = form.setting_up(collection, seed=_new_seed(), now=timezone.now())
    with field_refused("languages", services.LanguageAlreadyAddedError):
        made = services.add_languages(project=project, by=person_asking(request), **setting)
    return _filling([one.pk for one in made])


@api.post(
    "languages_estimate",
    "Estimate what languages will take, before they are added",
    LanguagesEstimateSerializer,
    request=LanguagesToEstimateSerializer,
    description="Stores nothing. By the pace of people on this site, or by what is assumed until there is one.",
)
def languages_estimate(request: Request, slug: str) -> Response:
    _project, collection, form = _languages_sent(request, slug, LanguagesToEstimateSerializer)
    covered, today = coverage_of(collection, form.cleaned_data["captioners"]), timezone.localdate()
    plan = form.plan(images=covered.by_any)
    lines = estimate_lines(plan, form.new_rounds(), measured_times(), today=today)
    about = {"images": covered.by_any, "without_caption": covered.without, "currency": form.cleaned_data["currency"]}
    about |= {"total": estimate_total(lines, today=today), "languages": lines}
    return Response(LanguagesEstimateSerializer(about).data)


def _languages_sent(request: Request, slug: str, shape: Shape) -> tuple[Project, Collection, LanguagesForm]:
    project, by = project_for(person_asking(request), slug, Role.MANAGER), person_asking(request)
    sent = validated_data(shape, request)
    chosen = filled_form(partial(CollectionForm, project=project, by=by), {"collection": sent.pop("collection")})
    sent |= {REPLICATION + tag: number for tag, number in sent.pop("replications", {}).items()}
    collection = chosen.cleaned_data["collection"]
    coverage, languages = coverage_of(collection, models_in(project)), Language.objects.all()
    return project, collection, filled_form(partial(LanguagesForm, coverage=coverage, languages=languages), sent)


@api.post(
    "pilot_plan",
    "Plan the next pilot of a language",
    {201: RoundSerializer},
    request=NewPilotSerializer,
    description="Open it when the guidelines are ready.",
)
def pilot_plan(request: Request, slug: str, tag: str) -> Response:
    project, language = language_of(person_asking(request), slug, tag, Role.MANAGER)
    form = sent_form(request, NewPilotSerializer, partial(PilotForm, most=images_to_draw(project, language)))
    with refused_as("step-refused", StepNotAllowedError):
        planned = planning.plan_pilot(
            project=project, language=language, seed=_new_seed(), **form.cleaned_data, **asking_now(request)
        )
    return Response(_shown([planned.pk])[0], status=201)


@api.post(
    "pilot_skip",
    "Say why a language gets no further pilot",
    {201: RoundSerializer},
    request=ReasonSerializer,
    description="The main round can be opened then.",
)
def pilot_skip(request: Request, slug: str, tag: str) -> Response:
    project, language = language_of(person_asking(request), slug, tag, Role.MANAGER)
    form = sent_form(request, ReasonSerializer, ReasonForm)
    with refused_as("step-refused", StepNotAllowedError):
        skipped = planning.skip_pilot(project=project, language=language, **form.cleaned_data, **asking_now(request))
    return Response(_shown([skipped.pk])[0], status=201)


@api.post(
    "verification_plan",
    "Plan a verification of a round's captions",
    {201: RoundSerializer},
    request=NewVerificationSerializer,
)
def verification_plan(request: Request, slug: str, round_id: int) -> Response:
    round = round_of(person_asking(request), slug, round_id, Role.MANAGER)
    form = sent_form(request, NewVerificationSerializer, SampleForm)
    with refused_as("step-refused", StepNotAllowedError):
        planned = planning.plan_verification(of=round, seed=_new_seed(), **form.cleaned_data, **asking_now(request))
    return Response(_shown([planned.pk])[0], status=201)


@api.patch("round_change", "Change the settings of a round", RoundSerializer, request=RoundSettingsSerializer)
def round_change(request: Request, slug: str, round_id: int) -> Response:
    round = round_of(person_asking(request), slug, round_id, Role.MANAGER)
    form = sent_form(request, RoundSettingsSerializer, partial(RoundForm, round=round))
    services.change_round(round=round, settings=form.settings(), **asking_now(request))
    return Response(_shown([round.pk])[0])


@api.post(
    "round_return_batches",
    "Return all unfinished batches of a round",
    ReturnedBatchesSerializer,
    description="Drafts are kept; others can take the places.",
)
def round_return_batches(request: Request, slug: str, round_id: int) -> Response:
    round = round_of(person_asking(request), slug, round_id, Role.MANAGER)
    with refused_as("step-refused", StepNotAllowedError):
        return Response({"batches": take_back(round=round, **asking_now(request))})


@api.post(
    "round_references",
    "Use the captions of a round that count as references",
    {201: ReferenceSetSerializer},
)
def round_references(request: Request, slug: str, round_id: int) -> Response:
    round = round_of(person_asking(request), slug, round_id, Role.MANAGER)
    with refused_as("step-refused", ReferenceFileError):
        made = use_as_references(round=round, **asking_now(request))
    return Response(ReferenceSetSerializer(made).data, status=201)


@api.post(
    "tasks_add",
    "Add images that got an English caption since to open rounds",
    {200: RoundsSerializer, 202: RoundsSerializer},
)
def tasks_add(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, Role.MANAGER)
    return _filling(services.ask_for_missing_tasks(project=project, **asking_now(request)))


@job_kind("round")
def round_jobs(request: Request, pks: Sequence[int]) -> Iterator[JobReport]:
    for slug, pk in Round.objects.filter(pk__in=pks).values_list("project__slug", "pk"):
        round = round_of(person_asking(request), slug, pk)
        state, at = (JobState.QUEUED, None) if round.awaits_tasks else (JobState.DONE, round.filled_at)
        yield JobReport(state, reverse("api:round-show", args=[slug, pk]), finished_at=at)


def _filling(rounds: Sequence[int]) -> Response:
    """Answer with rounds whose images are being prepared, if there are any."""
    tasks.nudge_filling(rounds)
    body = {"results": _shown(rounds)}
    return started(body, "round", *rounds) if rounds else Response(body)


def _shown(pks: Sequence[int]) -> Any:
    rounds = Round.objects.filter(pk__in=pks).select_related("pool", "verifies", "guidelines").order_by("pk")
    return RoundSerializer(rounds, many=True).data


def _new_seed() -> int:
    return SystemRandom().getrandbits(SEED_BITS)


project_list_or_create = one_address(project_list, project_create)
language_list_or_add = one_address(language_list, languages_add)
round_show_or_change = one_address(round_show, round_change)
