"""Projects: making and changing them, and their guidelines, version after version, of which none is ever edited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Unpack

from django.db import transaction
from django.utils.text import slugify
from django.utils.translation import gettext as _

from annotation.models import DECIDED, GuidelineExample, Guidelines, Round, RoundKind, RoundState
from annotation.services import figures
from annotation.services.campaign import LanguageBeginning, LanguageSettings, begin_language, record_of_round
from core.allocation.models import Pool
from core.allocation.services.lifecycle import change_replication
from core.images.models import Collection
from core.images.services.collections import give_collection
from core.languages.models import Language
from core.people.defaults import default_text
from core.people.models import Project, TextKind, User
from core.people.rules.consent_parts import checked_parts
from core.people.services import audit_log
from core.people.services.members import create_project as create_room
from core.people.services.members import give_beginnings
from core.people.services.ownership import change_owner
from research.inference.models import CaptioningModel, Run

RESERVED_SLUGS = frozenset({"new"})
"""Slugs under /projects/ that are taken by pages."""


class ProjectSetupError(Exception):
    """The change is not allowed; the message says why and what to do."""


class LanguageAlreadyAddedError(ProjectSetupError):
    pass


@dataclass(frozen=True)
class NewRound:
    language: Language
    replication: int


@dataclass(frozen=True)
class RoundSettings:
    """The settings of a round. `is_open` is used while the round is open; `sample_size` before it is opened."""

    replication: int
    batch_size: int
    lease_s: int
    is_open: bool
    needs_qualification: bool = False
    sample_size: int | None = None


def create_project(
    *,
    creator: User,
    name: str,
    languages: Iterable[NewRound],
    beginning: LanguageBeginning,
    now: datetime,
    description: str = "",
    slug: str = "",
    **settings: Unpack[LanguageSettings],
) -> Project:
    """Make a project with its guidelines and the rounds of its languages; `creator` manages it.

    Without a `slug`, it is made from `name`; one that is taken gets a number.
    """
    with transaction.atomic():
        project = create_empty_project(creator=creator, name=name, now=now, description=description, slug=slug)
        collection, captioners = settings["collection"], settings["captioners"]
        take_over(project=project, collection=collection, captioners=captioners, by=creator, now=now)
        add_languages(project=project, languages=languages, beginning=beginning, by=creator, now=now, **settings)
    return project


def create_empty_project(
    *, creator: User, name: str, now: datetime, description: str = "", slug: str = "", has_beginnings: bool = True
) -> Project:
    """Make a project with its guidelines, into which images and captions can be imported; `creator` manages it.

    Without `has_beginnings` it lacks what apps above give new projects, such as practice.
    """
    with transaction.atomic():
        slug = slug or slugify(name)
        if slug in RESERVED_SLUGS:
            slug = f"{slug}-project"
        project = create_room(name=name, manager=creator, description=description, slug=slug)
        parts = {part.value: default_text(part) for part in (TextKind.RATING, TextKind.WRITING)}
        Guidelines.objects.create(project=project, version=1, created_by=creator, **parts)
        if has_beginnings:
            give_beginnings(project=project, by=creator, now=now)
        audit_log.record(project=project, action="project.created", about=project.slug, by=creator, now=now)
    return project


def take_over(
    *, project: Project, collection: Collection, captioners: Sequence[CaptioningModel], by: User, now: datetime
) -> None:
    """Give the project the collection and models that it starts with, if no project owns them yet."""
    models = {model.pk: model for one in captioners for model in one.family()}
    parts = {part for model in models.values() for part in (model.english_model, model.translator) if part is not None}
    if collection.project_id is None and not collection.is_shared:
        give_collection(collection=collection, project=project, is_shared=False, by=by, now=now)
    for thing in (*parts, *models.values()):
        if thing.project_id is None and not thing.is_shared:
            change_owner(things=[thing], project=project, is_shared=False, by=by, now=now)
    runs = Run.objects.filter(collection=collection, model__in=models, trial_image=None)
    runs.filter(project=None, is_shared=False).update(project=project)


def add_languages(
    *,
    project: Project,
    languages: Iterable[NewRound],
    beginning: LanguageBeginning,
    by: User,
    now: datetime,
    **settings: Unpack[LanguageSettings],
) -> list[Round]:
    """Set up the rounds of each of `languages`; return those that are open, one per language.

    Raises LanguageAlreadyAddedError if the project has one of them already.
    """
    with transaction.atomic():
        audit_log.lock(project, by)
        taken = set(Round.objects.filter(project=project).values_list("language", flat=True))
        opened = []
        for new in languages:
            if new.language.pk in taken:
                raise LanguageAlreadyAddedError(
                    _("%(language)s is already in this project. Change its settings instead.")
                    % {"language": new.language.name}
                )
            opened.append(
                begin_language(
                    project=project,
                    language=new.language,
                    replication=new.replication,
                    beginning=beginning,
                    by=by,
                    now=now,
                    **settings,
                )
            )
    return opened


def change_round(*, round: Round, settings: RoundSettings, by: User, now: datetime) -> int:
    """Change the settings of a round; return how many images keep more places than a replication that is new.

    Nobody loses a place: an image with more captions or open assignments than the new replication keeps them.
    """
    with transaction.atomic():
        return change_locked(round=lock_to_change(round), settings=settings, by=by, now=now)


def lock_to_change(round: Round) -> Round:
    """Lock and read a round; background work that is adding tasks does too, so none is added with old settings."""
    rounds = Round.objects.select_related("pool", "project", "language", "verifies")
    return rounds.select_for_update(no_key=True, of=("self",)).get(pk=round.pk)


def change_locked(*, round: Round, settings: RoundSettings, by: User, now: datetime) -> int:
    """Do what `change_round` does, within a transaction that got `round` from `lock_to_change`."""
    before = settings_of(round)
    is_open = settings.is_open and round.state == RoundState.OPEN
    Pool.objects.filter(pk=round.pool_id).update(
        batch_size=settings.batch_size, lease_s=settings.lease_s, is_open=is_open
    )
    round.needs_qualification = settings.needs_qualification
    if round.state == RoundState.PLANNED and round.kind != RoundKind.MAIN:
        round.sample_size = settings.sample_size
    round.save(update_fields=["needs_qualification", "sample_size"])
    above = 0
    # Other settings touch no task, of which there are thousands.
    if settings.replication != before.replication:
        above = change_replication(pool=round.pool, replication=settings.replication)
        figures.places_changed(round=round)
    record_of_round(round, "changed", by=by, now=now, before=asdict(before), after=asdict(settings))
    return above


def settings_of(round: Round) -> RoundSettings:
    return RoundSettings(
        replication=round.pool.replication,
        batch_size=round.pool.batch_size,
        lease_s=round.pool.lease_s,
        is_open=round.pool.is_open,
        needs_qualification=round.needs_qualification,
        sample_size=round.sample_size,
    )


def changed_settings(round: Round, changes: Mapping[str, Any]) -> tuple[RoundSettings, str]:
    """Return the settings of a round after `changes` of some of them, and why that is not possible, if it is not."""
    before = settings_of(round)
    after = replace(before, **changes)
    if round.state != RoundState.OPEN:
        if set(changes) == {"is_open"}:
            return before, _("Only an open round can be paused or resumed.")
        after = replace(after, is_open=before.is_open)
    return after, _("It has these settings already.") if after == before else ""


def ask_for_missing_tasks(*, project: Project, by: User, now: datetime) -> list[int]:
    """Mark the open rounds of a project to be checked for images that got an English caption since."""
    with transaction.atomic():
        rounds = list(
            Round.objects.filter(project=project, state=RoundState.OPEN)
            .order_by("pk")
            .select_for_update(no_key=True)
            .values_list("pk", flat=True)
        )
        Round.objects.filter(pk__in=rounds).update(awaits_tasks=True)
        audit_log.record(project=project, action="tasks.asked-for", about=project.slug, by=by, now=now)
    return rounds


class StaleGuidelinesError(Exception):
    """Somebody else published a version after the one that this one was edited from."""


def publish_guidelines(
    *,
    project: Project,
    rating: str,
    writing: str,
    note: str = "",
    examples: Sequence[GuidelineExample] = (),
    rounds: Iterable[int] | None = None,
    after: int | None = None,
    by: User,
    now: datetime,
) -> Guidelines:
    """Publish the next version; new batches show it, and unfinished batches keep theirs.

    - `examples`: not stored yet, in their order.
    - `rounds`: rounds that change to it, of those that are not decided; all of them where None.
    - `after`: the version that it was made from.

    Raises StaleGuidelinesError: `after` is not the newest version. Raises PartsError.
    """
    for text in (rating, writing):
        checked_parts(text)
    with transaction.atomic():
        undecided = Round.objects.filter(project=project).exclude(state__in=DECIDED)
        if rounds is not None:
            undecided = undecided.filter(pk__in=rounds)
        changing = list(undecided.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
        audit_log.lock(project, by)
        last = Guidelines.objects.filter(project=project).latest("version")
        if after is not None and last.version != after:
            raise StaleGuidelinesError(
                _("Version %(version)d was published in the meantime. Check what it changed, then publish again.")
                % {"version": last.version}
            )
        made = Guidelines.objects.create(
            project=project, version=last.version + 1, rating=rating, writing=writing, note=note, created_by=by
        )
        for position, example in enumerate(examples, start=1):
            example.guidelines, example.position = made, position
        GuidelineExample.objects.bulk_create(examples)
        Round.objects.filter(pk__in=changing).update(guidelines=made)
        details = {"rounds": len(changing), "examples": len(examples)}
        audit_log.record(
            project=project,
            action="guidelines.published",
            about=f"version {made.version}",
            by=by,
            now=now,
            details=details,
        )
    return made
