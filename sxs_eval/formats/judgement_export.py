"""All judgements of a project's comparisons as files: one image after the other, in constant memory.

Order: comparisons by number, images by their position in the collection, raters by pseudonym, then by time; so the same
judgements give the same bytes whatever database they are in. What was judged up to one moment is exported, hence a file
is whole even where people judge while it is being written. What does not count is there too, and says why; save what
people took back when they withdrew their consent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from django.db.models import F, Q, QuerySet, TextChoices
from django.utils.translation import gettext_lazy as _

from crosslens_metrics.gains import LEVELS
from images.models import CollectionImage, Image
from images.selectors import keys_in_order
from people.models import Project
from people.rules.pseudonyms import pseudonym
from sxs_eval.models import Comparison, GoldPair, Judgement, Kind, Pair, RaterState
from sxs_eval.selectors.results import REGION, stopped_raters
from tabular.downloads import JSON_LINES_TYPE, as_iso, in_pieces, stamp, write_whole
from tabular.spreadsheets import BYTE_ORDER_MARK, CSV_TYPE, csv_line

IMAGES_AT_ONCE = 200
COLUMNS = (
    "comparison",
    "project",
    "language",
    "image",
    "region",
    "base_model",
    "test_model",
    "base_caption",
    "test_caption",
    "kind",
    "left_is",
    "choice",
    "choice_level",
    "score",
    "level",
    "rater",
    "comment",
    "batch_taken_at",
    "judged_at",
    "seconds",
    "counts",
    "why_not",
    "instructions_version",
    "scale",
    "batch",
    "position",
)
CHOICE_LEVELS = {
    3: "left much better",
    2: "left better",
    1: "left slightly better",
    0: "similar",
    -1: "right slightly better",
    -2: "right better",
    -3: "right much better",
}
NUMBERS = ("choice", "seconds", "instructions_version", "position")
"""Columns that hold null, not an empty text, where nothing is known."""
EQUAL = "equal"
"""The kind of a row that nobody judged."""
WHY_NOT = {"excluded": "excluded", "paused": "paused"}


class Layout(TextChoices):
    JSONL = "jsonl", _("one row per judgement (JSON Lines)")
    CSV = "csv", _("one row per judgement (CSV)")

    @property
    def content_type(self) -> str:
        return CSV_TYPE if self is Layout.CSV else JSON_LINES_TYPE


def file_name(project: Project, comparisons: Sequence[Comparison], layout: Layout, until: datetime) -> str:
    which = f"-{comparisons[0].pk}" if len(comparisons) == 1 else ""
    return f"{project.slug}-judgements{which}-{stamp(until)}.{layout}"


def export_judgements(comparisons: Sequence[Comparison], layout: Layout, *, until: datetime) -> Iterator[bytes]:
    """The file, piece by piece: all that was judged up to and including `until`."""
    rows = _rows(sorted(comparisons, key=lambda comparison: comparison.pk), until)
    return in_pieces(_as_csv(rows) if layout is Layout.CSV else _as_jsonl(rows))


def export_to_file(comparisons: Sequence[Comparison], layout: Layout, path: Path, *, until: datetime) -> None:
    write_whole(path, export_judgements(comparisons, layout, until=until))


def _as_jsonl(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"


def _as_csv(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    yield BYTE_ORDER_MARK + csv_line(COLUMNS)
    for row in rows:
        yield csv_line(str(cell).lower() if isinstance(cell, bool) else cell for cell in row.values())


def _rows(comparisons: Sequence[Comparison], until: datetime) -> Iterator[dict[str, Any]]:
    # Who is set aside is read before anything else, so that all of a file is of one moment.
    stopped = {comparison.pk: stopped_raters(comparison.pk) for comparison in comparisons}
    for comparison in comparisons:
        row_of = partial(
            _row, comparison, stopped=stopped[comparison.pk], name_of=cache(partial(pseudonym, comparison.project))
        )
        for keys in _keys(comparison):
            rows = [
                row_of(answer, keys[answer["shown"]])
                for answer in _answers(comparison, keys, until)
                if stopped[comparison.pk].get(answer["person"]) != RaterState.WITHDRAWN
            ]
            rows += [_unseen_row(comparison, pair, keys[pair.image_id]) for pair in _unseen(comparison, keys)]
            place = {key: number for number, key in enumerate(keys.values())}
            # Of one rater nothing came at the same time twice but in one request after the other.
            yield from sorted(
                rows, key=lambda row: (place[row["image"]], *itemgetter("rater", "judged_at", "position")(row))
            )


def _keys(comparison: Comparison) -> Iterator[dict[int, str]]:
    """Image to key, in the order of the collection; images that were taken out of it since come last, by their hash."""
    yield from keys_in_order(comparison.collection_id, at_once=IMAGES_AT_ONCE)
    here = CollectionImage.objects.filter(collection=comparison.collection_id).values("image")
    shown = Q(pk__in=Pair.objects.filter(comparison=comparison).values("image"))
    shown |= Q(pk__in=GoldPair.objects.filter(comparison=comparison).values("image"))
    gone = Image.objects.filter(shown).exclude(pk__in=here).order_by("sha256").values_list("pk", "sha256")
    hashes = iter(gone)
    while keys := dict(islice(hashes, IMAGES_AT_ONCE)):
        yield keys


def _answers(comparison: Comparison, images: Iterable[int], until: datetime) -> Iterator[Mapping[str, Any]]:
    judged = Judgement.objects.filter(comparison=comparison, choice__isnull=False, judged_at__lte=until).order_by()
    # By pair: with the image of the pair as the condition, a database may go through all of a comparison every time.
    here = {"comparison": comparison, "image__in": list(images)}
    yield from _values(judged.filter(pair__in=list(Pair.objects.filter(**here).values_list("pk", flat=True))), "pair")
    yield from _values(
        judged.filter(gold__in=list(GoldPair.objects.filter(**here).values_list("pk", flat=True))), "gold"
    )


def _values(judged: QuerySet[Judgement], of: str) -> Iterator[Mapping[str, Any]]:
    captions = {
        "pair": {"base": F("pair__base_caption__text"), "test": F("pair__test_caption__text")},
        # So that a score means the same in every row: of a gold pair the better caption stands for the test one.
        "gold": {"base": F("gold__worse"), "test": F("gold__better")},
    }[of]
    return judged.values(
        "kind",
        "test_is_left",
        "choice",
        "score",
        "person",
        "comment",
        "judged_at",
        "active_ms",
        "is_late",
        "position",
        "batch",
        shown=F(f"{of}__image"),
        region=F(f"{of}__image__extra__{REGION}"),
        taken_at=F("batch__lease__taken_at"),
        version=F("batch__instructions__version"),
        **captions,
    ).iterator()


def _row(
    comparison: Comparison, answer: Mapping[str, Any], key: str, *, stopped: Mapping[int, str], name_of: Any
) -> dict[str, Any]:
    why_not = _why_not(answer, stopped)
    cells = (
        comparison.pk,
        comparison.project.slug,
        comparison.language_id,
        key,
        str(answer["region"] or "").strip(),
        comparison.base.name,
        comparison.test.name,
        answer["base"],
        answer["test"],
        answer["kind"],
        "test" if answer["test_is_left"] else "base",
        answer["choice"],
        CHOICE_LEVELS[answer["choice"]],
        answer["score"],
        LEVELS[answer["score"]],
        name_of(answer["person"]),
        answer["comment"],
        as_iso(answer["taken_at"]),
        as_iso(answer["judged_at"]),
        # As in the report: nobody answers in no time, so nothing was measured.
        answer["active_ms"] / 1000 if answer["active_ms"] else None,
        not why_not,
        why_not,
        answer["version"],
        comparison.scale,
        str(answer["batch"]),
        answer["position"],
    )
    return dict(zip(COLUMNS, cells, strict=True))


def _unseen(comparison: Comparison, images: Iterable[int]) -> QuerySet[Pair]:
    """Pairs with equal captions that count as SIMILAR without being shown: with them a file has the page's figures."""
    found = Pair.objects.filter(comparison=comparison, image__in=list(images), task=None)
    return found.select_related("image", "base_caption", "test_caption")


def _unseen_row(comparison: Comparison, pair: Pair, key: str) -> dict[str, Any]:
    known = {
        "comparison": comparison.pk,
        "project": comparison.project.slug,
        "language": comparison.language_id,
        "image": key,
        "region": str(pair.image.extra.get(REGION) or "").strip(),
        "base_model": comparison.base.name,
        "test_model": comparison.test.name,
        "base_caption": pair.base_caption.text,
        "test_caption": pair.test_caption.text,
        "kind": EQUAL,
        "score": 0,
        "level": LEVELS[0],
        "counts": True,
        "scale": comparison.scale,
    }
    return {column: known.get(column, None if column in NUMBERS else "") for column in COLUMNS}


def _why_not(answer: Mapping[str, Any], stopped: Mapping[int, str]) -> str:
    if answer["kind"] == Kind.GOLD:
        return "gold"
    if answer["person"] in stopped:
        return WHY_NOT[stopped[answer["person"]]]
    return "late" if answer["is_late"] else ""
