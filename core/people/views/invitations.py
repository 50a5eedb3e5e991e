"""Joining a project by the link of an invitation."""

from __future__ import annotations

from typing import Any

from allauth.account.utils import perform_login
from allauth.core.internal import ratelimit
from allauth.decorators import rate_limit
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from core.people.forms.profile import JoinForm
from core.people.models import Invitation, Role, User
from core.people.permissions import has_role
from core.people.requests import user_of
from core.people.rules.invitations import InvitationState
from core.people.rules.roles import JUDGES, qualifies_to_judge, qualifies_to_write
from core.people.selectors.invitations import invitation_state
from core.people.selectors.projects import start_page
from core.people.selectors.texts import newest_consent_text, shown_consent
from core.people.services.invitations import InvitationClosedError, accept_invitation, join
from core.people.services.members import MembershipError
from core.people.tasks import send_confirmation

PLACES_FOR_A_CLASS = 60
"""How many people may join by a link without waiting for one another."""
OF_THE_PROJECT = {Role.MANAGER: "annotation:project-show", Role.RESEARCHER: "sxs_eval:comparison-list"}
"""The pages of a project on which those begin who have no work of their own."""


@sensitive_post_parameters("password1", "password2")
@rate_limit(action="signup")
@require_http_methods(["GET", "HEAD", "POST"])
@login_not_required
def invitation_accept(request: HttpRequest, token: str) -> HttpResponse:
    # PostgreSQL cannot even look up a text with a NUL in it.
    invitations = Invitation.objects.select_related("project").filter(token=token.replace("\0", ""))
    invitation = invitations.first() if token.isprintable() else None
    if invitation is None:
        return render(request, "people/invitation_closed.html", {"state": "unknown"}, status=404)
    user = user_of(request) if request.user.is_authenticated else None
    if user is not None and invitation.uses.filter(user=user).exists():
        return redirect(_next_page(request, invitation, user))
    state = invitation_state(invitation, timezone.now())
    if state is not InvitationState.OPEN:
        return _closed(request, invitation, state)
    text = newest_consent_text(invitation.project)
    form = JoinForm(request.POST or None, invitation=invitation, user=user, text=text)
    return (form.is_valid() and _joined(request, invitation, form, user)) or _join_page(request, invitation, form)


def _joined(request: HttpRequest, invitation: Invitation, form: JoinForm, user: User | None) -> HttpResponse | None:
    """Accept the invitation, and sign a new account in. Return None, with the reason in `form`, if impossible."""
    cleaned = form.cleaned_data
    values: dict[str, Any] = {
        "token": invitation.token,
        "levels": form.levels(),
        "reads_english": cleaned.get("reads_english", user.reads_english if user else False),
        "consent_version": cleaned.get("consent_version"),
        "now": timezone.now(),
    }
    account = {"username": cleaned.get("username", ""), "email": cleaned.get("email", "")}
    password = cleaned.get("password1", "")
    # A player with several accounts can collect answers with one for another. A link for one class limits that itself.
    counted: ratelimit.RateLimitUsage | None = ratelimit.RateLimitUsage([])
    if user is None and invitation.role == Role.PLAYER and invitation.places > PLACES_FOR_A_CLASS:
        counted = ratelimit.consume(request, app="allauth.account", action="new_player")
    if counted is None:
        text = _(
            "Too many people are joining from your network right now. Try again in 20 seconds, or in an hour if "
            "60 accounts have been created."
        )
        form.add_error(None, text)
        return None
    try:
        if user is not None:
            accept_invitation(user=user, **values)
            member = user
        else:
            member = join(**account, password=password, interface_language=get_language() or "", **values)
    except MembershipError as refusal:
        counted.rollback()
        if isinstance(refusal, InvitationClosedError):
            return _closed(request, invitation, refusal.state)
        form.add_error(None, str(refusal))
        return None
    _welcome(request, invitation, member)
    if account["email"]:
        _ask_to_confirm(request, member, account["email"])
    after = _next_page(request, invitation, member)
    return redirect(after) if user else perform_login(request, member, email_verification="none", redirect_url=after)


def _next_page(request: HttpRequest, invitation: Invitation, user: User) -> str:
    """Return to the page that led here, such as a season of a game; else to the work of the role."""
    wanted = request.GET.get("next", "")
    if url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure()):
        return wanted
    role = Role(invitation.role)
    if not has_role(user, invitation.project, role):
        return reverse("people:home-show")
    if role in OF_THE_PROJECT:
        return reverse(OF_THE_PROJECT[role], args=[invitation.project.slug])
    return reverse(start_page(user, {role}, now=timezone.now()) or "people:home-show")


def _welcome(request: HttpRequest, invitation: Invitation, user: User) -> None:
    messages.success(request, _("Welcome to %(project)s.") % {"project": invitation.project.name})
    if invitation.role not in JUDGES:
        return
    levels = user.language_skills.filter(language__in=invitation.languages.all()).values_list("level", flat=True)
    if invitation.role == Role.RATER:
        if not any(qualifies_to_judge(level=level) for level in levels):
            messages.warning(
                request,
                _("Captions are compared by people who are native or fluent in the language. According to your "
                    "profile, you are not, so you do not get such work. If that is wrong, correct it in your "
                    "profile."),
            )  # fmt: skip
    elif not any(qualifies_to_write(reads_english=user.reads_english, level=level) for level in levels):
        messages.warning(
            request,
            _("Captions are written by people who read English well and are native or fluent in the language. "
                "According to your profile, you are not, so you do not get such work. If that is wrong, correct "
                "it in your profile."),
        )  # fmt: skip


def _ask_to_confirm(request: HttpRequest, user: User, email: str) -> None:
    """Answer the same for every address: only a mail to it reveals whether it has an account."""
    send_confirmation.delay_on_commit(user.pk, request.build_absolute_uri("/"), get_language() or "")
    text = _(
        "We have sent a link to %(address)s. Follow it to confirm your address. Until then, sign in with "
        "your user name."
    )
    messages.info(request, text % {"address": email})


def _closed(request: HttpRequest, invitation: Invitation, state: InvitationState) -> HttpResponse:
    context = {"state": state.value, "project": invitation.project}
    return render(request, "people/invitation_closed.html", context, status=410)


def _join_page(request: HttpRequest, invitation: Invitation, form: JoinForm) -> HttpResponse:
    text = newest_consent_text(invitation.project)
    if text:
        form.show(text)
    context = {
        "invitation": invitation,
        "project": invitation.project,
        "role": Role(invitation.role).label,
        "languages": invitation.languages.all(),
        "form": form,
        "text": text,
        "shown": shown_consent(text, wants_original=request.GET.get("text") == "original") if text else None,
    }
    return render(request, "people/join.html", context, status=422 if form.is_bound else 200)
