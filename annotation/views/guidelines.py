"""The guidelines: the current ones, versions compared, and a manager's next version."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.forms.guidelines import ExampleForms, GuidelinesForm, stored_examples
from annotation.models import Guidelines
from annotation.rules.word_diff import word_diff
from annotation.selectors import guidelines as selectors
from annotation.services.projects import StaleGuidelinesError, publish_guidelines
from annotation.views.shared import kept_away, number_sent
from core.images.models import Image
from core.images.selectors import images_by_id, images_to_choose
from core.people.models import Project, Role, TextKind
from core.people.permissions import has_role, project_for
from core.people.requests import RefusalsShown, user_of


@require_safe
def guidelines_show(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(user_of(request), slug)
    shown, before = _version(request, project, "version"), _version(request, project, "before")
    if shown is None:
        shown = Guidelines.objects.filter(project=project).latest("version")
    original = request.GET.get("text") == "original"
    context = {
        "project": project,
        "guidelines": shown,
        "rating_text": selectors.shown_part(shown, TextKind.RATING, wants_original=original),
        "writing_text": selectors.shown_part(shown, TextKind.WRITING, wants_original=original),
        "examples": selectors.examples_for(shown, user_of(request)),
        "versions": selectors.versions_of(project),
        "before": before,
        "rating_changes": word_diff(before.rating, shown.rating) if before else [],
        "writing_changes": word_diff(before.writing, shown.writing) if before else [],
        "decides": has_role(request.user, project, Role.MANAGER),
    }
    return render(request, "annotation/guidelines.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def guidelines_edit(request: HttpRequest, slug: str) -> HttpResponse:
    """Edit the next version in one form: its buttons add and remove examples, search for images, and publish."""
    project = project_for(request.user, slug, Role.MANAGER)
    why = _("Examples may have other people’s captions of images in a batch that is assigned to you. Submit "
        "that batch first, or ask another manager to change the guidelines.")  # fmt: skip
    if elsewhere := kept_away(request, project, why, "annotation:guidelines-show", slug):
        return elsewhere
    editor = _GuidelinesEditor(request, project)
    if request.method != "POST":
        return editor.page(editor.begun())
    do = request.POST.get("do", "publish")
    if do != "publish":
        return editor.page(editor.changed(do))
    forms = editor.sent()
    if not (forms["form"].is_valid() & forms["examples"].are_valid()):
        return editor.page(forms, status=422)
    with RefusalsShown(request, StaleGuidelinesError):
        made = editor.publish(forms)
        messages.success(request, _("Version %(version)d is now in use.") % {"version": made.version})
        return redirect("annotation:guidelines-show", slug)
    return editor.page(forms | {"newest": editor.last.version}, status=409)


class _GuidelinesEditor:
    """The context of the editor's page for one request."""

    def __init__(self, request: HttpRequest, project: Project) -> None:
        self.request, self.project = request, project
        self.last = Guidelines.objects.filter(project=project).latest("version")
        self.rounds = selectors.rounds_to_change(project)
        self.entries = selectors.entries_of_project(project)
        self.images = Image.objects.filter(pk__in=self.entries.values("image"))

    def begun(self) -> dict[str, Any]:
        form = GuidelinesForm(last=self.last, rounds=self.rounds)
        return {"form": form, "examples": ExampleForms(None, images=self.images, stored=stored_examples(self.last))}

    def sent(self) -> dict[str, Any]:
        form = GuidelinesForm(self.request.POST, last=self.last, rounds=self.rounds)
        return {"form": form, "examples": ExampleForms(self.request.POST, images=self.images)}

    def changed(self, do: str) -> dict[str, Any]:
        """Show the form as sent, with one example more or less, without validating it."""
        form = GuidelinesForm.as_typed(self.request.POST, last=self.last, rounds=self.rounds)
        examples = ExampleForms.as_typed(self.request.POST, images=self.images)
        if problem := examples.do(do, image=self.request.POST.get("image", "")):
            messages.error(self.request, problem)
        return {"form": form, "examples": examples}

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

    def page(self, forms: dict[str, Any], *, status: int = 200) -> HttpResponse:
        find, after = self.request.POST.get("find", ""), self.request.POST.get("after_key", "")
        is_more = self.request.POST.get("do") == "more"
        viewer = user_of(self.request)
        chooser = images_to_choose(self.entries, find=find, after=after if is_more else "")
        examples = list(forms["examples"])
        images = images_by_id(self.images, [form["image"].value() for form in examples], viewer)
        context = {
            "project": self.project,
            "last": self.last,
            "chooser": chooser,
            "find": find,
            "examples": list(zip(examples, images, strict=True)),
        }
        return render(self.request, "annotation/guidelines_edit.html", forms | context, status=status)


def _version(request: HttpRequest, project: Project, name: str) -> Guidelines | None:
    """Return the version that the address asks for; None if it asks for none."""
    asked = request.GET.get(name, "")
    if not asked:
        return None
    guidelines = Guidelines.objects.filter(project=project, version=number_sent(asked)).first()
    if guidelines is None:
        raise Http404(_("There are no such guidelines."))
    return guidelines
