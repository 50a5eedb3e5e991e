"""How far the setup of a project is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet

from annotation.models import Guidelines, Release, RoundKind, RoundState
from annotation.selectors.overview import ProjectProgress, RoundProgress, project_progress
from core.images.models import Collection, CollectionImage
from core.images.selectors.attributions import lacks_author, lacks_licence
from core.jobs.models import JobState
from core.languages.rules.registry import ENGLISH
from core.people.models import Project, Role, TextKind
from core.people.pages import address
from core.people.selectors.texts import has_gaps, is_default, newest_consent_text
from office.dashboard.rules.setup import LanguageFacts, ProjectFacts, ProjectStep, SetupStep, next_step, setup_steps
from research.inference.models import ModelCaption

OVER = (RoundState.CLOSED, RoundState.ACCEPTED)
PASSED = (RoundState.ACCEPTED, RoundState.SKIPPED)


@dataclass(frozen=True)
class LinkedStep:
    """A step with the address where it is done, and those of its languages."""

    step: SetupStep
    url: str
    is_next: bool
    languages: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class ProjectSetup:
    steps: Sequence[LinkedStep]

    @property
    def done(self) -> int:
        return sum(one.step.is_done for one in self.steps)

    @property
    def next(self) -> LinkedStep | None:
        return next((one for one in self.steps if one.is_next), None)


def is_released(project: Project) -> bool:
    return Release.objects.filter(project=project, state=JobState.DONE).exists()


def setup_of(
    project: Project, *, released: bool, now: datetime, progress: ProjectProgress | None = None
) -> ProjectSetup:
    """Describe the setup of a project; `progress` where the page has it already."""
    progress = progress or project_progress(project, now=now)
    own = Collection.objects.filter(project=project).order_by("-created_at", "-pk").values_list("pk", flat=True)
    collections = {row.round.collection_id for row in progress.rounds} or set(own[:1])
    counts = _images_in(CollectionImage.objects.filter(collection__in=collections))
    collection = counts.pop("collection") or ""
    facts = ProjectFacts(
        **counts,
        has_collection=bool(collections),
        without_english=progress.left_out if progress.rounds else _without_english(collections),
        has_consent_gaps=has_gaps(newest_consent_text(project)),
        has_default_guidelines=_has_default_guidelines(project),
        languages=_languages(progress.rounds),
        is_released=released,
    )
    return _linked(setup_steps(facts), project=project, collection=collection, facts=facts)


def _without_english(collections: Iterable[int]) -> int:
    described = ModelCaption.objects.in_use().filter(language=ENGLISH, image=OuterRef("image"))
    return CollectionImage.objects.filter(~Exists(described), collection__in=collections).count()


def _images_in(entries: QuerySet[CollectionImage]) -> dict[str, Any]:
    def count(condition: Q | None = None) -> Count:
        return Count("image", distinct=True, filter=condition)

    return dict(
        entries.aggregate(
            images=count(),
            unlicensed=count(lacks_licence("image__")),
            unauthored=count(lacks_author("image__")),
            collection=Min("collection__slug"),
        )
    )


def _has_default_guidelines(project: Project) -> bool:
    newest = Guidelines.objects.filter(project=project).order_by("-version").first()
    parts = (TextKind.RATING, TextKind.WRITING)
    return newest is None or all(is_default(part, getattr(newest, part)) for part in parts)


def _languages(rows: Iterable[RoundProgress]) -> list[LanguageFacts]:
    by_language: dict[str, list[RoundProgress]] = defaultdict(list)
    for row in rows:
        by_language[row.round.language_id].append(row)
    return [_language(of_one) for of_one in by_language.values()]


def _language(rows: Sequence[RoundProgress]) -> LanguageFacts:
    """Summarise the rounds of one language, which are in the order of its campaign."""
    pilots = [row.round for row in rows if row.round.kind == RoundKind.PILOT]
    mains = [row for row in rows if row.round.kind == RoundKind.MAIN]
    main = mains[-1] if mains else rows[-1]
    ratings = [row.round for row in rows if row.round.kind == RoundKind.VERIFICATION]
    of_main = [one for one in ratings if one.verifies_id == main.round.pk]
    is_begun = main.round.state != RoundState.PLANNED
    last = pilots[-1].state if pilots else RoundState.SKIPPED
    return LanguageFacts(
        tag=main.round.language_id,
        name=main.round.language.name,
        needed=0 if main.round.source else main.round.pool.replication,
        able=main.able,
        invited=main.invited,
        is_pilot_open=last == RoundState.OPEN,
        is_pilot_written=is_begun or last in (RoundState.CLOSED, *PASSED),
        is_pilot_decided=is_begun or last in PASSED,
        is_main_open=bool(mains) and main.round.state == RoundState.OPEN,
        is_main_closed=bool(mains) and main.round.state in OVER,
        is_verification_open=any(one.state == RoundState.OPEN for one in of_main),
        is_verified=any(one.state in (*OVER, RoundState.SKIPPED) for one in of_main),
    )


def _linked(steps: Sequence[SetupStep], *, project: Project, collection: str, facts: ProjectFacts) -> ProjectSetup:
    following = next_step(steps)
    return ProjectSetup(
        [
            LinkedStep(
                step=step,
                url=_url_of(step, project, collection, facts),
                is_next=step is following,
                languages=[(one.name, _page_of(project, one)) for one in step.languages]
                if step.step != ProjectStep.PEOPLE
                else [],
            )
            for step in steps
        ]
    )


def _page_of(project: Project, language: LanguageFacts) -> str:
    return address("annotation:language-show", project.slug, language.tag)


def _url_of(step: SetupStep, project: Project, collection: str, facts: ProjectFacts) -> str:
    """Return where a step is done; of one in a single language, the page of that language."""
    if step.step == ProjectStep.IMAGES and collection:
        return _url_of_images(collection, facts)
    if step.step in (ProjectStep.IMAGES, ProjectStep.ENGLISH):
        return address("imports:import-create", project.slug)
    if step.step in OF_LANGUAGES and len(step.languages) == 1:
        return _page_of(project, step.languages[0])
    page = address(PAGES[step.step], project.slug)
    if step.step == ProjectStep.PEOPLE:
        asked = [("role", Role.ANNOTATOR.value), *(("language", one.tag) for one in step.languages)]
        return f"{page}?{urlencode(asked)}"
    return page


def _url_of_images(collection: str, facts: ProjectFacts) -> str:
    page = address("images:collection-show", collection)
    if facts.unlicensed:
        return f"{page}?licence=none"
    return f"{page}?licence=no-author" if facts.unauthored else page


OF_LANGUAGES = (ProjectStep.PILOT, ProjectStep.ACCEPT, ProjectStep.MAIN, ProjectStep.VERIFICATION)
PAGES = {
    ProjectStep.CONSENT: "people:consent-publish",
    ProjectStep.GUIDELINES: "annotation:guidelines-edit",
    ProjectStep.LANGUAGES: "annotation:language-add",
    ProjectStep.PEOPLE: "people:invitation-create",
    ProjectStep.RELEASE: "annotation:release-create",
    **dict.fromkeys(OF_LANGUAGES, "annotation:project-show"),
}
