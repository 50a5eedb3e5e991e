"""A manager's pages of invitations: the list, new ones, a list of addresses, and changes to several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.jobs.tasks import ask_for_sweep
from core.languages.rules.groups import GROUPS
from core.people.formats.invitations import invitations_as_csv, links_as_text
from core.people.forms.invitations import (
    DAYS,
    MAX_CHANGED,
    AddressesForm,
    ChangeForm,
    InvitationForm,
    InvitationsFilterForm,
)
from core.people.models import Invitation, Project, Role
from core.people.permissions import project_for
from core.people.requests import csv_download, user_of
from core.people.rules.invitations import InvitationAction
from core.people.selectors.invitations import (
    InvitationChoice,
    InvitationFilters,
    InvitationRow,
    choices_of,
    invitations_of,
    rows_of,
)
from core.people.selectors.texts import has_gaps, newest_consent_text
from core.people.services.invitations import (
    ChangedInvitations,
    InvitationMailing,
    change_many,
    invite_many,
)
from core.people.services.texts import ConsentGapsError

PER_PAGE = 50
"""Enough for a link in each of the 36 languages."""


@require_safe
def invitation_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    form = InvitationsFilterForm(request.GET, project=project)
    wanted = form.wanted()
    now = timezone.now()
    page = Paginator(invitations_of(project, wanted, now=now), PER_PAGE).get_page(request.GET.get("page"))
    listed = _with_links(request, rows_of(list(page.object_list), now=now))
    context = {
        "project": project,
        "form": form,
        "page": page,
        "invitations": listed,
        "copied": links_as_text(listed),
        "is_filtered": wanted != InvitationFilters(),
        "actions": InvitationAction,
    }
    return render(request, "people/invitations.html", context)


@require_safe
def invitation_export(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Everything that the list shows with the same filters, with links, as CSV."""
    project, now = project_for(user_of(request), slug, Role.MANAGER), timezone.now()
    wanted = InvitationsFilterForm(request.GET, project=project).wanted()
    rows = rows_of(list(invitations_of(project, wanted, now=now)), now=now)
    return csv_download(invitations_as_csv(_with_links(request, rows)), f"{project.slug}-invitations.csv")


