"""A manager's page of a project's members."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from core.people.models import Role
from core.people.permissions import project_for
from core.people.requests import user_of
from core.people.selectors.members import members_of
from core.people.services.members import LastManagerError, remove_member


@require_safe
def member_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    page, members = members_of(project, request.GET.get("page"))
    return render(request, "people/members.html", {"project": project, "page": page, "members": members})


@require_http_methods(["GET", "HEAD", "POST"])
def member_remove(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    membership = get_object_or_404(project.memberships.select_related("user"), pk=pk)
    if request.method != "POST":
        context = {"project": project, "membership": membership, "role": Role(membership.role).label}
        return render(request, "people/member_remove.html", context)
    try:
        remove_member(membership=membership, by=user_of(request), now=timezone.now())
    except LastManagerError as refusal:
        messages.error(request, str(refusal))
        return redirect("people:member-list", slug)
    messages.success(request, _("%(name)s no longer has that role.") % {"name": membership.user.username})
    gave_up_managing = membership.user_id == request.user.pk and membership.role == Role.MANAGER
    return redirect("people:home-show") if gave_up_managing else redirect("people:member-list", slug)
