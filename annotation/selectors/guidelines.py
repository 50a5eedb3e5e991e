"""A project's guidelines as people read them: versions, examples, what changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Exists, Max, OuterRef, Q, QuerySet

from annotation.models import (
    Caption,
    CaptionBatch,
    GuidelineExample,
    Guidelines,
    Round,
    RoundKind,
    RoundState,
    VerificationBatch,
)
from core.images.models import CollectionImage
from core.people.models import Project, Role, TextKind, User
from core.people.selectors.texts import OriginalText, ShownText, shown_text
from research.inference.selectors import assigned_work


@dataclass(frozen=True)
class VisibleExamples:
    """The examples that somebody may see, and how many are hidden from them now."""

    shown: Sequence[GuidelineExample]
    kept_back: int


@dataclass(frozen=True)
class GuidelineNews:
    """What was published since the version of somebody's last batch: the notes, the oldest first."""

    seen: int
    version: int
    notes: Sequence[str]


def examples_for(guidelines: Guidelines, viewer: User) -> VisibleExamples:
    """Return the examples of a version, except those that would show `viewer` others' captions of their images.

    Those are images assigned to them, in any kind of work, and images that they may still be assigned to caption in the
    language of the example.
    """
    shown = list(_visible(guidelines, viewer).select_related("image", "language").order_by("position"))
    return VisibleExamples(shown, guidelines.examples.count() - len(shown))


def _visible(guidelines: Guidelines, viewer: User) -> QuerySet[GuidelineExample]:
    to_come = Round.objects.filter(
        _not_over(),
        project__memberships__user=viewer,
        project__memberships__role=Role.ANNOTATOR,
        language=OuterRef("language"),
        language__in=viewer.language_skills.values("language"),
        collection__entries__image=OuterRef("image"),
    ).exclude(Exists(Caption.objects.filter(round=OuterRef("pk"), image=OuterRef(OuterRef("image")), author=viewer)))
    examples = GuidelineExample.objects.filter(guidelines=guidelines)
    return examples.exclude(assigned_work.is_assigned(viewer, "image")).exclude(Exists(to_come))


def _not_over() -> Q:
    """Return rounds that may still assign images. A main round may be reopened whatever was decided."""
    undecided = (RoundState.PLANNED, RoundState.OPEN, RoundState.CLOSED)
    return Q(kind=RoundKind.PILOT, state__in=undecided) | (Q(kind=RoundKind.MAIN) & ~Q(state=RoundState.SKIPPED))


def news_for(annotator: User, rounds: Iterable[Round]) -> dict[int, GuidelineNews]:
    """Return by round what is new in the guidelines for somebody who worked in its project under an older version."""
    by_project: dict[int, list[Round]] = {}
    for round in rounds:
        by_project.setdefault(round.project_id, []).append(round)
    seen = _last_seen(annotator, by_project)
    news = {}
    for project, theirs in by_project.items():
        newest = max(round.guidelines.version for round in theirs)
        if newest <= seen.get(project, newest):
            continue
        notes = dict(
            Guidelines.objects.filter(project=project, version__gt=seen[project], version__lte=newest)
            .order_by("version")
            .values_list("version", "note")
        )
        for round in theirs:
            version = round.guidelines.version
            if version > seen[project]:
                said = [note for number, note in notes.items() if number <= version and note]
                news[round.pk] = GuidelineNews(seen[project], version, said)
    return news


def _last_seen(annotator: User, projects: Iterable[int]) -> dict[int, int]:
    """Return by project the newest version of the guidelines among a person's batches."""
    seen: dict[int, int] = {}
    for batches in (CaptionBatch.objects, VerificationBatch.objects):
        taken = batches.filter(lease__person=annotator, round__project__in=list(projects)).order_by()
        for project, version in taken.values_list("round__project").annotate(Max("guidelines__version")):
            seen[project] = max(seen.get(project, 0), version)
    return seen


def versions_of(project: Project) -> list[Guidelines]:
    """List versions, the newest first, without the long texts."""
    versions = Guidelines.objects.filter(project=project).defer("rating", "writing").select_related("created_by")
    return list(versions.order_by("-version"))


def rounds_to_change(project: Project) -> list[Round]:
    """Return rounds that assign images now, or may again, and can change to a new version of the guidelines."""
    states = (RoundState.OPEN, RoundState.CLOSED)
    rounds = Round.objects.filter(project=project, state__in=states).select_related("language", "verifies")
    return list(rounds.order_by("language__english_name", "language", "kind", "number"))


def entries_of_project(project: Project) -> QuerySet[CollectionImage]:
    """Return the entries of the project's collections, which examples are chosen from."""
    return CollectionImage.objects.filter(collection__in=project.rounds.values("collection"))


def newest_guidelines(project: Project, *, part: TextKind) -> OriginalText | None:
    """Return the newest version of `part`, rating or writing, for translators."""
    newest = Guidelines.objects.filter(project=project).order_by("version").last()
    return part_of(newest, part) if newest else None


def part_of(guidelines: Guidelines, part: TextKind) -> OriginalText:
    return OriginalText(guidelines.version, getattr(guidelines, part))


def shown_part(
    guidelines: Guidelines, part: TextKind, *, roles: Collection[str] | None, wants_original: bool = False
) -> ShownText:
    """Return rating or writing in the language of the page, as people with `roles` read it; all of it without them."""
    original = part_of(guidelines, part)
    return shown_text(guidelines.project, part, original, roles=roles, wants_original=wants_original)
