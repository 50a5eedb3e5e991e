"""What can be exported of a project: tables, each with its columns and rows as of one moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.formats import captions
from annotation.models import Caption, CaptionState, Verdict
from annotation.selectors.caption_rows import captions_within
from core.allocation.models import AssignmentState
from core.images.models import CollectionImage
from core.images.rules.attributions import FIELDS
from core.languages.models import Language
from core.people.models import Project
from core.people.rules.pseudonyms import pseudonym
from gapgame.formats.turn_files import turn_rows
from gapgame.models import Season
from gapgame.selectors.turns import COLUMNS as TURN_COLUMNS
from office.dashboard.selectors.images import EVERY_IMAGE, ImageQuery, ImageRow, ProjectImages
from office.recruitment.pages import COLUMNS as TIME_COLUMNS
from office.recruitment.pages import named_rows
from office.recruitment.selectors.costs import cost_rows
from research.scoring.formats.scores import score_rows
from research.scoring.selectors.some_figures import OF_A_PAGE, ComputingBudget
from research.selection.rules.image_filters import ALL_IMAGES, ImageFilter
from sxs_eval.formats import judgement_export
from sxs_eval.models import Comparison
from tabular.downloads import as_iso, cells_of

ROWS_AT_ONCE = 2000
LANGUAGE, RELEASE = "language", "release"
IMAGE_FILTERS = ("find", "person", "state", "author", "licence", "source")
"""Of the table of images, besides languages."""


class ExportError(Exception):
    """What is asked for is not there, or cannot be written so; the message says what is."""


@dataclass(frozen=True)
class ExportWish:
    """What is exported: what there was at `until`, of some images, languages, people, one comparison or one season.

    Of releases, the one with a number; without one, the newest.
    """

    project: Project
    what: str
    format: str
    until: datetime
    images: ImageFilter = ALL_IMAGES
    languages: Sequence[str] = ()
    comparison: int | None = None
    season: str = ""
    release: str = ""
    name: str = ""
    """What names of people contain."""
    query: ImageQuery = EVERY_IMAGE
    """Which rows of the table of images, in `languages`."""
    budget: ComputingBudget = OF_A_PAGE


@dataclass(frozen=True)
class ExportTable:
    """Columns, and rows that are read as they are written."""

    columns: Sequence[str]
    rows: Iterable[Sequence[Any]]

    def records(self) -> Iterator[dict[str, Any]]:
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)


def table_of(wish: ExportWish) -> ExportTable:
    """Return a table of `TABLES`.

    Raises ExportError, ImageFilterError or SeasonNotClosedError before any row is read.
    """
    table = TABLES[wish.what](wish)
    if not wish.languages or wish.what in ("captions", "images"):
        return table
    at = table.columns.index(LANGUAGE)
    return ExportTable(table.columns, (row for row in table.rows if row[at] in wish.languages))


def check_filters(wish: ExportWish) -> None:
    """Raises ExportError: an option is given that what is exported does not have."""
    given = {
        "images": not wish.images.is_all,
        "language": bool(wish.languages),
        "comparison": wish.comparison is not None,
        "season": bool(wish.season),
        "release": bool(wish.release),
        "name": bool(wish.name),
        **{name: bool(getattr(wish.query, name)) for name in IMAGE_FILTERS},
    }
    for option, is_given in given.items():
        if is_given and wish.what not in FILTERS[option]:
            said = _("“%(option)s” cannot be used with %(what)s, only with: %(known)s.")
            raise ExportError(said % {"option": option, "what": wish.what, "known": ", ".join(FILTERS[option])})


def _captions(wish: ExportWish) -> ExportTable:
    rows = captions.caption_rows(wish.project, until=wish.until, images=wish.images, languages=wish.languages)
    return ExportTable(captions.COLUMNS, rows)


RATING_COLUMNS: Mapping[str, str] = {
    "image": "caption__image",
    "language": "caption__round__language_id",
    "author": "caption__author",
    "caption": "caption__text",
    "rater": "person",
    "rating": "rating",
    "guidelines_version": "batch__guidelines__version",
    "guidelines_language": "batch__guidelines_language",
    "guidelines_revision": "batch__rating_translation__revision",
    "rated_at": "rated_at",
    "rating_ms": "rating_ms",
}
"""Columns of reviewers' ratings, and where they are stored."""


