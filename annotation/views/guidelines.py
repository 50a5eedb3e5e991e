"""The guidelines: the current ones, versions compared, and a manager's next version."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.forms.guidelines import ExampleForms, GuidelinesForm, stored_examples
from annotation.models import Guidelines
from annotation.rules.word_diff import UNCHANGED, TextPiece, word_diff
from annotation.selectors import guidelines as selectors
from annotation.services.projects import StaleGuidelinesError, publish_guidelines
from annotation.views.shared import kept_away, number_sent
from core.images.views.editors import ExamplesEditor
from core.people.models import Project, Role, TextKind
from core.people.permissions import has_role, project_for
from core.people.requests import RefusalsShown, user_of
from core.people.rules.consent_parts import text_for
from core.people.rules.roles import OVERSEERS


@require_safe
def guidelines_show(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug)
    shown, before = _version(request, project, "version"), _version(request, project, "before")
    if shown is None:
        shown = Guidelines.objects.filter(project=project).latest("version")
    readers = _readers(request, project)
    read: dict[str, Any] = {"roles": readers, "wants_original": request.GET.get("text") == "original"}
    rating = _changes(before.rating, shown.rating, readers) if before else []
    writing = _changes(before.writing, shown.writing, readers) if before else []
    context = {
        "project": project,
        "guidelines": shown,
        "rating_text": selectors.shown_part(shown, TextKind.RATING, **read),
        "writing_text": selectors.shown_part(shown, TextKind.WRITING, **read),
        "examples": selectors.examples_for(shown, user_of(request)),
        "versions": selectors.versions_of(project),
        "before": before,
        "rating_changes": rating,
        "writing_changes": writing,
        "is_changed": any(piece.kind != UNCHANGED for piece in (*rating, *writing)),
        "reads_as": request.GET["for"] if request.GET.get("for") == Role.RATER else "",
        "decides": has_role(request.user, project, Role.MANAGER),
    }
    return render(request, "annotation/guidelines.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def guidelines_edit(request: HttpRequest, slug: str) -> HttpResponse:
    """Edit the next version in one form: its buttons add and remove examples, search for images, and publish."""
    project = project_for(request.user, slug, Role.MANAGER)
    if elsewhere := kept_away(request, project, "annotation:guidelines-show", slug):
        return elsewhere
    editor = _GuidelinesEditor(request, project)
    forms = editor.forms(partial(stored_examples, editor.last))
    if not editor.can_be_published(forms):
        return editor.page(forms)
    with RefusalsShown(request, StaleGuidelinesError):
        made = editor.publish(forms)
        messages.success(request, _("Version %(version)d is now in use.") % {"version": made.version})
        return redirect("annotation:guidelines-show", slug)
    return editor.page(forms | {"newest": editor.last.version}, status=409)


class _GuidelinesEditor(ExamplesEditor):
    template, form, examples = "annotation/guidelines_edit.html", GuidelinesForm, ExampleForms

    def __init__(self, request: HttpRequest, project: Project) -> None:
        self.project, self.last = project, Guidelines.objects.filter(project=project).latest("version")
        about = {"last": self.last, "rounds": selectors.rounds_to_change(project)}
        entries = selectors.entries_of_project(project)
        super().__init__(request, entries, about=about, project=project, last=self.last)

    def publish(self, forms: dict[str, Any]) -> Guidelines:
        said = forms["form"].cleaned_data
        return publish_guidelines(
            project=self.project,
            rating=said["rating"],
            writing=said["writing"],
            note=said["note"],
            examples=[form.example() for form in forms["examples"]],
            rounds=[round.pk for round in said.get("rounds", ())],
            after=said["after"],
            by=user_of(self.request),
            now=timezone.now(),
        )


def _readers(request: HttpRequest, project: Project) -> set[str] | None:
    """Return as what somebody reads the guidelines; None for managers and researchers, who see the parts of all.

    A link from captions to rate asks for what reviewers read, also for those who write in other rounds.
    """
    if request.GET.get("for") == Role.RATER:
        return {Role.RATER}
    roles = set(project.memberships.filter(user=user_of(request)).values_list("role", flat=True))
    return roles if roles.isdisjoint(OVERSEERS) else None


def _changes(before: str, after: str, roles: set[str] | None) -> list[TextPiece]:
    return word_diff(before, after) if roles is None else word_diff(text_for(before, roles), text_for(after, roles))


def _version(request: HttpRequest, project: Project, name: str) -> Guidelines | None:
    """Return the version that the address asks for; None if it asks for none."""
    asked = request.GET.get(name, "")
    if not asked:
        return None
    guidelines = Guidelines.objects.filter(project=project, version=number_sent(asked)).first()
    if guidelines is None:
        raise Http404(_("There are no such guidelines."))
    return guidelines
