"""Managers strike words, senses and images out of a corpus, see what is struck out, and take it back."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from corpora import tasks
from corpora.forms.corpus_words import ExclusionForm
from corpora.models import CorpusBuild
from corpora.permissions import corpus_for
from corpora.selectors.corpus_contents import is_being_built
from corpora.services import corpus_builds
from people.models import Role
from people.requests import user_of

EXCLUSIONS_PER_PAGE = 50


@require_safe
@login_required
def exclusion_list(request: HttpRequest, slug: str, corpus_slug: str) -> HttpResponse:
    build = corpus_for(request.user, slug, corpus_slug)
    page = Paginator(build.exclusions.select_related("by"), EXCLUSIONS_PER_PAGE).get_page(request.GET.get("page"))
    context = {"project": build.project, "build": build, "page": page, "is_being_built": is_being_built(build)}
    return render(request, "corpora/corpus_exclusions.html", context)


@require_POST
@login_required
def exclusion_create(request: HttpRequest, slug: str, corpus_slug: str) -> HttpResponse:
    build = corpus_for(request.user, slug, corpus_slug, Role.MANAGER)
    form = ExclusionForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Choose a word, a sense or an image, and give a reason of at most 500 characters."))
        return _back(request, build)
    try:
        corpus_builds.strike_out(build=build, by=user_of(request), now=timezone.now(), **form.cleaned_data)
    except corpus_builds.CorpusRefusedError as refused:
        messages.error(request, str(refused))
    else:
        tasks.ask_for_corpus(build.pk)
        messages.success(request, _("Struck out. The corpus is built again without it."))
    return _back(request, build)


@require_POST
@login_required
def exclusion_delete(request: HttpRequest, slug: str, corpus_slug: str, number: int) -> HttpResponse:
    build = corpus_for(request.user, slug, corpus_slug, Role.MANAGER)
    exclusion = build.exclusions.filter(pk=number).first()
    if exclusion is not None:
        try:
            corpus_builds.restore(exclusion=exclusion, by=user_of(request), now=timezone.now())
        except corpus_builds.CorpusRefusedError as refused:
            messages.error(request, str(refused))
            return _back(request, build)
        tasks.ask_for_corpus(build.pk)
    # Somebody else may have taken it back a moment ago: then it is as was wanted.
    messages.success(request, _("Taken back. The corpus is built again with it."))
    return _back(request, build)


def _back(request: HttpRequest, build: CorpusBuild) -> HttpResponse:
    place = request.POST.get("back", "")
    if place.startswith("/") and url_has_allowed_host_and_scheme(place, allowed_hosts=None):
        return redirect(place)
    return redirect(reverse("corpora:exclusion-list", args=[build.project.slug, build.slug]))
