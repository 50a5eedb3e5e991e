"""Studies that panels send people to. No answer has the secret of a panel's webhooks."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.shortcuts import get_object_or_404
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.forms import form_shape, sent_form
from core.people.api.operations import ApiOperations, one_address
from core.people.api.pagination import ListPart, many_shown, page
from core.people.api.views import person_asking
from core.people.models import Role
from core.people.permissions import project_for
from office.recruitment.forms import StudyForm, StudySettingsForm
from office.recruitment.models import Study
from office.recruitment.selectors.panels import address_of
from office.recruitment.services.studies import change_study, create_study

api = ApiOperations("recruitment")


class StudySerializer(serializers.ModelSerializer[Study]):
    languages: Any = serializers.SlugRelatedField(slug_field="tag", many=True, read_only=True)
    reward = serializers.FloatField(help_text="What the panel pays each person.")
    rate = serializers.FloatField(help_text="What an hour is to be paid.")

    class Meta:
        model = Study
        fields: tuple[str, ...] = (
            *("id", "name", "panel", "role", "languages", "batches", "places", "is_open", "created_at"),
            *("reward", "rate", "currency", "done_url", "screened_out_url", "failed_url"),
            *("person_parameter", "session_parameter"),
        )
        read_only_fields: tuple[str, ...] = fields


class StudyWithAddressSerializer(StudySerializer):
    """Only read: answers that are kept for an Idempotency-Key hold no address by which people come in."""

    address = serializers.SerializerMethodField(help_text="For the panel, which sends people there.")

    class Meta(StudySerializer.Meta):
        fields = (*StudySerializer.Meta.fields, "address")
        read_only_fields: tuple[str, ...] = fields

    def get_address(self, study: Study) -> str:
        return address_of(study, self.context["request"].build_absolute_uri)


NewStudySerializer = form_shape("NewStudy", StudyForm)
StudySettingsSerializer = form_shape("StudySettings", StudySettingsForm, filled=None)


@api.list("studies", "The studies of a project", "StudyPage", StudySerializer)
def study_list(request: Request, slug: str) -> Response:
    rows = project_for(person_asking(request), slug, Role.MANAGER).studies.prefetch_related("languages")
    return page(request, [ListPart(0, rows)], order=["pk"], show=many_shown(StudySerializer))


@api.post(
    "study_create",
    "Set up a study",
    {201: StudySerializer},
    request=NewStudySerializer,
    description="Read it to get the address for the panel.",
)
def study_create(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, Role.MANAGER)
    form = sent_form(request, NewStudySerializer, StudyForm)
    made = create_study(project=project, by=person_asking(request), now=timezone.now(), **form.cleaned_data)
    return Response(StudySerializer(made).data, status=201)


@api.get("study", "A study, with its address for the panel", StudyWithAddressSerializer)
def study_show(request: Request, slug: str, study_id: int) -> Response:
    study = study_for(request, slug, study_id)
    return Response(StudyWithAddressSerializer(study, context={"request": request}).data)


@api.patch("study_change", "Change a study", StudySerializer, request=StudySettingsSerializer)
def study_change(request: Request, slug: str, study_id: int) -> Response:
    study = study_for(request, slug, study_id)
    initial = {name: getattr(study, name) for name in StudySettingsForm.base_fields}
    form = sent_form(request, StudySettingsSerializer, partial(StudySettingsForm, initial=initial))
    change_study(study=study, by=person_asking(request), now=timezone.now(), **form.cleaned_data)
    return Response(StudySerializer(study).data)


def study_for(request: Request, slug: str, study_id: int) -> Study:
    project = project_for(person_asking(request), slug, Role.MANAGER)
    return get_object_or_404(project.studies.select_related("project"), pk=study_id)


study_list_or_create = one_address(study_list, study_create)
study_show_or_change = one_address(study_show, study_change)