@require_http_methods(["GET", "HEAD", "POST"])
def invitation_create(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    form = InvitationForm(request.POST or None, initial=_initial(request))
    made = _invite(request, project, form) if form.is_valid() else []
    if not made:
        context = {"project": project, "form": form, "groups": GROUPS}
        context["has_gaps"] = has_gaps(newest_consent_text(project))
        return render(request, "people/invitation_create.html", context, status=422 if form.is_bound else 200)
    if len(made) > 1:
        text = ngettext("%(number)s link is ready.", "%(number)s links are ready.", len(made))
        messages.success(request, text % {"number": len(made)})
        return _to_those(slug, made)
    if made[0].email:
        messages.success(request, _("The link is being sent to %(address)s.") % {"address": made[0].email})
    else:
        text = _("The link is ready. Copy it and pass it on. To try the work yourself, open it in a private window.")
        messages.success(request, text)
    return redirect("people:invitation-list", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def invitation_import(request: HttpRequest, slug: str) -> HttpResponse:
    """Read a list of addresses, show what it would make, and make it once that is confirmed."""
    project = project_for(user_of(request), slug, Role.MANAGER)
    form = AddressesForm(request.POST or None, request.FILES or None, project=project, now=timezone.now())
    made = _invite(request, project, form) if form.is_valid() and form.cleaned_data["is_confirmed"] else []
    if not made:
        context = {"project": project, "form": form, "lines": form.lines if form.is_valid() else []}
        context["has_gaps"] = has_gaps(newest_consent_text(project))
        status = 422 if form.is_bound and form.errors else 200
        return render(request, "people/invitation_import.html", context, status=status)
    text = ngettext("%(number)s invitation is being sent.", "%(number)s invitations are being sent.", len(made))
    messages.success(request, text % {"number": len(made)})
    return _to_those(slug, made)


@require_POST
def invitation_change(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what would happen to each of the chosen invitations, and do it once that is confirmed."""
    project, now = project_for(user_of(request), slug, Role.MANAGER), timezone.now()
    form = ChangeForm(_chosen(request, project))
    if not form.is_valid() or not form.pks:
        messages.error(request, _("Choose at least one invitation."))
        return redirect("people:invitation-list", slug)
    action = InvitationAction(form.cleaned_data["action"])
    if not form.cleaned_data["is_confirmed"]:
        choices = choices_of(list(project.invitations.filter(pk__in=form.pks)), action, now=now)
        return render(request, "people/invitations_change.html", _preview(project, form, action, choices, now))
    changed = change_many(
        project=project,
        invitations=form.pks,
        action=action,
        valid_for=form.valid_for,
        sends=form.cleaned_data["sends"],
        mailing=_mailing(request),
        now=now,
    )
    ask_for_sweep()
    _tell(request, action, changed)
    return redirect("people:invitation-list", slug)


def _initial(request: HttpRequest) -> dict[str, Any]:
    """Return the role and languages that the address of the page names, alone or as a group."""
    asked, group = request.GET.get("role"), request.GET.get("group", "")
    tags = [*request.GET.getlist("language"), *(GROUPS[group].tags if group in GROUPS else ())]
    return {"languages": tags} | ({"role": asked} if asked in Role.values else {})


def _invite(request: HttpRequest, project: Project, form: InvitationForm | AddressesForm) -> list[Invitation]:
    """Return the invitations that were made; none if they were refused, as the form says then."""
    now = timezone.now()
    try:
        made = invite_many(
            project=project,
            wanted=form.wanted(),
            expires_at=form.expires_at(now),
            created_by=user_of(request),
            mailing=_mailing(request),
            now=now,
        )
    except ConsentGapsError as refused:
        form.add_error(None, str(refused))
        return []
    ask_for_sweep()
    return made


def _mailing(request: HttpRequest) -> InvitationMailing:
    return InvitationMailing(by=user_of(request), site=request.build_absolute_uri("/"), language=get_language() or "")


def _to_those(slug: str, made: Sequence[Invitation]) -> HttpResponse:
    """Lead to the list of those that were just made, to copy their links."""
    keys = sorted(invitation.pk for invitation in made)
    return redirect(reverse("people:invitation-list", args=[slug]) + f"?made={keys[0]}-{keys[-1]}")


def _with_links(request: HttpRequest, rows: Iterable[InvitationRow]) -> list[tuple[InvitationRow, str]]:
    return [
        (row, request.build_absolute_uri(reverse("people:invitation-accept", args=[row.invitation.token])))
        for row in rows
    ]


def _chosen(request: HttpRequest, project: Project) -> QueryDict:
    """Put the boxes that were ticked, or all invitations that the filters select, into one field."""
    data = request.POST.copy()
    data.setdefault("days", str(DAYS))
    if data.get("chosen"):
        return data
    pks = [pk for pk in data.getlist("pk") if pk.isdecimal()]
    if data.get("all"):
        wanted = InvitationsFilterForm(data, project=project).wanted()
        selected = invitations_of(project, wanted, now=timezone.now())
        pks = [str(pk) for pk in selected.values_list("pk", flat=True)[:MAX_CHANGED]]
    data["chosen"] = ",".join(pks)
    return data


def _preview(
    project: Project, form: ChangeForm, action: InvitationAction, choices: Sequence[InvitationChoice], now: datetime
) -> dict[str, Any]:
    rows = {row.invitation.pk: row for row in rows_of([choice.invitation for choice in choices], now=now)}
    described = [(rows[choice.invitation.pk], choice) for choice in choices]
    return {
        "project": project,
        "form": form,
        "action": action,
        "possible": [(row, choice) for row, choice in described if choice.reason is None],
        "left_out": [(row, choice) for row, choice in described if choice.reason is not None],
    }


def _tell(request: HttpRequest, action: InvitationAction, changed: ChangedInvitations) -> None:
    said = []
    if action is InvitationAction.EXTEND:
        text = ngettext("%(number)s invitation was extended.", "%(number)s invitations were extended.", changed.done)
        said.append(text % {"number": changed.done})
    elif action is InvitationAction.REVOKE:
        text = ngettext("%(number)s invitation was revoked.", "%(number)s invitations were revoked.", changed.done)
        said.append(text % {"number": changed.done})
    if changed.mails:
        text = ngettext("%(number)s link is being sent.", "%(number)s links are being sent.", changed.mails)
        said.append(text % {"number": changed.mails})
    if left_out := len(changed.left_out):
        said.append(ngettext("%(number)s was left out.", "%(number)s were left out.", left_out) % {"number": left_out})
    (messages.success if changed.done else messages.warning)(request, " ".join(said))
