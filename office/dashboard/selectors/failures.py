"""Background work that failed and that somebody may see, project by project."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
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
    """Rows of one kind, and paths from them: to their project, the arguments of `page`, a title, and the request.

    The first title that is not empty stands in `text`.
    """

    name: str
    text: Promise
    rows: QuerySet[Any]
    page: str
    arguments: Sequence[str] = ("pk",)
    titles: Sequence[str] = ("name",)
    project: str = "project"
    asked: str = "created_at"


def failures(
    user: User, *, managed: Collection[int], researched: Collection[int], now: datetime
) -> Iterator[tuple[int | None, Need]]:
    """Yield what failed lately in projects that `user` manages or does research in, one query for each kind."""
    dismissed = set(DismissedNeed.objects.filter(person=user).values_list("about", flat=True))
    since = now - FAILED_WITHIN
    for source in (*_of_researchers(user, researched), *_of_managers(user, managed)):
        rows = source.rows.annotate(failed_at=Coalesce("finished_at", source.asked)).filter(failed_at__gte=since)
        for row in rows.order_by("-failed_at").values(
            *{"pk", "failed_at", source.project, *source.arguments, *source.titles}
        ):
            about = f"{source.name}:{row['pk']}"
            if about not in dismissed:
                text = str(source.text) % {"name": next(filter(None, (row[title] for title in source.titles)))}
                url = reverse(source.page, args=[row[argument] for argument in source.arguments])
                yield row[source.project], Need(NeedKind.FAILURE, text, url, at=row["failed_at"], about=about)


def _of_researchers(user: User, projects: Collection[int]) -> list[_FailureSource]:
    failed = Q(project__in=projects) | Q(project=None, created_by=user), Q(state=RunState.FAILED)
    later = Pass.objects.filter(scoring=OuterRef("scoring"), pk__gt=OuterRef("pk"))
    return [
        _FailureSource(
            "run",
            _("Run of %(name)s failed"),
            runs_for(user).filter(*failed, trial_image=None),
            "inference:run-show",
            titles=("model__name", "encoder__name"),
        ),
        _FailureSource(
            "training",
            _("Training of %(name)s failed"),
            trainings_for(user).filter(*failed),
            "inference:training-show",
        ),
        _FailureSource(
            "pass",
            _("Scores of %(name)s were not computed"),
            Pass.objects.filter(~Exists(later), state=JobState.FAILED, scoring__project__in=projects),
            "scoring:scoring-show",
            ("scoring__project__slug", "scoring"),
            ("scoring__model__name",),
            "scoring__project",
            "asked_at",
        ),
        _FailureSource(
            "translation",
            _("Translation of the references %(name)s failed"),
            ReferenceTranslation.objects.filter(state=JobState.FAILED, made__project__in=projects),
            "scoring:reference-show",
            ("made__project__slug", "made"),
            ("made__name",),
            "made__project",
            "asked_at",
        ),
    ]


def _of_managers(user: User, projects: Collection[int]) -> list[_FailureSource]:
    own = Q(project__in=projects) | Q(project=None, created_by=user)
    return [
        _FailureSource(
            "import",
            _("Import of %(name)s failed"),
            imports_for(user).filter(own, state=JobState.FAILED),
            "images:import-show",
            titles=("source_name",),
        ),
        _FailureSource(
            "release",
            _("Release %(name)s could not be made"),
            Release.objects.filter(state=JobState.FAILED, project__in=projects),
            "annotation:release-show",
            ("project__slug", "number"),
            ("number",),
        ),
        _FailureSource(
            "selection",
            _("Selection %(name)s failed"),
            Selection.objects.filter(state=JobState.FAILED, project__in=projects),
            "corpora:selection-show",
            ("project__slug", "number"),
        ),
    ]
