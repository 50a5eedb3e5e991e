"""The manager's pages: the list of projects, making one, adding languages, changing a round."""

from __future__ import annotations

from collections.abc import Iterable
from random import SystemRandom
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import tasks
from annotation.forms.projects import CollectionForm, LanguagesForm, ProjectForm, ProjectNameForm, RoundForm, SettingUp
from annotation.models import Round
from annotation.pages.estimates import estimate_page
from annotation.permissions import round_of
from annotation.selectors import overview
from annotation.selectors.estimates import SettingsUsed, last_settings, measured_times, settings_used
from annotation.services import projects as services
from annotation.services.references import use_as_references
from core.images.models import Collection
from core.images.permissions import collections_in
from core.languages.models import Language
from core.languages.rules.groups import GROUPS, LanguageGroup
from core.people.models import Project, Role
from core.people.permissions import manages_anything, project_for
from core.people.requests import RefusalsShown, user_of
from core.people.selectors.projects import deletions_seen_by
from research.inference.models import CaptioningModel
from research.inference.permissions import models_in
from research.scoring.services.references import ReferenceFileError


@require_safe
def project_list(request: HttpRequest) -> HttpResponse:
    must_be_manager(request)
    archived = request.GET.get("show") == "archived"
    projects = overview.managed_projects(user_of(request), archived=archived)
    context = {"projects": projects, "archived": archived, "name_form": ProjectNameForm()}
    if archived:
        context["deletions"] = deletions_seen_by(user_of(request))
    return render(request, "annotation/manage_projects.html", context)