def _ratings(wish: ExportWish) -> ExportTable:
    counted = Verdict.objects.filter(
        assignment__state=AssignmentState.DONE,
        batch__round__project=wish.project,
        batch__submitted_at__lte=wish.until,
        caption__state=CaptionState.COUNTED,
    )
    if not wish.images.is_all:
        languages = Language.objects.filter(pk__in=wish.project.rounds.values("language"))
        within = captions_within(wish.images, wish.project, set(languages))
        counted = counted.filter(caption__in=Caption.objects.filter(within, round__project=wish.project))
    return ExportTable(tuple(RATING_COLUMNS), _rating_rows(wish.project, counted))


def _rating_rows(project: Project, counted: QuerySet[Verdict]) -> Iterator[Sequence[Any]]:
    name_of = cache(partial(pseudonym, project))
    keys_of: dict[int, dict[int, str]] = {}
    stored = ("caption__round__collection", "caption__image__sha256", *RATING_COLUMNS.values())
    in_order = counted.order_by("caption__round", "caption__image", "caption", "pk")
    for collection, digest, image, tag, author, text, rater, *rest, rated, rating_ms in in_order.values_list(
        *stored
    ).iterator(chunk_size=ROWS_AT_ONCE):
        if collection not in keys_of:
            entries = CollectionImage.objects.filter(collection=collection)
            keys_of = {collection: dict(entries.values_list("image", "key"))}
        names = (None if author is None else name_of(author), text, name_of(rater))
        yield keys_of[collection].get(image, digest), tag, *names, *rest, as_iso(rated), rating_ms


MODEL_CAPTION_COLUMNS: Mapping[str, str] = {
    "sha256": "image__sha256",
    "language": "language",
    "model": "model__name",
    "caption": "text",
    "written_at": "created_at",
}
"""Columns of models' captions after the key of the image, and where they are stored."""


def _model_captions(wish: ExportWish) -> ExportTable:
    """Captions of the project's images by models that it may use, except those that are switched off."""
    images = ProjectImages(wish.project)
    return ExportTable(("image", *MODEL_CAPTION_COLUMNS), _model_caption_rows(images, wish.languages))


def _model_caption_rows(images: ProjectImages, languages: Sequence[str]) -> Iterator[Sequence[Any]]:
    in_order = images.entries.order_by("-collection", "-position").values_list("image", "key")
    # Of an image in several collections the key in the first comes last, and so wins.
    keys = dict(in_order.iterator(chunk_size=ROWS_AT_ONCE))
    captions = images.model_captions.filter(language__in=languages) if languages else images.model_captions
    rows = captions.order_by("model__name", "model", "language", "image").values_list(
        "image", *MODEL_CAPTION_COLUMNS.values()
    )
    for image, *rest, written in rows.iterator(chunk_size=ROWS_AT_ONCE):
        yield keys[image], *rest, as_iso(written)


def _judgements(wish: ExportWish) -> ExportTable:
    rows = judgement_export.judgement_rows(comparisons_of(wish), until=wish.until, images=wish.images)
    return ExportTable(tuple(judgement_export.COLUMNS), (tuple(row.values()) for row in rows))


