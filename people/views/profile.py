"""What somebody says about themselves, and what they agreed to."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import override
from django.views.decorators.http import require_http_methods

from people import selectors, services
from people.accounts import keep_language
from people.forms import ProfileForm
from people.requests import user_of


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def profile_show(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    form = ProfileForm(request.POST or None, user=user)
    if not form.is_valid():
        context = {"form": form, "projects": selectors.own_projects(user)}
        return render(request, "people/profile.html", context, status=422 if form.is_bound else 200)
    language = form.cleaned_data["interface_language"]
    services.set_language_skills(
        user=user,
        levels=form.levels(),
        reads_english=form.cleaned_data["reads_english"],
        interface_language=language,
    )
    with override(language or None):
        messages.success(request, _("Your profile is saved."))
    response = redirect("people:profile-show")
    keep_language(response, language)
    return response
