"""Translations of a project's texts: managers' pages, and those of reviewers who have a link for one language."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from core.languages.models import Language
from core.languages.rules.page_languages import code_of
from core.languages.rules.registry import ENGLISH
from core.people.forms.projects import ReviewForm, TranslationForm
from core.people.models import EMAIL_KINDS, Project, Role
from core.people.permissions import project_for
from core.people.requests import user_of
from core.people.rules.consent_parts import PartsError
from core.people.rules.placeholders import PlaceholdersError
from core.people.rules.review_links import DAYS, ReviewLinkError, link_token, read_token
from core.people.selectors.texts import (
    TextToTranslate,
    help_with,
    html_text,
    originals_of,
    text_to_translate,
    translation_rows,
)
from core.people.services.texts import StaleTranslationError, save_translation


@require_safe
def text_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    originals = originals_of(project)
    rows = [
        {"language": language, "cells": cells, "link": _link(request, project, language)}
        for language, cells in translation_rows(project, originals, Language.objects.exclude(pk=ENGLISH))
    ]
    context = {"project": project, "originals": originals.items(), "rows": rows, "days": DAYS, "emails": EMAIL_KINDS}
    return render(request, "people/texts.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def text_translate(request: HttpRequest, slug: str, kind: str, tag: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    text = text_to_translate(project, kind, tag)
    return _translate(request, text, TranslationForm, back=reverse("people:text-list", args=[slug]))


@login_not_required
@require_safe
def review_list(request: HttpRequest, token: str) -> HttpResponse:
    try:
        project, language = _of_link(token)
    except ReviewLinkError as error:
        return _closed(request, error)
    [(_language, cells)] = translation_rows(project, originals_of(project), [language])
    context = {"project": project, "language": language, "cells": cells, "token": token, "emails": EMAIL_KINDS}
    return render(request, "people/review_texts.html", context)


@login_not_required
@require_http_methods(["GET", "HEAD", "POST"])
def review_text(request: HttpRequest, token: str, kind: str) -> HttpResponse:
    try:
        project, language = _of_link(token)
    except ReviewLinkError as error:
        return _closed(request, error)
    text = text_to_translate(project, kind, language.pk)
    return _translate(request, text, ReviewForm, back=reverse("people:review-list", args=[token]))


def _link(request: HttpRequest, project: Project, language: Language) -> str:
    return request.build_absolute_uri(reverse("people:review-list", args=[link_token(project.pk, language.pk)]))


def _of_link(token: str) -> tuple[Project, Language]:
    project, tag = read_token(token)
    found = Project.objects.filter(pk=project, archived_at=None).first()
    language = Language.objects.filter(pk=tag).first()
    if found is None or language is None:
        raise ReviewLinkError(_("The project is no longer there."))
    return found, language


def _closed(request: HttpRequest, error: ReviewLinkError) -> HttpResponse:
    return render(request, "people/review_closed.html", {"why": error}, status=410)


def _translate(request: HttpRequest, text: TextToTranslate, make: type[TranslationForm], *, back: str) -> HttpResponse:
    language, original, last = text.language, text.original, text.last
    initial = {"version": original.version, "body": last.body if last else original.body}
    form = make(request.POST or None, initial=initial)
    status = 422 if form.is_bound else 200
    if form.is_valid():
        publishes = request.POST.get("do") == "publish"
        by = None if make is ReviewForm else user_of(request)
        about: dict[str, Any] = {"project": text.project, "kind": text.kind, "language": language}
        try:
            save_translation(**about, publishes=publishes, by=by, now=timezone.now(), **form.cleaned_data)
        except StaleTranslationError as stale:
            messages.error(request, str(stale))
            form = make(initial=form.cleaned_data | {"version": original.version})
            status = 409
        except (PartsError, PlaceholdersError) as wrong:
            form.add_error("body", str(wrong))
        else:
            messages.success(request, _("People can read it now.") if publishes else _("Saved as a draft."))
            return redirect(back)
    form.fields["body"].widget.attrs |= {"lang": language.tag, "dir": language.direction}
    form.fields["body"].help_text = help_with(text.kind) or form.fields["body"].help_text
    if language.pk == ENGLISH:
        form.fields["body"].label = _("Text")
    context = vars(text) | {"form": form, "back": back}
    context["original_html"] = html_text(text.kind, original.body, original.values)
    if last:
        with translation.override(code_of(language.pk)):
            context["shown_html"] = html_text(text.kind, last.body, original.values)
    return render(request, "people/text_translate.html", context, status=status)