def comparisons_of(wish: ExportWish) -> list[Comparison]:
    """Return the comparison asked for, or all that count in results."""
    comparisons = Comparison.objects.filter(project=wish.project).order_by("pk")
    comparisons = comparisons.select_related("project", "language", "pool", "base", "test", "collection")
    if wish.comparison is None:
        wanted = comparisons.in_results()
        return list(wanted.filter(language__in=wish.languages) if wish.languages else wanted)
    chosen = list(comparisons.filter(pk=wish.comparison))
    if not chosen:
        listed = (f"{one.pk} ({one.test} against {one.base}, {one.language_id})" for one in comparisons)
        known = ", ".join(listed) or _("none yet")
        about = {"project": wish.project.slug, "comparison": wish.comparison, "known": known}
        raise ExportError(_("Project '%(project)s' has no comparison %(comparison)s. Available: %(known)s.") % about)
    return chosen


def _scores(wish: ExportWish, *, has_images: bool) -> ExportTable:
    columns, rows = score_rows(wish.project, wish.images, has_images=has_images, budget=wish.budget)
    return ExportTable(columns, (tuple(row.values()) for row in rows))


def _turns(wish: ExportWish) -> ExportTable:
    seasons = Season.objects.filter(project=wish.project).select_related("project", "item_set").order_by("slug")
    season = seasons.filter(slug=wish.season).first()
    if season is None:
        known = ", ".join(seasons.values_list("slug", flat=True)) or _("none yet")
        asked = _("There is no season '%(season)s'.") % {"season": wish.season}
        said = asked if wish.season else _("Choose a season.")
        raise ExportError(said + " " + _("Available: %(known)s.") % {"known": known})
    return ExportTable(TURN_COLUMNS, (tuple(row.values()) for row in turn_rows(season)))


def _time(wish: ExportWish) -> ExportTable:
    rows = cells_of(TIME_COLUMNS, named_rows(cost_rows(wish.project), wish.name))
    return ExportTable(tuple(TIME_COLUMNS), (tuple(row.values()) for row in rows))


OF_IMAGE = ("sha256", "width", "height", *FIELDS)
IMAGE_COLUMNS = (
    *("key", "collection", *OF_IMAGE),
    *("languages", "captions", "people", "english_levels", "levels", "models", "comparisons", "judgements"),
)


def _images(wish: ExportWish) -> ExportTable:
    """The table on the page Images, with people under pseudonyms."""
    images = ProjectImages(wish.project)
    rows = images.found(replace(wish.query, languages=wish.languages))
    return ExportTable(IMAGE_COLUMNS, _image_rows(images, rows))


def _image_rows(images: ProjectImages, rows: Sequence[ImageRow]) -> Iterator[Sequence[Any]]:
    name_of = cache(partial(pseudonym, images.project))
    for start in range(0, len(rows), ROWS_AT_ONCE):
        some = [replace(row) for row in rows[start : start + ROWS_AT_ONCE]]
        images.fill(some)
        for row in some:
            entry, work = row.entry, row.work
            assert entry is not None
            people = sorted(name_of(person) for person in work.people if person is not None)
            levels = ([*Counter(given).elements()] for given in (work.english_levels, work.levels))
            yield (
                *(row.key, entry.collection.slug, *(getattr(entry.image, name) for name in OF_IMAGE)),
                *(sorted(work.captions), row.captions, people, *levels, work.models, row.comparisons, work.judgements),
            )


TABLES: Mapping[str, Callable[[ExportWish], ExportTable]] = {
    "captions": _captions,
    "ratings": _ratings,
    "model-captions": _model_captions,
    "judgements": _judgements,
    "scores": partial(_scores, has_images=False),
    "image-scores": partial(_scores, has_images=True),
    "turns": _turns,
    "time": _time,
    "images": _images,
}
_OF_IMAGES = ("captions", "ratings", "judgements", "scores", "image-scores")
FILTERS = {
    "images": _OF_IMAGES,
    "language": (*_OF_IMAGES, "model-captions", "turns", "time", "images"),
    "comparison": ("judgements",),
    "season": ("turns",),
    "release": (RELEASE,),
    "name": ("time",),
    **dict.fromkeys(IMAGE_FILTERS, ("images",)),
}
"""What each option can narrow."""