@require_POST
def tasks_add(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    say_it_fills(request, services.ask_for_missing_tasks(project=project, by=user_of(request), now=timezone.now()))
    return redirect("annotation:project-show", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def round_settings(request: HttpRequest, slug: str, round_id: int) -> HttpResponse:
    round = round_of(request.user, slug, round_id, Role.MANAGER)
    form = RoundForm(request.POST or None, round=round)
    if not form.is_valid():
        context = {"form": form, "round": round, "project": round.project}
        return render(request, "annotation/manage_round_settings.html", context, status=422 if form.is_bound else 200)
    above = services.change_round(round=round, settings=form.settings(), by=user_of(request), now=timezone.now())
    messages.success(request, _("The settings are saved. They apply to batches that people take from now on."))
    if above:
        _say_what_stays_above(request, round, above)
    return redirect("annotation:project-show", slug)


@require_POST
def references_use(request: HttpRequest, slug: str, round_id: int) -> HttpResponse:
    round = round_of(request.user, slug, round_id, Role.MANAGER)
    with RefusalsShown(request, ReferenceFileError):
        made = use_as_references(round=round, by=user_of(request), now=timezone.now())
        text = ngettext(
            "%(number)d counted caption is now a reference.",
            "%(number)d counted captions are now references.",
            made.captions,
        )
        messages.success(request, text % {"number": made.captions})
        return redirect("scoring:reference-list", slug)
    return redirect("annotation:round-settings", slug, round_id)


def must_be_manager(request: HttpRequest) -> None:
    if not manages_anything(request.user):
        raise PermissionDenied(
            _("Only managers can see this page. Ask the administrator of this site to make you one.")
        )


def say_it_fills(request: HttpRequest, rounds: list[int]) -> None:
    tasks.nudge_filling(rounds)
    messages.success(request, _("The images are being prepared. The table below fills within seconds."))


def say_what_is_left_out(request: HttpRequest, captioners: Iterable[CaptioningModel], collection: Collection) -> None:
    without = overview.coverage_of(collection, captioners).without
    if without:
        text = ngettext(
            "%(number)d image has no English caption by the chosen models and is left out until it has one.",
            "%(number)d images have no English caption by the chosen models and are left out until they have one.",
            without,
        )
        messages.warning(request, text % {"number": without})


def _say_what_stays_above(request: HttpRequest, round: Round, above: int) -> None:
    text = ngettext(
        "%(language)s: %(number)d image keeps more places because more people have described it or are working on it.",
        "%(language)s: %(number)d images keep more places because more people have described them or are "
        "working on them.",
        above,
    )
    messages.warning(request, text % {"language": round.language.name, "number": above})


SEED_BITS = 32
METHOD = "method"
"""In the address: the settings of the method, not those of the last project."""


@require_http_methods(["GET", "HEAD", "POST"])
def project_create(request: HttpRequest) -> HttpResponse:
    must_be_manager(request)
    chosen = CollectionForm(request.GET or None, project=None, by=user_of(request))
    if not chosen.is_valid():
        return _collection_page(request, chosen)
    collection: Collection = chosen.cleaned_data["collection"]
    asked = _SetupRequest(
        request, ProjectForm, collection, models_in(None, by=user_of(request)), Language.objects.all()
    )
    if not asked.is_to_be_done:
        return asked.page()
    is_taken_over = collection.project_id is None and not collection.is_shared
    project = services.create_project(
        creator=user_of(request), name=asked.form.cleaned_data["name"], **_setting_up(asked.form, collection)
    )
    say_it_fills(request, list(project.rounds.filter(awaits_tasks=True).values_list("pk", flat=True)))
    say_what_is_left_out(request, asked.form.cleaned_data["captioners"], collection)
    if is_taken_over:
        text = _("“%(collection)s” belongs to this project now. Share it with all to use it in other projects too.")
        messages.success(request, text % {"collection": collection})
    return redirect("annotation:project-show", project.slug)


@require_POST
def project_create_empty(request: HttpRequest) -> HttpResponse:
    """Create a project by its name alone, and lead to the import of its images and captions."""
    must_be_manager(request)
    form = ProjectNameForm(request.POST)
    if not form.is_valid():
        return _collection_page(request, CollectionForm(None, project=None, by=user_of(request)), name=form)
    name = form.cleaned_data["name"]
    project = services.create_empty_project(creator=user_of(request), name=name, now=timezone.now())
    messages.success(request, _("The project is there. Import its images and captions of them by models."))
    return redirect("imports:import-create", project.slug)


@require_http_methods(["GET", "HEAD", "POST"])
def language_add(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(request.user, slug, Role.MANAGER)
    chosen = CollectionForm(request.GET or None, project=project, by=user_of(request))
    if not chosen.is_valid():
        return _collection_page(request, chosen, project)
    collection: Collection = chosen.cleaned_data["collection"]
    languages = Language.objects.exclude(pk__in=project.rounds.values("language"))
    asked = _SetupRequest(request, LanguagesForm, collection, models_in(project), languages, project=project)
    if not asked.is_to_be_done:
        return asked.page()
    try:
        made = services.add_languages(project=project, by=user_of(request), **_setting_up(asked.form, collection))
    except services.LanguageAlreadyAddedError as refused:
        asked.form.add_error(None, str(refused))
        return asked.page()
    say_it_fills(request, [round.pk for round in made])
    say_what_is_left_out(request, asked.form.cleaned_data["captioners"], collection)
    return redirect("annotation:project-show", slug)


class _SetupRequest:
    """What a request asks for: the form, an estimate, a group of languages ticked, or that it is done."""

    def __init__(
        self,
        request: HttpRequest,
        kind: type[LanguagesForm],
        collection: Collection,
        models: QuerySet[CaptioningModel],
        languages: QuerySet[Language],
        *,
        project: Project | None = None,
    ) -> None:
        self.request, self.collection, self.project = request, collection, project
        self.coverage = overview.coverage_of(collection, models)
        self.before = settings_used(project) if project else last_settings(user_of(request))
        self.last = self.before if request.GET.get("settings") != METHOD else None
        self.groups = _groups(self.before) if project is None else GROUPS
        self.asks_for_group = request.POST.get("group", "") in self.groups
        options: dict[str, Any] = {"coverage": self.coverage, "languages": languages, "last": self.last}
        ticked = {"languages": request.GET.getlist("language")}
        data = request.POST if request.method == "POST" and not self.asks_for_group else None
        self.form = kind(data, initial=ticked, **options)
        if self.asks_for_group:
            typed = self.form.typed(request.POST)
            tags = self.groups[request.POST["group"]].tags
            self.form = kind(initial=typed | {"languages": [*typed["languages"], *tags]}, **options)

    @property
    def is_to_be_done(self) -> bool:
        return self.form.is_valid() and "estimate" not in self.request.POST

    def page(self) -> HttpResponse:
        context = {
            "form": self.form,
            "collection": self.collection,
            "coverage": self.coverage,
            "project": self.project,
            "groups": self.groups,
            "before": self.before,
            "last": self.last,
            "estimate": self._estimate() if self.form.is_valid() else None,
        }
        status = 422 if self.form.errors else 200
        return render(self.request, "annotation/manage_project_create.html", context, status=status)

    def _estimate(self) -> dict[str, Any]:
        covered = overview.coverage_of(self.collection, self.form.cleaned_data["captioners"])
        return estimate_page(
            self.form.plan(images=covered.by_any),
            self.form.new_rounds(),
            measured_times(),
            currency=self.form.cleaned_data["currency"],
            left_out=covered.without,
            today=timezone.localdate(),
        )


def _groups(before: SettingsUsed | None) -> dict[str, LanguageGroup]:
    """Return the groups of languages to tick at once; that of the last project comes last."""
    if before is None:
        return GROUPS
    name = _("Those of %(project)s") % {"project": before.project.name}
    return GROUPS | {"last": LanguageGroup(name, tuple(before.replications))}


def _collection_page(
    request: HttpRequest, form: CollectionForm, project: Project | None = None, name: ProjectNameForm | None = None
) -> HttpResponse:
    collections = collections_in(project, by=user_of(request))
    context = {"form": form, "collections": collections.exists(), "project": project}
    context["name_form"] = name or ProjectNameForm()
    return render(request, "annotation/manage_project_collection.html", context, status=422 if name else 200)


def _setting_up(form: LanguagesForm, collection: Collection) -> SettingUp:
    return form.setting_up(collection, seed=SystemRandom().getrandbits(SEED_BITS), now=timezone.now())
