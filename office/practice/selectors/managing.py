"""Practice as managers see it, versions and how everybody did; and what is stored about one person, for themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Count, F, Q, QuerySet
from django.utils.translation import gettext as _

from core.images.models import CollectionImage
from core.images.permissions import collections_in
from core.people.models import Project, User
from core.people.personal_data import ExportPart
from office.practice.models import PracticeAnswer, PracticeAttempt, PracticeKind, PracticeSet
from office.practice.selectors.practising import images_in_work


def kind_rows(project: Project) -> list[dict[str, Any]]:
    """List kinds of work with their newest practice, how many examples it has, and how many people passed or failed."""
    sets = PracticeSet.objects.filter(project=project).order_by("version")
    newest = {one.kind: one for one in sets.annotate(size=Count("items", distinct=True))}
    counted = PracticeAttempt.objects.filter(practice__in=newest.values()).order_by().values("practice")
    counted = counted.annotate(
        passed_by=Count("person", filter=Q(passed=True), distinct=True),
        tried_by=Count("person", filter=Q(passed__isnull=False), distinct=True),
    )
    counts = {of: (passed, tried) for of, passed, tried in counted.values_list("practice", "passed_by", "tried_by")}
    rows = []
    for kind in PracticeKind:
        practice = newest.get(kind)
        passed, tried = counts.get(practice.pk, (0, 0)) if practice else (0, 0)
        rows.append({"kind": kind, "practice": practice, "passed": passed, "failed": tried - passed})
    return rows


def attempts_of(project: Project) -> QuerySet[PracticeAttempt]:
    """Select all tries, the newest first."""
    attempts = PracticeAttempt.objects.filter(practice__project=project)
    return (
        attempts.select_related("practice", "person", "language", "working_language")
        .annotate(answered=Count("answers"))
        .order_by("-pk")
    )


def entries_to_choose(project: Project, by: User) -> QuerySet[CollectionImage]:
    """Return images of collections that the project may use, without those that people work on in it."""
    entries = CollectionImage.objects.filter(collection__in=collections_in(project, by=by))
    return entries.exclude(image__in=images_in_work(project))


def data_export(person: User) -> Iterator[ExportPart]:
    rows = PracticeAnswer.objects.filter(attempt__person=person).order_by("pk")
    yield ExportPart(
        "practice",
        _("Your answers to practice examples."),
        rows.values(
            "answer",
            "is_right",
            "answered_at",
            project=F("attempt__practice__project__name"),
            kind=F("attempt__practice__kind"),
            version=F("attempt__practice__version"),
            example=F("item__position"),
            captions_in=F("attempt__language"),
            translation_revision=F("attempt__translation__revision"),
            message_to_managers=F("attempt__message"),
        ),
    )
