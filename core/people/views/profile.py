"""A person's profile, and their consent."""

from __future__ import annotations

from tempfile import TemporaryFile

from allauth.account.decorators import reauthentication_required
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import override
from django.views.decorators.http import require_http_methods, require_safe

from core.people.forms.profile import DeletionForm, ProfileForm
from core.people.requests import keep_language, user_of
from core.people.selectors.data_export import FILE_NAME, write_archive
from core.people.selectors.projects import managed_by_nobody_else, own_projects
from core.people.services.account_deletion import delete_account
from core.people.services.language_skills import set_language_skills
from core.people.services.members import LastManagerError


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
        try:
            delete_account(user=user, now=timezone.now())
        except LastManagerError as refusal:
            form.add_error(None, str(refusal))
        else:
            logout(request)
            messages.success(request, _("Your account has been deleted."))
            return redirect("people:home-show")
    context = {"form": form, "projects": own_projects(user), "alone": managed_by_nobody_else(user)}
    return render(request, "people/account_delete.html", context, status=422 if form.is_bound else 200)
