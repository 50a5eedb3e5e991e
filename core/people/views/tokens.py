"""The user's own tokens for programs: made, shown once, revoked."""

from __future__ import annotations

from allauth.account.adapter import get_adapter
from allauth.account.decorators import reauthentication_required
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from core.people.forms.access import TokenForm
from core.people.requests import user_of
from core.people.services import tokens


@require_http_methods(["GET", "HEAD", "POST"])
@reauthentication_required(enabled=lambda request: request.method == "POST")
def token_list(request: HttpRequest) -> HttpResponse:
    user, now, made = user_of(request), timezone.now(), None
    form = TokenForm(request.POST or None)
    if form.is_valid():
        options = {"name": form.cleaned_data["name"], "may_write": form.cleaned_data["may_write"]}
        try:
            made = tokens.make_token(user=user, **options, expires_at=form.expires_at(now), now=now)
            get_adapter().send_notification_mail("people/email/token_made", user, {"token": made.row})
            form = TokenForm()
        except tokens.TokenError as refused:
            form.add_error(None, str(refused))
    context = {"form": form, "made": made, "tokens": user.api_tokens.all(), "now": now}
    return render(request, "people/tokens.html", context, status=422 if form.is_bound else 200)


@require_POST
def token_revoke(request: HttpRequest, token_id: int) -> HttpResponse:
    token = get_object_or_404(user_of(request).api_tokens, pk=token_id)
    tokens.revoke_token(token=token, now=timezone.now())
    messages.success(request, _("The token “%(name)s” is revoked. It no longer works.") % {"name": token.name})
    return redirect("people:token-list")
