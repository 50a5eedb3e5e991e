"""Setting up a project and changing its rounds, one transaction each.

A round's tasks are made in the background: for 36 languages and 3,600 images that takes some ten seconds, during which
one transaction would keep everybody else on SQLite from writing. Callers nudge `tasks.fill_round` for what they make.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.utils.text import slugify
from django.utils.translation import gettext as _

from allocation import services as allocation
from allocation.models import Pool
from annotation import defaults
from annotation.models import Guidelines, Round, RoundKind
from annotation.services import figures
from annotation.services.rounds import create_round
from corpus.models import Collection
from inference.models import CaptioningModel
from languages.models import Language
from people.models import Project, User
from people.services import create_project as create_room

RESERVED_SLUGS = frozenset({"new"})
"""Second parts of addresses under /projects/ that are pages of their own."""


class Refused(Exception):
    """Something that may not be; says why and what to do."""


class LanguageThere(Refused):
    pass


@dataclass(frozen=True)
class NewRound:
    language: Language
    replication: int


@dataclass(frozen=True)
class RoundSettings:
    replication: int
    batch_size: int
    hold_s: int
    is_open: bool


def create_project(
    *,
    creator: User,
    name: str,
    collection: Collection,
    captioners: Sequence[CaptioningModel],
    languages: Iterable[NewRound],
    batch_size: int,
    hold_s: int,
    seed: int,
    description: str = "",
) -> Project:
    """Make a project with its guidelines and one round per language; `creator` manages it."""
    with transaction.atomic():
        slug = f"{slugify(name)}-project" if slugify(name) in RESERVED_SLUGS else ""
        project = create_room(name=name, manager=creator, description=description, slug=slug)
        Guidelines.objects.create(project=project, version=1, created_by=creator, **defaults.guidelines()._asdict())
        add_languages(
            project=project,
            collection=collection,
            captioners=captioners,
            languages=languages,
            batch_size=batch_size,
            hold_s=hold_s,
            seed=seed,
        )
    return project


def add_languages(
    *,
    project: Project,
    collection: Collection,
    captioners: Sequence[CaptioningModel],
    languages: Iterable[NewRound],
    batch_size: int,
    hold_s: int,
    seed: int,
) -> list[Round]:
    """Add a round for each of `languages`.

    Raises
    ------
    LanguageThere
        If the project has one of them already.
    """
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        taken = set(Round.objects.filter(project=project, kind=RoundKind.MAIN).values_list("language", flat=True))
        made = []
        for new in languages:
            if new.language.pk in taken:
                raise LanguageThere(
                    _("%(language)s is in this project already. Change its settings instead.")
                    % {"language": new.language.name}
                )
            made.append(
                create_round(
                    project=project,
                    language=new.language,
                    collection=collection,
                    captioners=captioners,
                    replication=new.replication,
                    batch_size=batch_size,
                    hold_s=hold_s,
                    seed=seed,
                    with_tasks=False,
                )
            )
    return made


def change_round(*, round: Round, settings: RoundSettings) -> int:
    """Change how a round is worked on; returns how many images have more places than the new replication.

    Nobody's place is taken away: an image with more captions, or people at it, than the new replication keeps them.
    """
    with transaction.atomic():
        # Background work that is adding tasks holds this row too, so none comes in at the old replication.
        round = Round.objects.select_for_update(no_key=True).get(pk=round.pk)
        Pool.objects.filter(pk=round.pool_id).update(
            batch_size=settings.batch_size, hold_s=settings.hold_s, is_open=settings.is_open
        )
        above = allocation.change_replication(pool=round.pool, replication=settings.replication)
        figures.places_changed(round=round)
    return above


def ask_for_missing_tasks(*, project: Project) -> list[int]:
    """Mark the rounds of a project to be looked through for images that got an English caption since."""
    with transaction.atomic():
        rounds = list(
            Round.objects.filter(project=project)
            .order_by("pk")
            .select_for_update(no_key=True)
            .values_list("pk", flat=True)
        )
        Round.objects.filter(pk__in=rounds).update(awaits_tasks=True)
    return rounds
