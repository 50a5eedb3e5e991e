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

from core.images.models import Collection, CollectionImage
from core.images.permissions import collections_in
from core.images.services.collections import copy_names, create_collection
from core.jobs.models import JobState
from core.jobs.services import leases
from core.jobs.services.leases import LeaseLostError
from core.languages.models import Language
from core.people.models import Project, User
from core.people.services import audit_log
from research.selection.models import CandidateList, LanguageCollection, SelectedImage, Selection
from research.selection.rules.selection import LEVELS, SelectedImages, choose, reserve_keys
from research.selection.rules.tables import Areas, PlaceLevel
from research.selection.selectors.pools import ImagePool, areas_of, is_complete, pool_of, source_of
from research.selection.selectors.selections import collections_of
from research.selection.selectors.tables import table_of
from research.selection.services.places import current_borders, locate_images

COLLECTION_NAME_CHARACTERS = Collection._meta.get_field("name").max_length or 0


def make_collections(selection: Selection, *, by_language: bool, by: User | None) -> Collection:
    """Make the collection of all images, which is returned, and if `by_language` one for each language with images.

    Call within the transaction that holds the lock of the selection.
    """
    source = source_of(selection)
    about = _("Chosen by place from %(source)s.") % {"source": source}
    whole = create_collection(name=selection.name, description=about, project=selection.project, by=by)
    CollectionImage.objects.bulk_create(_entries(selection, whole), batch_size=AT_ONCE)
    if selection.source is not None:
        copy_names(source=selection.source, to=whole)
    tags = selection.selected_images.order_by().values("language").distinct() if by_language else ()
    for language in Language.objects.filter(pk__in=tags):
        about = _("Chosen by place for %(language)s from %(source)s.") % {"language": language.name, "source": source}
        name = _name(selection, language)
        own = create_collection(name=name, description=about, project=selection.project, by=by)
        CollectionImage.objects.bulk_create(_entries(selection, own, language), batch_size=AT_ONCE)
        if selection.source is not None:
            copy_names(source=selection.source, to=own)
        LanguageCollection.objects.create(selection=selection, language=language, collection=own)
    return whole


def exchange_entries(selection: Selection, old: int | None, row: SelectedImage) -> None:
    """Put the new image where the old one was; a candidate's place stays empty until its file is imported.

    Call within the transaction that holds the lock of the selection.
    """
    source = CollectionImage.objects.filter(collection=selection.source_id, image=row.image_id)
    file_name = source.values_list("file_name", flat=True).first() or ""
    for collection in collections_of(selection, row.language_id):
        entry = CollectionImage.objects.filter(collection=collection, image=old).first() if old is not None else None
        if entry is None:
            continue
        entry.delete()
        if row.image_id is not None:
            CollectionImage.objects.create(
                collection=collection,
                image_id=row.image_id,
                key=row.key,
                file_name=file_name,
                position=entry.position,
            )


def _name(selection: Selection, language: Language) -> str:
    ending = f" – {language.name}"
    return selection.name[: COLLECTION_NAME_CHARACTERS - len(ending)] + ending


def _entries(
    selection: Selection, collection: Collection, language: Language | None = None
) -> Iterator[CollectionImage]:
    chosen = selection.selected_images.filter(image__isnull=False).select_related("image")
    chosen = chosen.filter(language=language) if language else chosen
    file_names = dict(
        CollectionImage.objects.filter(collection=selection.source_id).values_list("image", "file_name").iterator()
    )
    for position, one in enumerate(chosen.order_by("language", "position").iterator(AT_ONCE), start=1):
        yield CollectionImage(
            collection=collection,
            image=one.image,
            key=one.key,
            file_name=file_names.get(one.image_id or 0, ""),
            position=position,
        )


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

    Raises SelectionRefusedError.
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

    Raises SelectionRefusedError.
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

    Raises SelectionRefusedError where it has been confirmed.
    """
    with transaction.atomic():
        selection = locked_selection(selection, by)
        if selection.confirmed_at is not None:
            raise SelectionRefusedError(_("This selection has been confirmed. Only drafts can be discarded."))
        _record(selection, "discarded", by=by, now=now)
        selection.delete()


def locked_selection(selection: Selection, by: User | None) -> Selection:
    """Lock the project and return the selection as it is now. Call within a transaction.

    Raises SelectionRefusedError where it was discarded.
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
