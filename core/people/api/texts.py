"""Translations of the texts of a project, for its managers: read the newest, save a draft, publish."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.people.api.forms import filled_form, form_shape
from core.people.api.operations import ApiOperations, one_address
from core.people.api.problems import explain, field_refused, refused_as
from core.people.api.requested import validated_data
from core.people.api.views import person_asking
from core.people.forms.projects import TranslationForm
from core.people.models import Role
from core.people.permissions import project_for
from core.people.rules.consent_parts import PartsError
from core.people.rules.placeholders import PlaceholdersError
from core.people.selectors.texts import TextToTranslate, text_to_translate
from core.people.services.texts import StaleTranslationError, save_translation

api = ApiOperations("projects")
explain({"stale-translation": "The text has a newer version than the one that was translated. Read it again."})

NewTranslationSerializer = form_shape(
    "NewTranslation",
    TranslationForm,
    filled=("version",),
    publishes=serializers.BooleanField(default=False, help_text="Whether people see it; otherwise it is a draft."),
)


class TranslationSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField()
    language = serializers.CharField(source="language.pk")
    version = serializers.IntegerField(source="original.version", help_text="The newest of the original.")
    original = serializers.CharField(source="original.body", help_text="Markdown.")
    body = serializers.CharField(source="last.body", default="", help_text="The newest translation; empty if none.")
    translated_version = serializers.IntegerField(source="last.version", default=None, allow_null=True)
    reviewed_by = serializers.CharField(
        source="last.reviewer", default="", help_text="Who published it; empty where a machine translated it."
    )
    published_at = serializers.DateTimeField(source="last.published_at", default=None, allow_null=True)


@api.get("translation", "A text of a project and its newest translation into a language", TranslationSerializer)
def translation_show(request: Request, slug: str, kind: str, tag: str) -> Response:
    return _answer(_text(request, slug, kind, tag))


@api.put(
    "translation_save",
    "Save or publish a translation of a text",
    TranslationSerializer,
    request=NewTranslationSerializer,
)
def translation_save(request: Request, slug: str, kind: str, tag: str) -> Response:
    text = _text(request, slug, kind, tag)
    sent = validated_data(NewTranslationSerializer, request)
    publishes = sent.pop("publishes")
    form = filled_form(partial(TranslationForm, initial={"version": text.original.version}), sent)
    with refused_as("stale-translation", StaleTranslationError), field_refused("body", PartsError, PlaceholdersError):
        save_translation(
            project=text.project, kind=text.kind, language=text.language, publishes=publishes,
            by=person_asking(request), now=timezone.now(), **form.cleaned_data,
        )  # fmt: skip
    return _answer(_text(request, slug, kind, tag))


def _text(request: Request, slug: str, kind: str, tag: str) -> TextToTranslate:
    return text_to_translate(project_for(person_asking(request), slug, Role.MANAGER), kind, tag)


def _answer(text: TextToTranslate) -> Response:
    return Response(TranslationSerializer(text).data)


translation_show_or_save = one_address(translation_show, translation_save)
