"""Start a selection, choose its images in the background, and confirm or discard the draft; one transaction each.

Whatever changes a selection locks its project first, as the audit log does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from core.images.models import Collection
from core.images.permissions import collections_in
from core.jobs.models import JobState
from core.jobs.services import leases
from core.jobs.services.leases import LeaseLostError
from core.languages.models import Language
from core.people.models import Project, User
from core.people.services import audit_log
from research.selection.models import CandidateList, SelectedImage, Selection
from research.selection.rules.levels import PlaceLevel
from research.selection.rules.selection import LEVELS, SelectedImages, choose, reserve_keys
from research.selection.rules.tables import Areas
from research.selection.selectors.candidates import is_complete
from research.selection.selectors.pools import ImagePool, areas_of, pool_of, source_of
from research.selection.selectors.tables import table_of
from research.selection.services.places import current_borders, locate_images
from research.selection.services.selected_collections import make_collections

Clock = Callable[[], datetime]

MAX_ATTEMPTS = 3
RESERVE = 50
"""Images kept in order for each language, to be suggested in exchange without reading all candidates again."""

AT_ONCE = 1000
MAX_SEED = 2**63 - 1
NAME_CHARACTERS = 120
MAX_PER_LANGUAGE = 100_000

log = logging.getLogger(__name__)


class SelectionRefusedError(Exception):
    """It cannot be done; the message says why and what to do."""


def start_selection(
    *,
    project: Project,
    source: Collection | CandidateList,
    languages: Iterable[Language],
    per_language: int,
    seed: int,
    levels: Iterable[PlaceLevel] = LEVELS,
    name: str = "",
    by: User | None,
    now: datetime,
) -> Selection:
    """Create a draft with the project's table of today; its images are chosen in the background.

    Raises
    ------
    SelectionRefusedError
    """
    tags, allowed = sorted({one.tag for one in languages}), set(levels)
    _check(project, source, tags, per_language, allowed)
    if len(name) > NAME_CHARACTERS:
        raise SelectionRefusedError(_("A name has at most %(limit)s characters.") % {"limit": NAME_CHARACTERS})
    table = table_of(project)
    with transaction.atomic():
        audit_log.lock(project, by)
        number = (Selection.objects.filter(project=project).aggregate(last=Max("number"))["last"] or 0) + 1
        selection = Selection.objects.create(
            project=project,
            number=number,
            name=name or _("Selection %(number)s") % {"number": number},
            source=None if isinstance(source, CandidateList) else source,
            candidates=source if isinstance(source, CandidateList) else None,
            languages=tags,
            levels=[str(level) for level in LEVELS if level in allowed],
            per_language=per_language,
            seed=seed,
            areas={tag: table.areas.get(tag, Areas()).as_lists() for tag in tags},
            table=table.version,
            created_at=now,
            created_by=by,
        )
        _record(selection, "started", by=by, now=now, **_settings(selection))
    return selection


def run_selection(*, selection_id: int, clock: Clock) -> None:
    """Choose the images of a draft, or choose them anew where a worker that died left it."""
    rows = Selection.objects.select_related("source", "candidates", "created_by", "project")
    selection = leases.claim(rows.filter(pk=selection_id), now=clock())
    if selection is None:
        return
    with leases.working_for(selection.created_by):
        if selection.attempts > MAX_ATTEMPTS:
            error = _("Choosing stopped %(count)s times.") % {"count": MAX_ATTEMPTS}
            leases.finish_row(selection, now=clock(), error=error)
            return
        try:
            _choose(selection, clock=clock)
        except (LeaseLostError, InterfaceError, OperationalError):
            raise
        except Exception as error:
            log.exception("Selection %s stopped.", selection.pk)
            reason = _("An error stopped it (%(error)s). For details, see the server log.")
            leases.finish_row(selection, now=clock(), error=reason % {"error": type(error).__name__})


def confirm_selection(*, selection: Selection, by_language: bool = False, by: User | None, now: datetime) -> Collection:
    """Make a collection of the images chosen and, if `by_language`, one more of the images of each language.

    Images of candidates are added when their files are imported into that collection.

    Raises
    ------
    SelectionRefusedError
    """
    with transaction.atomic():
        selection = locked_selection(selection, by)
        if selection.confirmed_at is not None:
            raise SelectionRefusedError(_("This selection has been confirmed already."))
        if selection.state != JobState.DONE:
            raise SelectionRefusedError(_("The images have not been chosen yet. Wait for the preview."))
        if not selection.selected_images.exists():
            raise SelectionRefusedError(_("No image was chosen. Discard the draft and start another one."))
        collection = make_collections(selection, by_language=by_language, by=by)
        selection.collection, selection.confirmed_at, selection.confirmed_by = collection, now, by
        selection.save(update_fields=["collection", "confirmed_at", "confirmed_by"])
        counts = {"images": selection.selected_images.count(), "by_language": by_language}
        _record(selection, "confirmed", by=by, now=now, collection=collection.slug, **counts)
    return collection


def discard_selection(*, selection: Selection, by: User | None, now: datetime) -> None:
    """Delete a draft.

    Raises
    ------
    SelectionRefusedError
        Where it has been confirmed.
    """
    with transaction.atomic():
        selection = locked_selection(selection, by)
        if selection.confirmed_at is not None:
            raise SelectionRefusedError(_("This selection has been confirmed. Only drafts can be discarded."))
        _record(selection, "discarded", by=by, now=now)
        selection.delete()


def locked_selection(selection: Selection, by: User | None) -> Selection:
    """Lock the project and return the selection as it is now. Call within a transaction.

    Raises
    ------
    SelectionRefusedError
        Where it was discarded.
    """
    audit_log.lock(selection.project, by)
    rows = Selection.objects.select_related("project", "source", "candidates", "collection")
    row = rows.select_for_update(of=("self",), no_key=True).filter(pk=selection.pk).first()
    if row is None:
        raise SelectionRefusedError(_("This selection has been discarded."))
    return row


def _check(
    project: Project, source: Collection | CandidateList, tags: list[str], per_language: int, levels: set[PlaceLevel]
) -> None:
    if isinstance(source, CandidateList):
        is_usable = source.project_id == project.pk
        if is_usable and not is_complete(source):
            raise SelectionRefusedError(
                _("The file of these candidates is still being read. Wait until that has finished.")
            )
    else:
        is_usable = collections_in(project).filter(pk=source.pk).exists()
    if not is_usable:
        raise SelectionRefusedError(_("This project may not use “%(name)s”.") % {"name": source})
    if not tags:
        raise SelectionRefusedError(_("Choose at least one language."))
    if not levels:
        raise SelectionRefusedError(_("Choose at least one level."))
    if per_language < 1:
        raise SelectionRefusedError(_("Choose at least one image per language."))
    if per_language > MAX_PER_LANGUAGE:
        text = _("Choose at most %(limit)s images per language.")
        raise SelectionRefusedError(text % {"limit": MAX_PER_LANGUAGE})


def _choose(selection: Selection, *, clock: Clock) -> None:
    def renew() -> None:
        selection.lease_until = leases.renewed_lease(selection, now=clock())

    source = source_of(selection)
    if isinstance(source, CandidateList):
        borders = source.borders
    else:
        locate_images(collection=source, after_each=renew)
        borders = current_borders().version
        renew()
    pool = pool_of(source, after_each=renew)
    areas, levels = areas_of(selection), [PlaceLevel(level) for level in selection.levels]
    asked: dict[str, Any] = {"areas": areas, "languages": selection.languages, "seed": selection.seed, "levels": levels}
    about: dict[str, Any] = {"keys": pool.keys, "places": pool.places, "distinct": pool.distinct, **asked}
    choice = choose(per_language=selection.per_language, **about)
    renew()
    reserve = reserve_keys(taken=[one.index for one in choice.images], at_most=RESERVE, **about)
    counts = _counts(choice, pool) | {"reserve": reserve}
    renew()
    with transaction.atomic():
        selection.selected_images.all().delete()
        SelectedImage.objects.bulk_create(_selected(selection, choice, pool), batch_size=AT_ONCE)
        if not leases.finish_row(selection, now=clock(), counts=counts, borders=borders):
            raise LeaseLostError(selection.pk)


def _selected(selection: Selection, choice: SelectedImages, pool: ImagePool) -> Iterator[SelectedImage]:
    name = "candidate_id" if selection.candidates_id else "image_id"
    for one in choice.images:
        place = pool.distinct[pool.places[one.index]]
        yield SelectedImage(
            selection=selection,
            language_id=one.language,
            level=one.level,
            position=one.position,
            key=one.key,
            countries=" ".join(place.countries),
            regions=" ".join(place.regions),
            continent=place.continent,
            **{name: pool.ids[one.index]},
        )


def _counts(choice: SelectedImages, pool: ImagePool) -> dict[str, Any]:
    return {
        "candidates": len(pool.keys),
        "left_out": dict(pool.left_out),
        "languages": {
            tag: {"pool": one.pool, "free": one.free, "chosen": one.chosen, "missing": one.missing}
            for tag, one in choice.languages.items()
        },
    }


def _settings(selection: Selection) -> Mapping[str, Any]:
    names = ("languages", "per_language", "seed", "levels", "table")
    return {name: getattr(selection, name) for name in names} | {"source": str(source_of(selection))}


def _record(selection: Selection, verb: str, *, by: User | None, now: datetime, **details: Any) -> None:
    about = f"selection {selection.number}"
    audit_log.record(
        project=selection.project, action=f"selection.{verb}", about=about, by=by, now=now, details=details
    )
