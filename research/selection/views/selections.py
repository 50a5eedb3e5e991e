"""Managers' pages of candidates and selections: import, start, preview, confirm, look through, exchange, download."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.jobs.models import JobState
from core.languages.models import Language
from core.people.models import Role
from core.people.permissions import READERS, project_for
from core.people.requests import RefusalsShown, as_download, render_part, user_of
from research.selection import tasks
from research.selection.forms.selections import ConfirmForm, ExchangeForm, SelectionForm
from research.selection.models import PlaceLevelChoice, SelectedImage, Selection
from research.selection.pages.places import selection_map
from research.selection.permissions import selection_for
from research.selection.selectors import selections as selectors
from research.selection.selectors.pools import lists_of, summary_of
from research.selection.services import exchanges
from research.selection.services import selections as services
from research.selection.services.candidates import CandidatesRefusedError, delete_list
from tabular.downloads import csv_lines, in_pieces

PER_PAGE = 60
SUGGESTED = 5


@require_safe
def selection_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    page = Paginator(selectors.selections_of(project), PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "corpora/selections.html", {"project": project, "page": page})


@require_http_methods(["GET", "HEAD", "POST"])
def selection_create(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    form = SelectionForm(request.POST or None, project=project, initial=request.GET.dict())
    if form.is_valid():
        with RefusalsShown(form, services.SelectionRefusedError):
            about, by = {"project": project, **form.about}, user_of(request)
            selection = services.start_selection(**about, by=by, now=timezone.now())
            tasks.ask_for_choice(selection.pk)
            return redirect("corpora:selection-show", slug, selection.number)
    return render(
        request, "corpora/selection_create.html", {"project": project, "form": form}, status=422 if form.errors else 200
    )


@require_safe
def selection_show(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    selection = selection_for(request.user, slug, number)
    context = _page(selection) | {"groups": selectors.shown_by_language(selection, user_of(request))}
    if context["page"]["is_done"]:
        context |= {"map": selection_map(selection), "form": ConfirmForm()}
    return render(request, "corpora/selection.html", context)


@require_safe
def selection_progress(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Render the part that refreshes itself; at the end the whole page is loaded again."""
    selection = selection_for(request.user, slug, number)
    context, page = _page(selection), reverse("corpora:selection-show", args=[slug, number])
    is_over = not context["page"]["is_going"]
    return render_part(request, "corpora/_selection_progress.html", context, page=page, is_over=is_over)


