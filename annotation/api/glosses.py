"""Translations of captions into English: how far they are, starting and deleting them. The texts are on pages only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from django.urls import reverse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import tasks
from annotation.forms.glosses import GlossForm
from annotation.models import GlossRequest
from annotation.permissions import language_of
from annotation.selectors.glosses import GlossProgress, gloss_progress
from annotation.services import glosses
from core.people.api.forms import sent_form
from core.people.api.jobs import JobReport, job_kind, started
from core.people.api.operations import ApiOperations, one_address
from core.people.api.views import person_asking
from core.people.models import Role

api = ApiOperations("projects")


class NewGlossesSerializer(serializers.Serializer[Any]):
    translator = serializers.IntegerField(help_text="The number of a translator that reads the language.")
    keeps_up = serializers.BooleanField(required=False, help_text="Whether to translate later captions, too.")
    all_languages = serializers.BooleanField(
        required=False, help_text="Whether to do so in every language of the project that the translator reads."
    )


class GlossProgressSerializer(serializers.Serializer[Any]):
    translator = serializers.IntegerField(
        source="request.translator_id", allow_null=True, help_text="Its number; null if nothing was asked for."
    )
    keeps_up = serializers.BooleanField(source="request.keeps_up", allow_null=True)
    made = serializers.IntegerField(help_text="Captions and messages that were translated.")
    failed = serializers.IntegerField(help_text="Captions and messages that could not be translated.")
    waiting = serializers.IntegerField(
        help_text="Captions without a translation, and messages that the translator gets."
    )


@api.get("glosses", "How many captions of a language are translated into English", GlossProgressSerializer)
def glosses_show(request: Request, slug: str, tag: str) -> Response:
    project, language = language_of(person_asking(request), slug, tag, Role.MANAGER)
    return Response(_shown(gloss_progress(project, language)))


@api.post(
    "glosses_ask",
    "Translate captions of a language into English, for managers",
    {202: GlossProgressSerializer},
    request=NewGlossesSerializer,
    description="An endpoint as translator gets the texts of captions. Messages are translated as well, but only by "
    "translators that run on the machines of this installation. Annotators never see a translation.",
)
def glosses_ask(request: Request, slug: str, tag: str) -> Response:
    project, language = language_of(person_asking(request), slug, tag, Role.MANAGER)
    form = sent_form(request, NewGlossesSerializer, partial(GlossForm, project=project, language=language))
    made = glosses.ask_for_glosses(project=project, by=person_asking(request), now=timezone.now(), **form.asked())
    tasks.ask_for_glosses_of(made)
    return started(_shown(gloss_progress(project, language)), "glosses", *(one.pk for one in made))


@api.delete("glosses_delete", "Delete the translations of a language into English, and make no more")
def glosses_delete(request: Request, slug: str, tag: str) -> Response:
    project, language = language_of(person_asking(request), slug, tag, Role.MANAGER)
    glosses.delete_glosses(project=project, language=language, by=person_asking(request), now=timezone.now())
    return Response(status=204)


@job_kind("glosses")
def gloss_jobs(request: Request, pks: Sequence[int]) -> Iterator[JobReport]:
    for row in GlossRequest.objects.filter(pk__in=pks).select_related("project"):
        project, language = language_of(person_asking(request), row.project.slug, row.language_id, Role.MANAGER)
        progress = gloss_progress(project, language)
        done, total = progress.made + progress.failed, progress.made + progress.failed + progress.waiting
        address = reverse("api:glosses-show", args=[project.slug, language.pk])
        yield JobReport(row.state, address, row.error, done, total, row.finished_at)


def _shown(progress: GlossProgress) -> Any:
    return GlossProgressSerializer(progress).data


glosses_show_or_change = one_address(glosses_show, glosses_ask, glosses_delete)
