"""Background work that failed and that somebody may see, project by project."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.models import Release
from core.images.permissions import imports_for
from core.jobs.models import JobState
from core.people.models import User
from office.dashboard.models import DismissedNeed
from office.dashboard.rules.needs import FAILED_WITHIN, Need, NeedKind
from research.inference.models import RunState
from research.inference.permissions import runs_for, trainings_for
from research.scoring.models import Pass, ReferenceTranslation
from research.selection.models import Selection

NOT_GIVEN: int | None = None
"""The project of what belongs to none yet."""


@dataclass(frozen=True)
class _FailureSource:
    """`columns` are those of a row that its sentence and its address need, after its primary key, project and time."""

    name: str
    text: Promise
    rows: QuerySet[Any]
    project: str
    times: Sequence[str]
    columns: Sequence[str]
    address: Callable[..., str]
    title: Callable[..., str]


def failures(
    user: User, *, managed: Collection[int], researched: Collection[int], now: datetime
) -> Iterator[tuple[int | None, Need]]:
    """Yield what failed lately in projects that `user` manages or does research in, one query for each kind."""
    dismissed = set(DismissedNeed.objects.filter(person=user).values_list("about", flat=True))
    since = now - FAILED_WITHIN
    for source in (*_of_researchers(user, researched), *_of_managers(user, managed)):
        rows = source.rows.annotate(failed_at=Coalesce(*source.times))
        found = rows.filter(failed_at__gte=since).values_list("pk", source.project, "failed_at", *source.columns)
        for pk, project, at, *values in found.order_by("-failed_at"):
            about = f"{source.name}:{pk}"
            if about not in dismissed:
                text = str(source.text) % {"name": source.title(pk, *values)}
                yield project, Need(NeedKind.FAILURE, text, source.address(pk, *values), at=at, about=about)


def _of_researchers(user: User, projects: Collection[int]) -> list[_FailureSource]:
    own = Q(project__in=projects) | Q(project=None, created_by=user)
    later = Pass.objects.filter(scoring=OuterRef("scoring"), pk__gt=OuterRef("pk"))
    return [
        _FailureSource(
            "run",
            _("Run of %(name)s failed"),
            runs_for(user).filter(own, state=RunState.FAILED, trial_image=None),
            "project",
            ("finished_at", "created_at"),
            ("model__name", "encoder__name"),
            lambda pk, *_names: reverse("inference:run-show", args=[pk]),
            lambda _pk, model, encoder: model or encoder,
        ),
        _FailureSource(
            "training",
            _("Training of %(name)s failed"),
            trainings_for(user).filter(own, state=RunState.FAILED),
            "project",
            ("finished_at", "created_at"),
            ("name",),
            lambda pk, _name: reverse("inference:training-show", args=[pk]),
            lambda _pk, name: name,
        ),
        _FailureSource(
            "pass",
            _("Scores of %(name)s were not computed"),
            Pass.objects.filter(~Exists(later), state=JobState.FAILED, scoring__project__in=projects),
            "scoring__project",
            ("finished_at", "asked_at"),
            ("scoring__model__name", "scoring__project__slug", "scoring"),
            lambda _pk, _name, slug, scoring: reverse("scoring:scoring-show", args=[slug, scoring]),
            lambda _pk, name, *_rest: name,
        ),
        _FailureSource(
            "translation",
            _("Translation of the references %(name)s failed"),
            ReferenceTranslation.objects.filter(state=JobState.FAILED, made__project__in=projects),
            "made__project",
            ("finished_at", "asked_at"),
            ("made__name", "made__project__slug", "made"),
            lambda _pk, _name, slug, made: reverse("scoring:reference-show", args=[slug, made]),
            lambda _pk, name, *_rest: name,
        ),
    ]


def _of_managers(user: User, projects: Collection[int]) -> list[_FailureSource]:
    own = Q(project__in=projects) | Q(project=None, created_by=user)
    return [
        _FailureSource(
            "import",
            _("Import of %(name)s failed"),
            imports_for(user).filter(own, state=JobState.FAILED),
            "project",
            ("finished_at", "created_at"),
            ("source_name",),
            lambda pk, _name: reverse("images:import-show", args=[pk]),
            lambda _pk, name: name,
        ),
        _FailureSource(
            "release",
            _("Release %(name)s could not be made"),
            Release.objects.filter(state=JobState.FAILED, project__in=projects),
            "project",
            ("finished_at", "created_at"),
            ("number", "project__slug"),
            lambda _pk, number, slug: reverse("annotation:release-show", args=[slug, number]),
            lambda _pk, number, _slug: number,
        ),
        _FailureSource(
            "selection",
            _("Selection %(name)s failed"),
            Selection.objects.filter(state=JobState.FAILED, project__in=projects),
            "project",
            ("finished_at", "created_at"),
            ("name", "number", "project__slug"),
            lambda _pk, _name, number, slug: reverse("corpora:selection-show", args=[slug, number]),
            lambda _pk, name, *_rest: name,
        ),
    ]