@require_POST
def selection_confirm(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    selection = selection_for(request.user, slug, number, Role.MANAGER)
    form = ConfirmForm(request.POST)
    form.full_clean()
    with RefusalsShown(request, services.SelectionRefusedError):
        services.confirm_selection(selection=selection, **form.cleaned_data, by=user_of(request), now=timezone.now())
        messages.success(request, _("The selection is confirmed. Its images are a collection now."))
    return redirect("corpora:selection-show", slug, number)


@require_POST
def selection_discard(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    selection = selection_for(request.user, slug, number, Role.MANAGER)
    with RefusalsShown(request, services.SelectionRefusedError):
        services.discard_selection(selection=selection, by=user_of(request), now=timezone.now())
        messages.success(request, _("The draft was discarded."))
        return redirect("corpora:selection-list", slug)
    return redirect("corpora:selection-show", slug, number)


@require_safe
def selected_list(request: HttpRequest, slug: str, number: int, tag: str) -> HttpResponse:
    selection = selection_for(request.user, slug, number)
    language, level = _language(selection, tag), request.GET.get("level", "")
    rows = selectors.images_for(selection, language, level if level in PlaceLevelChoice.values else "")
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "project": selection.project,
        "selection": selection,
        "language": language,
        "page": page,
        "shown": selectors.shown_images(page, user_of(request)),
        "has_begun": selectors.has_begun(selection, language),
        "is_done": selection.state == JobState.DONE,
        "map": selection_map(selection, language=language.tag),
        "levels": PlaceLevelChoice.choices,
        "level": level,
    }
    return render(request, "corpora/selected_images.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def selected_exchange(request: HttpRequest, slug: str, number: int, tag: str, position: int) -> HttpResponse:
    selection = selection_for(request.user, slug, number, Role.MANAGER)
    language, viewer = _language(selection, tag), user_of(request)
    row = get_object_or_404(selectors.images_for(selection, language), position=position)
    suggested = selectors.shown_images(exchanges.suggested_rows(selection, language.tag, at_most=SUGGESTED), viewer)
    form = ExchangeForm(request.POST or None, keys=[one.row.key for one in suggested])
    if form.is_valid() and _exchanged(request, form, row):
        return redirect("corpora:selected-list", slug, number, tag)
    [shown] = selectors.shown_images([row], viewer)
    context = {"project": selection.project, "selection": selection, "language": language, "shown": shown, "form": form}
    context["suggested"] = list(zip(form["replacement"], suggested, strict=True)) if suggested else []
    return render(request, "corpora/selected_exchange.html", context, status=422 if form.errors else 200)


def _exchanged(request: HttpRequest, form: ExchangeForm, row: SelectedImage) -> bool:
    """Exchange it; False if it is refused, and the form says why."""
    if request.POST.get("key") != row.key:
        form.add_error(None, _("This image has been exchanged already. This is the one that took its place."))
        return False
    with RefusalsShown(form, services.SelectionRefusedError):
        about = {"selected": row, "reason": form.cleaned_data["reason"], "replacement": form.key}
        new = exchanges.exchange_image(**about, by=user_of(request), now=timezone.now())
        messages.success(request, _("“%(old)s” was exchanged for “%(new)s”.") % {"old": row.key, "new": new.key})
        return True
    return False


def _language(selection: Selection, tag: str) -> Language:
    language = Language.objects.filter(pk=tag).first() if tag in selection.languages else None
    if language is None:
        raise Http404(_("This selection does not have this language."))
    return language


def _page(selection: Selection) -> dict[str, Any]:
    return {
        "project": selection.project,
        "selection": selection,
        "page": selectors.selection_page(selection),
        "levels": PlaceLevelChoice.choices,
    }


LISTS_PER_PAGE = 20


@require_safe
def candidates_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, *READERS)
    page = Paginator(lists_of(project), LISTS_PER_PAGE).get_page(request.GET.get("page"))
    context = {"project": project, "page": page, "lists": [summary_of(one) for one in page]}
    return render(request, "corpora/candidates.html", context)


@require_POST
def candidates_delete(request: HttpRequest, slug: str, list_slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    candidates = get_object_or_404(lists_of(project), slug=list_slug)
    with RefusalsShown(request, CandidatesRefusedError):
        delete_list(candidates=candidates, by=user_of(request), now=timezone.now())
        messages.success(request, _("The list was deleted."))
    return redirect("corpora:candidates-list", slug)


ARIA2C = "aria2c"


@require_safe
def selected_files(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    selection = selection_for(request.user, slug, number)
    context = {"project": selection.project, "selection": selection, "files": selectors.selected_files(selection)}
    return render(request, "corpora/selected_files.html", context)


@require_safe
def selected_export(request: HttpRequest, slug: str, number: int) -> StreamingHttpResponse:
    selection = selection_for(request.user, slug, number)
    if request.GET.get("for") == ARIA2C:
        lines, kind, suffix = selectors.aria2_lines(selection), "text/plain", "txt"
    else:
        lines = csv_lines(selectors.COLUMNS, (row.values() for row in selectors.missing_rows(selection)))
        kind, suffix = "text/csv", "csv"
    response = StreamingHttpResponse(in_pieces(lines), content_type=f"{kind}; charset=utf-8")
    return as_download(response, f"{slug}-selection-{number}.{suffix}")
