"""Exchange the images of a selection, and recognise the files of chosen candidates when they are imported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial

from django.db import transaction
from django.utils.translation import gettext as _

from core.images.models import Collection, Image
from core.images.rules.image_checks import ImageRefusedError
from core.images.rules.manifests import ImageAttribution
from core.images.services.collections import put_in
from core.images.services.expected_images import ExpectedImage
from core.jobs.models import JobState
from core.people.models import User
from core.people.services import audit_log
from research.selection.models import Candidate, Exchange, SelectedImage, Selection
from research.selection.rules.selection import reserve_keys
from research.selection.rules.tables import PlaceLevel, level_of
from research.selection.selectors.pools import AvailableImage, areas_of, available, pool_of, source_of
from research.selection.selectors.selections import collections_of
from research.selection.selectors.usage import are_in_use
from research.selection.services.selections import RESERVE, SelectionRefusedError, exchange_entries, locked_selection


def exchange_image(
    *, selected: SelectedImage, reason: str, replacement: str = "", by: User | None, now: datetime
) -> SelectedImage:
    """Replace an image by the candidate with the key `replacement` or, if that is empty, by the next in order.

    The one removed never comes back into this selection.

    Raises SelectionRefusedError.
    """
    if not reason.strip():
        raise SelectionRefusedError(_("Enter a reason."))
    with transaction.atomic():
        selection = locked_selection(selected.selection, by)
        row = selection.selected_images.filter(key=selected.key, language=selected.language_id).first()
        _check(selection, row)
        assert row is not None
        new = _named(selection, replacement) if replacement else _next(selection, row.language_id)
        level = level_of(new.place, areas_of(selection)[row.language_id])
        if level not in selection.levels:
            raise SelectionRefusedError(
                _("“%(key)s” is of a level that this selection does not take images from.") % {"key": new.key}
            )
        Exchange.objects.create(
            selection=selection,
            language_id=row.language_id,
            removed=row.key,
            added=new.key,
            removed_level=row.level,
            added_level=level,
            reason=reason.strip(),
            at=now,
            by=by,
        )
        old, removed_level = row.image_id, row.level
        _fill(row, new, level)
        row.save(update_fields=["key", "level", "image", "candidate", "countries", "regions", "continent"])
        exchange_entries(selection, old, row)
        audit_log.record(
            project=selection.project,
            action="selection.image_exchanged",
            about=f"selection {selection.number}",
            by=by,
            now=now,
            details={
                "language": row.language_id,
                "removed": selected.key,
                "removed_level": removed_level,
                "added": new.key,
                "added_level": level,
                "reason": reason.strip(),
            },
        )
    return row


def suggestions(selection: Selection, language: str, *, at_most: int) -> list[AvailableImage]:
    """Return the images that `language` would get next, the best first."""
    found: list[AvailableImage] = []
    for one in _in_order(selection, language):
        found.append(one)
        if len(found) == at_most:
            break
    return found


def suggested_rows(selection: Selection, language: str, *, at_most: int) -> list[SelectedImage]:
    """Return the suggestions as rows that are not saved, with images and candidates loaded."""
    found = suggestions(selection, language, at_most=at_most)
    images = Image.objects.in_bulk([one.image_id for one in found if one.image_id])
    candidates = Candidate.objects.in_bulk([one.candidate_id for one in found if one.candidate_id])
    rows = []
    for one in found:
        row = SelectedImage(selection=selection, language_id=language, key=one.key)
        _fill(row, one, level_of(one.place, areas_of(selection)[language]))
        row.image, row.candidate = images.get(one.image_id or 0), candidates.get(one.candidate_id or 0)
        rows.append(row)
    return rows


def _check(selection: Selection, row: SelectedImage | None) -> None:
    if row is None:
        raise SelectionRefusedError(_("This image has been exchanged already. Reload the page."))
    if selection.state != JobState.DONE:
        raise SelectionRefusedError(_("The images have not been chosen yet. Wait for the preview."))
    if are_in_use(collections_of(selection, row.language_id)):
        raise SelectionRefusedError(_("A round with these images has been opened. They can no longer be exchanged."))


def _named(selection: Selection, key: str) -> AvailableImage:
    if selection.selected_images.filter(key=key).exists():
        raise SelectionRefusedError(_("“%(key)s” has been chosen already. Choose another image.") % {"key": key})
    if selection.exchanges.filter(removed=key).exists():
        raise SelectionRefusedError(_("“%(key)s” was removed and cannot come back.") % {"key": key})
    found = available(source_of(selection), key)
    if found is None:
        raise SelectionRefusedError(_("There is no image “%(key)s” with a place to choose from.") % {"key": key})
    return found


def _next(selection: Selection, language: str) -> AvailableImage:
    found = next(_in_order(selection, language), None)
    if found is None:
        raise SelectionRefusedError(_("No other image is left to choose from."))
    return found


def _in_order(selection: Selection, language: str) -> Iterator[AvailableImage]:
    """Yield what can still be chosen: from the reserve and, when that is used up, from all candidates."""
    source = source_of(selection)
    used = set(selection.selected_images.values_list("key", flat=True))
    used |= set(selection.exchanges.values_list("removed", flat=True))
    reserve = selection.counts.get("reserve", {}).get(language, [])
    yield from (one for key in reserve if key not in used and (one := available(source, key)))
    if len(reserve) < RESERVE:
        return
    pool = pool_of(source)
    seen = used.union(reserve)
    rest = reserve_keys(
        keys=pool.keys,
        places=pool.places,
        distinct=pool.distinct,
        areas=areas_of(selection),
        languages=[language],
        taken=[index for index, key in enumerate(pool.keys) if key in seen],
        at_most=RESERVE,
        seed=selection.seed,
        levels=[PlaceLevel(level) for level in selection.levels],
    )
    yield from (one for key in rest[language] if (one := available(source, key)))


def _fill(row: SelectedImage, new: AvailableImage, level: PlaceLevel) -> None:
    row.key, row.level, row.image_id, row.candidate_id = new.key, level, new.image_id, new.candidate_id
    row.countries, row.regions = " ".join(new.place.countries), " ".join(new.place.regions)
    row.continent = new.place.continent


MAX_SOURCE_CHARACTERS = 1000


def chosen_candidate(collection: Collection, keys: Sequence[str], address: str) -> ExpectedImage | None:
    """Find the candidate that was chosen for `collection` and has this address or, if none has, one of these keys.

    Locks the selection. Returns None if the collection is not one of chosen candidates.

    Raises ImageRefusedError where the candidate was not chosen or was exchanged.
    """
    selection = Selection.objects.filter(collection=collection, candidates__isnull=False).first()
    if selection is None:
        return None
    selection = locked_selection(selection, None)
    rows = selection.selected_images.select_related("candidate")
    named = sorted(rows.filter(key__in=keys), key=lambda row: len(row.key))
    row = rows.filter(candidate__address=address).first() or (named[-1] if named else None)
    if row is None or row.candidate is None:
        raise ImageRefusedError(
            _("The selection has no image with this key or address. Name the file as the key of one of its images.")
        )
    candidate = row.candidate
    return ExpectedImage(row.key, candidate.checksum, _attribution(candidate), partial(_take, selection, row))


def _take(selection: Selection, row: SelectedImage, image: Image, path: str, is_new: bool) -> None:
    same = selection.selected_images.filter(image=image).exclude(pk=row.pk).first()
    if same is not None:
        text = _("“%(key)s” is the same image as “%(other)s”. Exchange one of them.")
        raise ImageRefusedError(text % {"key": row.key, "other": same.key})
    row.image = image
    row.save(update_fields=["image"])
    for collection in collections_of(selection, row.language_id):
        if collection != selection.collection:
            put_in(collection, image, keys=[row.key], path=path, is_new=is_new)


def _attribution(candidate: Candidate) -> ImageAttribution:
    names = ("title", "author", "licence", "licence_url", "latitude", "longitude")
    source = candidate.address if len(candidate.address) <= MAX_SOURCE_CHARACTERS else ""
    return ImageAttribution(key=candidate.key, source=source, **{name: getattr(candidate, name) for name in names})
