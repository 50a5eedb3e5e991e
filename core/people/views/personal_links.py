"""The personal link of somebody without a password: its page, which also signs them in, and a new one."""

from __future__ import annotations

from allauth.account.utils import perform_login
from allauth.core.internal.ratelimit import consume, respond_429
from allauth.decorators import rate_limit
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from core.people.forms.profile import LinkMailForm
from core.people.requests import user_of, way_back
from core.people.selectors.accounts import person_of_link
from core.people.services.personal_links import LinkError, mail_link, renew_link, use_link
from core.people.services.tokens import digest_of


@rate_limit(action="personal_link")
@require_http_methods(["GET", "HEAD", "POST"])
@login_not_required
def link_open(request: HttpRequest, token: str) -> HttpResponse:
    """Show somebody their link; sign them in only at the press of a button, as mail programs look ahead."""
    person = person_of_link(digest_of(token), now=timezone.now())
    if person is None:
        return render(request, "people/link_closed.html", status=404)
    after = way_back(request, request.GET.get("next", ""), otherwise=reverse("people:home-show"))
    if request.method == "POST" and not request.user.is_authenticated:
        person = use_link(token=token, now=timezone.now())
        if person is None:
            return render(request, "people/link_closed.html", status=404)
        return perform_login(request, person, email_verification="none", redirect_url=after)
    is_own = request.user.pk == person.pk
    address = request.build_absolute_uri(request.path)
    form = LinkMailForm(request.POST or None if is_own else None)
    if form.is_valid():
        if consume(request, app="allauth.account", action="mail_link", user=person) is None:
            return respond_429(request)
        _mail(request, form.cleaned_data["email"], address)
        return redirect(request.get_full_path())
    context = {"form": form, "address": address, "after": after, "is_own": is_own}
    return render(request, "people/link.html", context, status=422 if form.is_bound else 200)


def _mail(request: HttpRequest, to: str, address: str) -> None:
    try:
        mail_link(to=to, address=address)
    except OSError:  # SMTPException is one
        messages.error(request, _("The e-mail could not be sent. Try again in a few minutes."))
    else:
        messages.success(request, _("The link was sent to %(address)s.") % {"address": to})


@require_POST
def link_renew(request: HttpRequest) -> HttpResponse:
    """Make another link in place of the one that somebody has."""
    user = user_of(request)
    try:
        token = renew_link(user=user, this=request.session.session_key, now=timezone.now())
    except LinkError as refusal:
        raise Http404(str(refusal)) from refusal
    update_session_auth_hash(request, user)
    return redirect("people:link-open", token)
