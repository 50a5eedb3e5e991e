"""A manager's pages of practice: its examples in versions, and how everybody did."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.images.selectors import ServedImage
from core.images.views.editors import ExamplesEditor
from core.people.models import Project, Role
from core.people.permissions import project_for
from core.people.requests import RefusalsShown, user_of
from office.practice.forms import ITEMS, ItemForm, PracticeForm, stored_items
from office.practice.models import PracticeKind, PracticeSet
from office.practice.permissions import attempt_of_project
from office.practice.rules.beginning import DRAWINGS
from office.practice.selectors import managing as selectors
from office.practice.selectors.practising import items_of, needed_of, shown_answer, shown_drawing
from office.practice.selectors.texts import newest_set
from office.practice.services.attempts import allow_another_try
from office.practice.services.sets import ImageInWorkError, StalePracticeError, publish_practice, switch_practice


@require_safe
def practice_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    context = {
        "project": project,
        "rows": selectors.kind_rows(project),
        "attempts": selectors.attempts_of(project)[:200],
    }
    return render(request, "practice/practice_list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def practice_edit(request: HttpRequest, slug: str, kind: str) -> HttpResponse:
    """Edit the next version in one form: its buttons add and remove examples, search for images, and publish."""
    project = project_for(user_of(request), slug, Role.MANAGER)
    if kind not in PracticeKind.values:
        raise Http404(_("There is no such page."))
    editor = _PracticeEditor(request, project, PracticeKind(kind))
    forms = editor.forms(partial(stored_items, editor.last))
    if not editor.can_be_published(forms):
        return editor.page(forms)
    if not len(forms["examples"]):
        messages.error(request, _("Add at least one example."))
        return editor.page(forms)
    with RefusalsShown(request, ImageInWorkError, StalePracticeError):
        made = editor.publish(forms)
        messages.success(request, _("Version %(version)d is now in use.") % {"version": made.version})
        return redirect("practice:practice-list", slug)
    return editor.page(forms, status=409)


@require_POST
def practice_switch(request: HttpRequest, slug: str, kind: str) -> HttpResponse:
    """Switch the newest practice on or off, whichever `on` asks for. Repeating it changes nothing."""
    project = project_for(user_of(request), slug, Role.MANAGER)
    practice = newest_set(project, kind)
    if practice is None:
        raise Http404(_("There is no such page."))
    is_required = request.POST.get("on") == "1"
    if practice.is_required != is_required:
        with RefusalsShown(request, ImageInWorkError, StalePracticeError):
            switch_practice(practice=practice, is_required=is_required, by=user_of(request), now=timezone.now())
    return redirect("practice:practice-list", slug)


@require_safe
def attempt_review(request: HttpRequest, slug: str, attempt_id: int) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    attempt = attempt_of_project(project, attempt_id)
    items = items_of(attempt)
    answers = [
        shown_answer(attempt, answer, items, user_of(request)) for answer in attempt.answers.order_by("item__position")
    ]
    context = {
        "project": project,
        "attempt": attempt,
        "answers": answers,
        "total": len(items),
        "needed": needed_of(attempt, len(items)),
        "is_writing": attempt.practice.kind == PracticeKind.WRITING,
    }
    return render(request, "practice/attempt_review.html", context)


@require_POST
def attempt_forgive(request: HttpRequest, slug: str, attempt_id: int) -> HttpResponse:
    project = project_for(user_of(request), slug, Role.MANAGER)
    attempt = attempt_of_project(project, attempt_id)
    allow_another_try(attempt=attempt, by=user_of(request), now=timezone.now())
    messages.success(request, _("%(name)s can try again.") % {"name": attempt.person.username})
    return redirect("practice:attempt-review", slug, attempt_id)


class _PracticeEditor(ExamplesEditor):
    template, form = "practice/practice_edit.html", PracticeForm

    def __init__(self, request: HttpRequest, project: Project, kind: PracticeKind) -> None:
        self.project, self.kind, self.last = project, kind, newest_set(project, kind)
        self.examples = ITEMS[kind]
        entries = selectors.entries_to_choose(project, user_of(request))
        super().__init__(request, entries, about={"last": self.last}, project=project, kind=kind, last=self.last)

    def shown_images(self, examples: Sequence[ItemForm]) -> list[ServedImage | None]:
        drawings = [str(form["drawing"].value() or "") for form in examples]
        images = super().shown_images(examples)
        return [
            shown_drawing(name) if name in DRAWINGS else image for name, image in zip(drawings, images, strict=True)
        ]

    def publish(self, forms: dict[str, Any]) -> PracticeSet:
        return publish_practice(
            project=self.project,
            kind=self.kind,
            items=[form.item() for form in forms["examples"]],
            by=user_of(self.request),
            now=timezone.now(),
            **forms["form"].cleaned_data,
        )
