"""Which e-mails somebody gets; stopping one kind by the link in an e-mail, without a sign-in."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from core.people.models import Role, User
from core.people.permissions import READERS, may_start_projects
from core.people.requests import user_of
from core.people.selectors.projects import roles_of
from core.people.templatetags.moments import COOKIE, MAX_ZONE_CHARACTERS
from office.dashboard.forms import EmailChoicesForm
from office.dashboard.models import NoticeKind
from office.dashboard.rules.emails import read_token
from office.dashboard.selectors.choices import choices_of, has_confirmed_address
from office.dashboard.services.choices import choose_emails, stop_emails


@require_http_methods(["GET", "HEAD", "POST"])
def email_choices(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    roles = roles_of(user)
    form = EmailChoicesForm(
        request.POST or None,
        instance=choices_of(user),
        works=not roles or not roles.isdisjoint({Role.ANNOTATOR, Role.RATER}),
        manages=not roles.isdisjoint(READERS) or may_start_projects(user),
    )
    if not form.is_valid():
        context = {"form": form, "is_confirmed": has_confirmed_address(user)}
        return render(request, "dashboard/emails.html", context, status=422 if form.is_bound else 200)
    zone = request.COOKIES.get(COOKIE, "")[:MAX_ZONE_CHARACTERS].replace("\0", "")
    choose_emails(person=user, chosen=form.cleaned_data | {"zone": zone})
    messages.success(request, _("Your choices have been saved."))
    return redirect("dashboard:email-choices")


# The programs that read e-mails send no cookie; the token says who, and what it allows is to get less.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@login_not_required
def email_stop(request: HttpRequest, token: str) -> HttpResponse:
    """Ask before anything is done, since programs follow links; a program that stops e-mails sends POST (RFC 8058)."""
    read = read_token(token)
    if read is None or read[1] not in NoticeKind.values:
        raise Http404(_("This link is not complete. Copy all of it from the e-mail."))
    person, kind = get_object_or_404(User, pk=read[0], is_active=True), NoticeKind(read[1])
    if request.method == "POST":
        stop_emails(person=person, kind=kind)
    return render(request, "dashboard/email_stop.html", {"kind": kind, "is_done": request.method == "POST"})
