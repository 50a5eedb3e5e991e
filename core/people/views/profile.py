"""What people see about themselves: their start page, profile, consent, sessions and tokens for programs."""

from __future__ import annotations

from tempfile import TemporaryFile

from allauth.account.adapter import get_adapter
from allauth.account.decorators import reauthentication_required
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_not_required
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import override
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.people.forms.profile import ConsentForm, DeletionForm, EndSessionsForm, ProfileForm, TokenForm, WithdrawalForm
from core.people.permissions import may_start_projects, project_consented_to, project_for
from core.people.requests import RefusalsShown, keep_language, user_of
from core.people.selectors.accounts import own_sessions
from core.people.selectors.data_export import FILE_NAME, write_archive
from core.people.selectors.projects import managed_by_nobody_else, managers_of, own_projects, roles_of, start_page
from core.people.selectors.texts import has_consented, newest_consent_text, shown_consent
from core.people.services import tokens
from core.people.services.accounts import delete_account, set_language_skills
from core.people.services.consent import StaleConsentError, give_consent, governing_text, withdraw_consent
from core.people.services.members import LastManagerError
from core.people.services.sessions import end_other_sessions, end_session


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
    return render(request, "people/home.html", {"projects": own_projects(request.user)})


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
    form = ConsentForm(request.POST or None, initial={"version": text.version})
    if form.is_valid():
        try:
            give_consent(project=project, user=user, version=form.cleaned_data["version"], now=timezone.now())
        except StaleConsentError as refusal:
            form = ConsentForm(initial={"version": text.version})
            messages.warning(request, str(refusal))
        else:
            messages.success(request, _("Thank you. Your agreement is recorded."))
            return redirect("people:home-show")
    shown = shown_consent(text, wants_original=request.GET.get("text") == "original")
    context = {
        "project": project,
        "text": text,
        "shown": shown,
        "form": form,
        "has_consented": has_consented(user, text),
    }
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
