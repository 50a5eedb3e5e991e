"""Vectors of images and captions: list them, compute new ones, and find similar images."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from core.people.permissions import check_reader
from core.people.requests import RefusalsShown, user_of
from research.inference import tasks
from research.inference.backends.encoders import EncoderSettingsError
from research.inference.forms.embeddings import EmbeddingForm, EncoderForm
from research.inference.pages.embeddings import encoder_lines, neighbours_page, set_page
from research.inference.permissions import embedding_set_for
from research.inference.selectors import embedding_sets as selectors
from research.inference.services import encoders, runs
from research.inference.services.steering import WorkRefusedError

SETS_PER_PAGE = 50


@require_safe
def embedding_list(request: HttpRequest) -> HttpResponse:
    check_reader(request.user)
    page = Paginator(selectors.embedding_sets(user_of(request)), SETS_PER_PAGE).get_page(request.GET.get("page"))
    context = {"page": page, "encoders": encoder_lines(user_of(request))}
    return render(request, "inference/embeddings.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def encoder_create(request: HttpRequest) -> HttpResponse:
    check_reader(request.user)
    form = EncoderForm(request.POST if request.method == "POST" else None, by=user_of(request))
    if form.is_valid():
        with RefusalsShown(form, EncoderSettingsError):
            made = encoders.register(**form.cleaned_data, by=user_of(request))
            messages.success(request, _("The encoder “%(name)s” is registered.") % {"name": made.name})
            return redirect(reverse("inference:embedding-create", query={"encoder": made.pk}))
    return render(request, "inference/encoder_create.html", {"form": form}, status=422 if form.is_bound else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def embedding_create(request: HttpRequest) -> HttpResponse:
    check_reader(request.user)
    asked = {name: request.GET.get(name, "") for name in ("encoder", "collection")}
    form = EmbeddingForm(request.POST if request.method == "POST" else None, initial=asked, by=user_of(request))
    if form.is_valid():
        with RefusalsShown(form, WorkRefusedError):
            run = runs.start_embeddings(**form.cleaned_data, by=user_of(request), now=timezone.now())
            tasks.ask_for_run(run)
            return redirect("inference:run-show", run.pk)
    return render(request, "inference/embedding_create.html", {"form": form}, status=422 if form.is_bound else 200)


@require_safe
def embedding_show(request: HttpRequest, set_id: int) -> HttpResponse:
    """Show a set; with the key of an image, lead on to its neighbours."""
    embedding_set = embedding_set_for(request.user, set_id)
    key = request.GET.get("key", "").strip()
    entry = selectors.image_with_key(embedding_set, key)
    if entry is not None:
        return redirect("inference:embedding-neighbours", embedding_set.pk, entry.image.public_id)
    context = {"embedding_set": embedding_set, "page": set_page(embedding_set, user_of(request)), "key": key}
    return render(request, "inference/embedding.html", context)


@require_safe
def embedding_neighbours(request: HttpRequest, set_id: int, public_id: UUID) -> HttpResponse:
    embedding_set = embedding_set_for(request.user, set_id)
    entry = selectors.entry_of(embedding_set, public_id)
    if entry is None:
        raise Http404(_("There is no such image in the collection of these vectors."))
    page = neighbours_page(embedding_set, entry, user_of(request))
    return render(request, "inference/neighbours.html", {"embedding_set": embedding_set, "page": page})
