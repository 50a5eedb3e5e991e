"""List, show and register models and translators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from django.contrib import messages
from django.core.paginator import Paginator
from django.forms import Form
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.images.permissions import collections_to_use
from core.people.permissions import check_reader
from core.people.requests import RefusalsShown, csv_download, user_of
from core.people.views.ownership import owner_page
from research.inference.backends import registry
from research.inference.backends.captioners import Backend, BackendSettingsError, TranslatorBackend
from research.inference.forms.models import (
    KINDS,
    OF_ANOTHER_PACKAGE,
    OF_ANOTHER_TRANSLATOR,
    TRANSLATOR_KINDS,
    ModelEditForm,
    RegisterForm,
    TranslatedModelForm,
)
from research.inference.models import TRANSLATED, CaptioningModel, ModelCaption, Translator
from research.inference.pages.models import broken_packages, kind_cards, model_lines, model_page, stabilisers_page
from research.inference.permissions import may_change_model, model_for, model_to_change, namesakes_of, trainings_for
from research.inference.selectors.models import model_rows, models_named, stabilisers_table, translators
from research.inference.services import models as services
from research.inference.services.models import ModelUsedError, delete_model, merge_model, uses_of_model

Registered = TypeVar("Registered", CaptioningModel, Translator)

MODELS_PER_PAGE = 50
MAX_KEY_DIGITS = 19
"""Digits of a primary key, at which a database gives up."""
MAX_QUERY_CHARACTERS = 200


@require_safe
def model_list(request: HttpRequest) -> HttpResponse:
    check_reader(request.user)
    # PostgreSQL cannot search for a NUL, nor SQLite for a very long text.
    asked = request.GET.get("q", "").replace("\0", "").strip()[:MAX_QUERY_CHARACTERS]
    page = Paginator(models_named(asked, user_of(request)), MODELS_PER_PAGE).get_page(request.GET.get("page"))
    lines = model_lines(model_rows(list(page), user_of(request)))
    context = {"page": page, "lines": lines, "asked": asked}
    return render(request, "inference/models.html", context)


@require_safe
def model_show(request: HttpRequest, model_id: int) -> HttpResponse:
    model = model_for(request.user, model_id)
    context = {"model": model, "page": model_page(model, user_of(request), now=timezone.now())}
    context["may_change"] = may_change_model(request.user, model)
    context["training"] = trainings_for(request.user).filter(model=model).first()
    return render(request, "inference/model.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def model_owner(request: HttpRequest, model_id: int) -> HttpResponse:
    model = model_to_change(request.user, model_id)
    return owner_page(
        request,
        thing=model,
        give=partial(services.give_model, model=model),
        back=reverse("inference:model-show", args=[model_id]),
        context={
            "name": model.name,
            "note": _("Its variants move with it."),
            "breadcrumb": "inference/_breadcrumb.html",
            "model": model,
        },
    )


@require_http_methods(["GET", "HEAD", "POST"])
def model_edit(request: HttpRequest, model_id: int) -> HttpResponse:
    model = model_to_change(request.user, model_id)
    form = ModelEditForm(request.POST or None, initial={"name": model.name, "description": model.description})
    if form.is_valid():
        with RefusalsShown(form, BackendSettingsError, field="name"):
            services.edit_model(model=model, **form.cleaned_data, by=user_of(request), now=timezone.now())
            messages.success(request, _("The model is changed."))
            return redirect("inference:model-show", model.pk)
    context = {"model": model, "form": form, "has_captions": services.has_captions(model)}
    context["namesakes"] = namesakes_of(request.user, model)
    return render(request, "inference/model_edit.html", context, status=_status(form))


@require_http_methods(["GET", "HEAD", "POST"])
def model_delete(request: HttpRequest, model_id: int) -> HttpResponse:
    model = model_to_change(request.user, model_id)
    if request.method != "POST":
        captions = ModelCaption.objects.filter(model__in=model.family()).count()
        context = {"model": model, "uses": uses_of_model(model), "captions": captions}
        return render(request, "inference/model_delete.html", context)
    with RefusalsShown(request, ModelUsedError):
        delete_model(model=model, by=user_of(request), now=timezone.now())
        messages.success(request, _("%(name)s was deleted.") % {"name": model.name})
        return redirect("inference:model-list")
    return redirect("inference:model-delete", model_id)


@require_POST
def model_merge(request: HttpRequest, model_id: int) -> HttpResponse:
    """Give its captions to another model of its name."""
    model = model_to_change(request.user, model_id)
    asked = request.POST.get("into", "")
    number = int(asked) if asked.isascii() and asked.isdecimal() and len(asked) < MAX_KEY_DIGITS else 0
    into = get_object_or_404(namesakes_of(request.user, model), pk=number)
    with RefusalsShown(request, ModelUsedError):
        moved = merge_model(model=model, into=into, by=user_of(request), now=timezone.now())
        text = ngettext("%(number)d caption was moved here.", "%(number)d captions were moved here.", moved)
        messages.success(request, text % {"number": moved})
        return redirect("inference:model-show", into.pk)
    return redirect("inference:model-edit", model_id)


@require_POST
def model_retire(request: HttpRequest, model_id: int) -> HttpResponse:
    """Retire the model, or restore it."""
    model = model_to_change(request.user, model_id)
    is_retired = request.POST.get("is_retired") == "on"
    with RefusalsShown(request, BackendSettingsError):
        services.set_retired(model=model, is_retired=is_retired, by=user_of(request), now=timezone.now())
        messages.success(request, _("The model is retired.") if is_retired else _("The model is restored."))
    return redirect("inference:model-show", model.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def model_create(request: HttpRequest) -> HttpResponse:
    """Register a model in two steps at one address: the form depends on the kind."""
    check_reader(request.user)
    name = request.GET.get("kind", "")
    if name == TRANSLATED:
        return _create_translated(request)
    if name not in registry.backends():
        heading, kinds = _("Register a model"), kind_cards(registry.backends())
        context = {"heading": heading, "kinds": kinds, "broken": broken_packages()}
        return render(request, "inference/model_kinds.html", context)
    backend = registry.backends()[name]
    form = RegisterForm(request.POST or None, kind=KINDS.get(name, OF_ANOTHER_PACKAGE), by=user_of(request))
    made = _registered(form, services.register_model, name, request)
    if made is not None:
        return redirect("inference:model-show", made.pk)
    return _register_page(request, form, backend, heading=_("Register a model"))


def _create_translated(request: HttpRequest) -> HttpResponse:
    form = TranslatedModelForm(request.POST or None, by=user_of(request))
    if form.is_valid():
        with RefusalsShown(form, BackendSettingsError):
            made = services.register_translated_model(**form.cleaned_data, by=user_of(request))
            return redirect("inference:model-show", made.pk)
    context = {"form": form, "has_translators": translators(user_of(request)).exists()}
    return render(request, "inference/translated_create.html", context, status=_status(form))


@require_http_methods(["GET", "HEAD", "POST"])
def translator_create(request: HttpRequest) -> HttpResponse:
    check_reader(request.user)
    name = request.GET.get("kind", "")
    if name not in registry.translators():
        heading, kinds = _("Register a translator"), kind_cards(registry.translators())
        context = {"heading": heading, "kinds": kinds, "are_translators": True}
        return render(request, "inference/model_kinds.html", context)
    backend = registry.translators()[name]
    form = RegisterForm(
        request.POST or None, kind=TRANSLATOR_KINDS.get(name, OF_ANOTHER_TRANSLATOR), by=user_of(request)
    )
    made = _registered(form, services.register_translator, name, request)
    if made is not None:
        messages.success(request, _("The translator is registered. Now say whose English captions it translates."))
        return redirect(f"{reverse('inference:model-create')}?kind={TRANSLATED}")
    return _register_page(request, form, backend, heading=_("Register a translator"))


def _register_page(
    request: HttpRequest, form: RegisterForm, backend: Backend | TranslatorBackend, *, heading: str
) -> HttpResponse:
    context = {"heading": heading, "title": backend.title, "missing": registry.missing_modules(backend), "form": form}
    return render(request, "inference/model_create.html", context, status=_status(form))


def _registered(
    form: RegisterForm, register: Callable[..., Registered], backend: str, request: HttpRequest
) -> Registered | None:
    """Register what the form holds; None if it is not valid or was refused, which it then says."""
    if form.is_valid():
        with RefusalsShown(form, BackendSettingsError):
            return register(**form.about(), backend=backend, by=user_of(request))
    return None


def _status(form: Form) -> int:
    return 422 if form.is_bound else 200


@require_safe
def model_stabilisers(request: HttpRequest, model_id: int) -> HttpResponse:
    model = model_for(request.user, model_id)
    page = stabilisers_page(model, user_of(request), collection=request.GET.get("collection", ""))
    return render(request, "inference/stabilisers.html", {"model": model, "page": page})


@require_safe
def stabilisers_export(request: HttpRequest, model_id: int, slug: str) -> StreamingHttpResponse:
    model = model_for(request.user, model_id)
    collection = get_object_or_404(collections_to_use(request.user), slug=slug)
    lines = stabilisers_table(model, collection, user_of(request))
    return csv_download(lines, f"stabilisers-{model.pk}-{collection.slug}.csv")
