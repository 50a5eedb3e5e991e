"""Consent: giving and withdrawing it, and a manager's next version of the text."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from core.people.forms.consent import ConsentForm, ConsentTextForm, WithdrawalForm
from core.people.models import Role
from core.people.permissions import project_consented_to, project_for
from core.people.requests import user_of
from core.people.rules.markdown import to_html
from core.people.selectors.projects import managers_of
from core.people.selectors.texts import has_consented, newest_consent_text, shown_consent
from core.people.services.consent import (
    StaleConsentError,
    give_consent,
    governing_text,
    publish_consent_text,
    withdraw_consent,
)


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
    context = {"project": project, "text": text, "shown": shown, "form": form}
    context["has_consented"] = has_consented(user, text)
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


@require_http_methods(["GET", "HEAD", "POST"])
def consent_publish(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    text = newest_consent_text(project)
    form = ConsentTextForm(request.POST or None, text=text)
    if form.is_valid():
        published = publish_consent_text(project=project, by=user_of(request), now=timezone.now(), **form.cleaned_data)
        messages.success(request, _("Version %(version)d is now in use.") % {"version": published.version})
        return redirect("people:consent-publish", slug)
    context = {"project": project, "text": text, "form": form, "text_html": to_html(text.body) if text else ""}
    return render(request, "people/consent_publish.html", context, status=422 if form.is_bound else 200)
