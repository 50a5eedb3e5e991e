"""Managers' and researchers' pages of references: list, look at, translate, and train a model on them."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.languages.rules.registry import ENGLISH
from core.people.permissions import READERS, project_for
from core.people.requests import RefusalsShown, user_of
from research.inference.services.steering import WorkRefusedError
from research.inference.tasks import ask_for_training
from research.scoring import tasks
from research.scoring.forms.references import ReferenceTrainingForm, ReferenceTranslationForm
from research.scoring.models import ReferenceSet
from research.scoring.pages.images import references_page
from research.scoring.pages.progress import translation_of
from research.scoring.permissions import has_assigned_images, reference_set_for
from research.scoring.selectors.setup import reference_sets, written_by_people
from research.scoring.services import references as services
from research.scoring.services.reference_translations import start_translations, translate_again
from research.scoring.services.training_data import start_training


@require_safe
def reference_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    return render(request, "scoring/references.html", {"project": project, "sets": reference_sets(project)})


@require_safe
def reference_show(request: HttpRequest, slug: str, set_id: int) -> HttpResponse:
    reference_set = reference_set_for(request.user, slug, set_id)
    context: dict[str, Any] = {"project": reference_set.project, "references": reference_set}
    context |= {"can_translate": reference_set.language_id == ENGLISH and reference_set.captions > 0}
    context |= {"translation": translation_of(reference_set)}
    if has_assigned_images(user_of(request), [reference_set]):
        return render(request, "scoring/reference_set.html", context | {"is_closed": True})
    page, shown = references_page(reference_set, number=request.GET.get("page", "1"))
    return render(request, "scoring/reference_set.html", context | {"page": page, "images": shown})


@require_POST
def reference_evaluation(request: HttpRequest, slug: str, set_id: int) -> HttpResponse:
    """Make the references an evaluation set, or end that."""
    reference_set = reference_set_for(request.user, slug, set_id)
    is_evaluation = request.POST.get("is_evaluation") == "on"
    services.set_evaluation(reference_set=reference_set, is_evaluation=is_evaluation)
    messages.success(
        request,
        _("These references are an evaluation set now: no model is trained on their images.")
        if is_evaluation
        else _("These references are no longer an evaluation set."),
    )
    return redirect("scoring:reference-show", slug, set_id)


@require_POST
def reference_drop(request: HttpRequest, slug: str, set_id: int) -> HttpResponse:
    reference_set = reference_set_for(request.user, slug, set_id)
    with RefusalsShown(request, services.ReferenceFileError):
        services.drop_references(reference_set=reference_set)
        messages.success(request, _("The references are removed."))
        return redirect("scoring:reference-list", slug)
    return redirect("scoring:reference-show", slug, set_id)


@require_http_methods(["GET", "HEAD", "POST"])
def references_translate(request: HttpRequest, slug: str, set_id: int) -> HttpResponse:
    """Translate English references into references of other languages."""
    english = reference_set_for(request.user, slug, set_id)
    people = written_by_people(english)
    form = ReferenceTranslationForm(request.POST or None, by=user_of(request), english=english, people=people)
    if form.is_valid() and _started(request, form, english):
        return redirect("scoring:reference-list", slug)
    context = {"project": english.project, "form": form, "references": english}
    return render(request, "scoring/references_translate.html", context, status=422 if form.errors else 200)


def _started(request: HttpRequest, form: ReferenceTranslationForm, english: ReferenceSet) -> bool:
    """Start the translations; False if they are refused, and the form says why."""
    with RefusalsShown(form, services.ReferenceFileError):
        started = start_translations(english=english, **form.answers(), by=user_of(request), now=timezone.now())
        for one in started:
            tasks.ask_for_translation(one.pk)
        text = ngettext(
            "The references are being translated into %(number)d language.",
            "The references are being translated into %(number)d languages.",
            len(started),
        )
        messages.success(request, text % {"number": len(started)})
        return True
    return False


@require_safe
def reference_progress(request: HttpRequest, slug: str, set_id: int) -> HttpResponse:
    """The part of the page about the translation, which asks for itself again until it is done."""
    reference_set = reference_set_for(request.user, slug, set_id)
    context: dict[str, Any] = {"project": reference_set.project, "references": reference_set}
    return render(request, "scoring/_translation.html", context | {"translation": translation_of(reference_set)})


@require_POST
def reference_again(request: HttpRequest, slug: str, set_id: int) -> HttpResponse:
    """Resume a failed translation, or translate again what has changed."""
    reference_set = reference_set_for(request.user, slug, set_id)
    with RefusalsShown(request, services.ReferenceFileError):
        tasks.ask_for_translation(translate_again(made=reference_set).pk)
    return redirect("scoring:reference-show", slug, set_id)


@require_http_methods(["GET", "HEAD", "POST"])
def training_create(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    sets = list(reference_sets(project))
    asked: dict[str, Any] = {"references": request.GET.getlist("references")}
    form = ReferenceTrainingForm(request.POST or None, by=user_of(request), sets=sets, initial=asked)
    if form.is_valid():
        with RefusalsShown(form, WorkRefusedError):
            training = start_training(**form.about(), project=project, by=user_of(request), now=timezone.now())
            ask_for_training(training.pk)
            return redirect("inference:training-show", training.pk)
    context = {"project": project, "form": form}
    return render(request, "scoring/training_create.html", context, status=422 if form.errors else 200)
