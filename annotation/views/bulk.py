"""One action on several rounds: a page that says what would happen to each, and the action itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode, urlsplit

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation import tasks
from annotation.forms.campaign import SettingsForm, form_for
from annotation.models import Round
from annotation.pages import bulk as pages
from annotation.permissions import rounds_managed_by
from annotation.rules.bulk_actions import DESTRUCTIVE, BulkAction
from annotation.rules.campaign import UnfinishedBatches
from annotation.selectors.campaign import reopenable
from annotation.selectors.control_room import RoomRow, room_rows
from annotation.selectors.overview import project_progress
from annotation.services import bulk as services
from core.people.models import Project, Role
from core.people.permissions import project_for
from core.people.requests import user_of, way_back

UNDONE_BY_REOPENING = (BulkAction.CLOSE, BulkAction.ACCEPT)


@require_http_methods(["GET", "HEAD", "POST"])
def rounds_act(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    asked = request.POST if request.method == "POST" else request.GET
    if asked.get("action") not in BulkAction.values:
        messages.error(request, _("Choose what to do first."))
        return redirect(_back(request, project, asked))
    action = BulkAction(asked["action"])
    if request.method == "POST" and action != BulkAction.INVITE:
        return _act(request, project, action)
    return _ask(request, project, action, asked)


def _ask(
    request: HttpRequest, project: Project, action: BulkAction, asked: QueryDict, form: forms.Form | None = None
) -> HttpResponse:
    """Say what would happen to each of the chosen rounds."""
    now = timezone.now()
    rows = room_rows(project_progress(project, now=now), now=now)
    chosen = pages.chosen_rows(rows, action, asked.getlist("language"), asked.getlist("round"))
    if not chosen:
        messages.error(request, _("Choose at least one language first."))
        return redirect(_back(request, project, asked))
    if action == BulkAction.INVITE:
        query = urlencode([("language", tag) for tag in dict.fromkeys(row.round.language_id for row in chosen)])
        return redirect(f"{reverse('people:invitation-create', args=[project.slug])}?{query}")
    context: dict[str, Any] = {"project": project, "action": action, "is_destructive": action in DESTRUCTIVE}
    changes = {}
    if action == BulkAction.SETTINGS:
        form = form or SettingsForm(asked if any(asked.get(name) for name in SettingsForm.base_fields) else None)
        changes = form.changes() if isinstance(form, SettingsForm) and form.is_valid() else {}
        context["is_asked"] = bool(changes)
    form = form or form_for(action)
    planned = pages.preview_of(action, chosen, project=project, changes=changes)
    context |= {
        "form": form,
        "included": [one for one in planned if not one.why_left_out],
        "left_out": [one for one in planned if one.why_left_out],
        "has_batches": any(one.row.progress.batches for one in planned if not one.why_left_out),
        "next": _with_chosen(_back(request, project, asked), project, asked, rows),
    }
    is_refused = form.is_bound and not form.is_valid()
    return render(request, "annotation/rounds_act.html", context, status=422 if is_refused else 200)


def _act(request: HttpRequest, project: Project, action: BulkAction) -> HttpResponse:
    rounds = rounds_managed_by(request.user, project.slug, request.POST.getlist("round"))
    back = _back(request, project, request.POST)
    form = form_for(action, request.POST)
    if action == BulkAction.CLOSE:
        # The choice is there only where batches are unfinished.
        form.fields["assigned"].required = False
    if not form.is_valid():
        return _ask(request, project, action, request.POST, form)
    outcomes = _outcomes(request, action, rounds, form)
    done = [one.round for one in outcomes if one.is_done]
    tasks.nudge_filling([round.pk for round in done if round.awaits_tasks])
    if said := pages.said_done(action, outcomes):
        say_done(request, project, said, done if action in UNDONE_BY_REOPENING else [], back=back)
    for why in pages.said_left_out(outcomes):
        messages.warning(request, why)
    if not outcomes:
        messages.error(request, _("Choose at least one language first."))
    return redirect(back)


def say_done(request: HttpRequest, project: Project, said: str, undo: Sequence[Round], *, back: str) -> None:
    """Say that something was done; offer to open those of the rounds again that can be."""
    rounds = reopenable(undo)
    if not rounds:
        messages.success(request, said)
        return
    query = [("action", BulkAction.REOPEN.value), *(("round", str(round.pk)) for round in rounds), ("next", back)]
    address = f"{reverse('annotation:rounds-act', args=[project.slug])}?{urlencode(query)}"
    messages.success(request, format_html('{} <a href="{}">{}</a>', said, address, _("Undo")))


def _outcomes(
    request: HttpRequest, action: BulkAction, rounds: Sequence[Round], form: forms.Form
) -> list[services.BulkOutcome]:
    who: dict[str, Any] = {"rounds": rounds, "by": user_of(request), "now": timezone.now()}
    if isinstance(form, SettingsForm):
        return services.change_settings(changes=form.changes(), **who)
    if action == BulkAction.WRITE:
        return services.write_to_people(text=form.cleaned_data["text"], **who)
    if action.step is None:
        return services.return_batches(**who)
    assigned = form.cleaned_data.get("assigned")
    return services.take_step(
        action=action.step,
        reason=form.cleaned_data.get("reason", ""),
        assigned=UnfinishedBatches(assigned) if assigned else None,
        **who,
    )


def _back(request: HttpRequest, project: Project, asked: QueryDict) -> str:
    page = reverse("annotation:project-show", args=[project.slug])
    return way_back(request, asked.get("next", ""), otherwise=page)


def _with_chosen(back: str, project: Project, asked: QueryDict, rows: Sequence[RoomRow]) -> str:
    """Return the address of the overview with the same languages ticked, so that the next step can follow."""
    tags = asked.getlist("language")
    if urlsplit(back).path != reverse("annotation:project-show", args=[project.slug]) or not tags:
        return back
    is_everything = {row.round.language_id for row in rows} <= set(tags)
    chosen = [("choose", "all")] if is_everything else [("language", tag) for tag in tags]
    return f"{back}{'&' if urlsplit(back).query else '?'}{urlencode(chosen)}"
