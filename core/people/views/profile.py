"""What people see about themselves as they join and later: start page, profile, consent, sessions and tokens."""

from __future__ import annotations

from tempfile import TemporaryFile
from typing import Any
from urllib.parse import urlencode

from allauth.account.adapter import get_adapter
from allauth.account.decorators import reauthentication_required
from allauth.account.utils import perform_login
from allauth.core.internal import ratelimit
from allauth.decorators import rate_limit
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_not_required
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import activate, get_language, override
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.people.forms.profile import (
    ConsentForm,
    DeletionForm,
    EndSessionsForm,
    JoinForm,
    ProfileForm,
    TokenForm,
    WithdrawalForm,
)
from core.people.models import Invitation, Role, User
from core.people.permissions import has_role, may_start_projects, project_consented_to, project_for
from core.people.requests import RefusalsShown, keep_language, user_of
from core.people.rules.invitations import InvitationState
from core.people.rules.roles import JUDGES, conflicting_roles, qualifies_to_judge, qualifies_to_write
from core.people.selectors.accounts import own_sessions
from core.people.selectors.data_export import FILE_NAME, write_archive
from core.people.selectors.invitations import invitation_state, spoken_in
from core.people.selectors.projects import (
    managed_by_nobody_else,
    managers_of,
    own_projects,
    roles_by_project,
    roles_of,
    start_page,
)
from core.people.selectors.texts import asked_consent, newest_consent_text, shown_consent
from core.people.services import tokens
from core.people.services.accounts import delete_account, set_language_skills
from core.people.services.consent import StaleConsentError, give_consent, governing_text, withdraw_consent
from core.people.services.invitations import InvitationClosedError, accept_invitation, join
from core.people.services.members import LastManagerError, MembershipError
from core.people.services.personal_links import make_link
from core.people.services.sessions import end_other_sessions, end_session
from core.people.tasks import send_confirmation


