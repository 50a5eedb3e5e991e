"""The manager's pages: the list of projects, changing a round, downloading captions."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import tasks
from annotation.formats.captions import CaptionLayout, export_captions, file_name
from annotation.forms.projects import RoundForm
from annotation.models import Round
from annotation.permissions import round_of
from annotation.selectors import overview
from annotation.services import projects as services
from annotation.services.references import use_as_references
from annotation.views.shared import kept_from_file, over_images
from core.images.models import Collection
from core.people.models import Role
from core.people.permissions import READERS, manages_anything, project_for
from core.people.requests import as_download, user_of
from core.people.selectors.projects import deletions_seen_by
from core.people.services import audit_log
from research.inference.models import CaptioningModel
from research.scoring.services.references import ReferenceFileError


@require_safe
def project_list(request: HttpRequest) -> HttpResponse:
    must_be_manager(request)
    archived = request.GET.get("show") == "archived"
    context = {"projects": overview.managed_projects(user_of(request), archived=archived), "archived": archived}
    if archived:
        context["deletions"] = deletions_seen_by(user_of(request))
    return render(request, "annotation/manage_projects.html", context)


@require_POST
def tasks_add(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    say_it_fills(request, services.ask_for_missing_tasks(project=project, by=user_of(request), now=timezone.now()))
    return redirect("annotation:project-show", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def round_settings(request: HttpRequest, slug: str, round_id: int) -> HttpResponse:
    round = round_of(request.user, slug, round_id, Role.MANAGER)
    form = RoundForm(request.POST or None, round=round)
    if not form.is_valid():
        context = {"form": form, "round": round, "project": round.project}
        return render(request, "annotation/manage_round_settings.html", context, status=422 if form.is_bound else 200)
    above = services.change_round(round=round, settings=form.settings(), by=user_of(request), now=timezone.now())
    messages.success(request, _("The settings are saved. They apply to batches that people take from now on."))
    if above:
        _say_what_stays_above(request, round, above)
    return redirect("annotation:project-show", slug)


@require_POST
def references_use(request: HttpRequest, slug: str, round_id: int) -> HttpResponse:
    round = round_of(request.user, slug, round_id, Role.MANAGER)
    try:
        made = use_as_references(round=round, by=user_of(request), now=timezone.now())
    except ReferenceFileError as refused:
        messages.error(request, str(refused))
        return redirect("annotation:round-settings", slug, round_id)
    text = ngettext(
        "%(number)d counted caption is now a reference.",
        "%(number)d counted captions are now references.",
        made.captions,
    )
    messages.success(request, text % {"number": made.captions})
    return redirect("scoring:reference-list", slug)


@require_safe
def captions_export(request: HttpRequest, slug: str, layout: str) -> HttpResponseBase:
    project = project_for(request.user, slug, *READERS)
    if layout not in CaptionLayout.values:
        raise Http404(
            _("There is no such format. Available formats: %(known)s.") % {"known": ", ".join(CaptionLayout.values)}
        )
    if elsewhere := kept_from_file(request, project, "annotation:project-show", slug):
        return elsewhere
    wanted, until = CaptionLayout(layout), timezone.now()
    images, pieces = over_images(
        request, project, lambda only: export_captions(project, wanted, until=until, images=only)
    )
    if pieces is None:
        messages.error(request, images.error)
        return redirect("annotation:project-show", slug)
    if request.method == "GET":
        audit_log.record(project=project, action="captions.exported", about=layout, by=user_of(request), now=until)
    response = StreamingHttpResponse(pieces, content_type=wanted.content_type)
    return as_download(response, file_name(project, wanted, until, images.filter))


def must_be_manager(request: HttpRequest) -> None:
    if not manages_anything(request.user):
        raise PermissionDenied(
            _("Only managers can see this page. Ask the administrator of this site to make you one.")
        )


def say_it_fills(request: HttpRequest, rounds: list[int]) -> None:
    tasks.nudge_filling(rounds)
    messages.success(request, _("The images are being prepared. The table below fills within seconds."))


def say_what_is_left_out(request: HttpRequest, captioners: Iterable[CaptioningModel], collection: Collection) -> None:
    without = overview.coverage_of(collection, captioners).without
    if without:
        text = ngettext(
            "%(number)d image has no English caption by the chosen models and is left out until it has one.",
            "%(number)d images have no English caption by the chosen models and are left out until they have one.",
            without,
        )
        messages.warning(request, text % {"number": without})


def _say_what_stays_above(request: HttpRequest, round: Round, above: int) -> None:
    text = ngettext(
        "%(language)s: %(number)d image keeps more places because more people have described it or are working on it.",
        "%(language)s: %(number)d images keep more places because more people have described them or are "
        "working on them.",
        above,
    )
    messages.warning(request, text % {"language": round.language.name, "number": above})