@require_http_methods(["GET", "HEAD", "POST"])
def profile_show(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    form = ProfileForm(request.POST or None, user=user)
    if not form.is_valid():
        context = {"form": form, "projects": own_projects(user), "sign_in_providers": settings.SIGN_IN_PROVIDERS}
        return render(request, "people/profile.html", context, status=422 if form.is_bound else 200)
    language = form.cleaned_data["interface_language"]
    set_language_skills(
        user=user,
        levels=form.levels(),
        reads_english=form.cleaned_data["reads_english"],
        interface_language=language,
    )
    with override(language or None):
        messages.success(request, _("Your profile has been saved."))
    response = redirect("people:profile-show")
    keep_language(response, language)
    return response


@require_safe
def data_download(request: HttpRequest) -> FileResponse:
    file = TemporaryFile()  # noqa: SIM115 (closed with the response)
    write_archive(user_of(request), file)
    file.seek(0)
    return FileResponse(file, as_attachment=True, filename=FILE_NAME)


@require_http_methods(["GET", "HEAD", "POST"])
@reauthentication_required(allow_get=True)
def account_delete(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    form = DeletionForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with RefusalsShown(form, LastManagerError):
            delete_account(user=user, now=timezone.now())
            logout(request)
            messages.success(request, _("Your account has been deleted."))
            return redirect("people:home-show")
    context = {"form": form, "projects": own_projects(user), "alone": managed_by_nobody_else(user)}
    return render(request, "people/account_delete.html", context, status=422 if form.is_bound else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@reauthentication_required(enabled=lambda request: request.method == "POST")
def token_list(request: HttpRequest) -> HttpResponse:
    user, now, made = user_of(request), timezone.now(), None
    form = TokenForm(request.POST or None)
    if form.is_valid():
        options = {"name": form.cleaned_data["name"], "may_write": form.cleaned_data["may_write"]}
        with RefusalsShown(form, tokens.TokenError):
            made = tokens.make_token(user=user, **options, expires_at=form.expires_at(now), now=now)
            get_adapter().send_notification_mail("people/email/token_made", user, {"token": made.row})
            form = TokenForm()
    context = {"form": form, "made": made, "tokens": user.api_tokens.all(), "now": now}
    return render(request, "people/tokens.html", context, status=422 if form.is_bound else 200)


@require_POST
def token_revoke(request: HttpRequest, token_id: int) -> HttpResponse:
    token = get_object_or_404(user_of(request).api_tokens, pk=token_id)
    tokens.revoke_token(token=token, now=timezone.now())
    messages.success(request, _("The token “%(name)s” is revoked. It no longer works.") % {"name": token.name})
    return redirect("people:token-list")


@login_not_required
def home_show(request: HttpRequest) -> HttpResponse:
    if not request.user.is_authenticated:
        return render(request, "people/welcome.html")
    roles = roles_of(request.user)
    may_start = may_start_projects(request.user)
    destination = start_page(request.user, roles, may_start_projects=may_start, now=timezone.now())
    if destination:
        return redirect(destination)
    # Without those that they left, and whose consent they can still withdraw: nothing comes there.
    projects = [own for own in own_projects(request.user) if own["roles"]]
    return render(request, "people/home.html", {"projects": projects})


@require_safe
def session_list(request: HttpRequest) -> HttpResponse:
    user, now = user_of(request), timezone.now()
    own = own_sessions(user, this=request.session.session_key, now=now)
    form = EndSessionsForm(tokens=tokens.in_force(now).filter(user=user).count())
    return render(request, "people/sessions.html", {"sessions": own, "form": form})


@require_POST
def session_end(request: HttpRequest, handle: str) -> HttpResponse:
    if not end_session(user=user_of(request), handle=handle):
        raise Http404(_("This session is not yours, or it has already ended."))
    messages.success(request, _("The session has been ended."))
    return redirect("people:session-list")


@require_POST
def session_end_others(request: HttpRequest) -> HttpResponse:
    user, with_tokens = user_of(request), "with_tokens" in request.POST
    this = request.session.session_key
    end_other_sessions(user=user, this=this, with_tokens=with_tokens, now=timezone.now())
    messages.success(
        request,
        _("You have been signed out everywhere else, and your tokens have been revoked.")
        if with_tokens
        else _("You have been signed out everywhere else."),
    )
    return redirect("people:session-list")


@require_http_methods(["GET", "HEAD", "POST"])
def consent_give(request: HttpRequest, slug: str) -> HttpResponse:
    user = user_of(request)
    project = project_for(user, slug)
    text = newest_consent_text(project)
    if text is None:
        raise Http404(_("This project has no consent text."))
    consent = asked_consent(user, text)
    initial = {"version": text.version, "roles": ",".join(consent.asked)}
    form = ConsentForm(request.POST or None, initial=initial)
    if form.is_valid():
        try:
            give_consent(project=project, user=user, **form.agreed(), now=timezone.now())
        except StaleConsentError as refusal:
            form = ConsentForm(initial=initial)
            messages.warning(request, str(refusal))
        else:
            messages.success(request, _("Thank you. Your agreement is recorded."))
            return redirect("people:home-show")
    shown = shown_consent(text, consent.shown, wants_original=request.GET.get("text") == "original")
    context = {"project": project, "text": text, "shown": shown, "form": form, "consent": consent}
    return render(request, "people/consent.html", context, status=422 if form.is_bound else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def consent_withdraw(request: HttpRequest, slug: str) -> HttpResponse:
    user = user_of(request)
    project = project_consented_to(user, slug)
    text = governing_text(project, user)
    form = WithdrawalForm(request.POST if request.method == "POST" else None, text=text)
    if not form.is_valid():
        context = {"project": project, "text": text, "form": form, "managers": managers_of(project)}
        return render(request, "people/consent_withdraw.html", context, status=422 if form.is_bound else 200)
    withdrawn = withdraw_consent(project=project, user=user, keeps_answers=form.keeps_answers(), now=timezone.now())
    if withdrawn:
        messages.success(request, _("Your consent is withdrawn. You get no more work from this project."))
    return redirect("people:profile-show")


PLACES_FOR_A_CLASS = 60
"""How many people may join by a link without waiting for one another."""
OF_THE_PROJECT = {Role.MANAGER: "annotation:project-show", Role.RESEARCHER: "sxs_eval:comparison-list"}
"""The pages of a project on which those begin who have no work of their own."""


@sensitive_post_parameters("password")
@rate_limit(action="signup")
@require_http_methods(["GET", "HEAD", "POST"])
@login_not_required
def invitation_accept(request: HttpRequest, token: str) -> HttpResponse:
    # PostgreSQL cannot even look up a text with a NUL in it.
    invitations = Invitation.objects.select_related("project").filter(token=token.replace("\0", ""))
    invitation = invitations.first() if token.isprintable() else None
    if invitation is None:
        return render(request, "people/invitation_closed.html", {"state": "unknown"}, status=404)
    _speak(request, invitation)
    user = user_of(request) if request.user.is_authenticated else None
    if user is not None and invitation.uses.filter(user=user).exists():
        return redirect(_next_page(request, invitation, user))
    state = invitation_state(invitation, timezone.now())
    if state is not InvitationState.OPEN:
        return _closed(request, invitation, state)
    text = newest_consent_text(invitation.project)
    form = JoinForm(request.POST or None, invitation=invitation, user=user, text=text)
    return (form.is_valid() and _joined(request, invitation, form, user)) or _join_page(request, invitation, form)


def _speak(request: HttpRequest, invitation: Invitation) -> None:
    """Show the page in the language of an invitation for one, to strangers who have not chosen a language here."""
    if request.user.is_authenticated or settings.LANGUAGE_COOKIE_NAME in request.COOKIES:
        return
    if code := spoken_in([invitation]).get(invitation.pk):
        activate(code)
        request.LANGUAGE_CODE = code


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
    password = cleaned.get("password", "")
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
    after = _next_page(request, invitation, member)
    if user is None and not account["username"]:
        link = reverse("people:link-open", args=[make_link(user=member, now=timezone.now())])
        after = f"{link}?{urlencode({'next': after})}"
    if account["email"]:
        _ask_to_confirm(request, member, account["email"])
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
        "shown": text and shown_consent(text, [invitation.role], wants_original=request.GET.get("text") == "original"),
        "conflict": _conflict(request, invitation),
    }
    return render(request, "people/join.html", context, status=422 if form.is_bound else 200)


def _conflict(request: HttpRequest, invitation: Invitation) -> str | None:
    """Return why the role does not go with those that the user has in the project, before they fill in the form."""
    if not request.user.is_authenticated:
        return None
    roles = roles_by_project(user_of(request), [invitation.project]).get(invitation.project_id, [])
    return conflicting_roles({*roles, invitation.role})
