"""Files of all judgements of a project's comparisons, image by image, in constant memory.

Order: comparisons by number, images by their position in the collection, raters by pseudonym, then by time. So the same
judgements give the same bytes from any database. A file holds what was judged up to one moment: it is complete even if
people judge while it is being written. It includes judgements that do not count, with the reason, except those that
people withdrew with their consent.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property, partial
from operator import itemgetter
from typing import Any

from django.db.models import F, QuerySet, Value

from core.images.models import Image
from core.people.rules.pseudonyms import pseudonym
from crosslens_metrics.scales import SCALES, Scale
from crosslens_metrics.signatures import Signature
from research.selection.rules.image_filters import ALL_IMAGES, ImageFilter
from research.selection.selectors.image_places import ORIGIN_COLUMNS, UNKNOWN, ImageOrigin, origins_of
from research.selection.selectors.subsets import images_of
from sxs_eval.models import Comparison, GoldPair, Judgement, Pair, RaterState, TrialKind
from sxs_eval.selectors.evidence import REGION, images_left_out, stopped_raters
from sxs_eval.selectors.judging_designs import design_of
from sxs_eval.selectors.results import image_keys, looks_before
from tabular.downloads import as_iso, cells_of

IMAGES_AT_ONCE = 200
EQUAL = "equal"
"""The kind of a row that nobody judged."""
IMAGE = "image"
"""Why a row does not count whose image is left out of results."""
WHY_NOT = {"excluded": "excluded", "paused": "paused"}


@dataclass(frozen=True)
class JudgementRow:
    """An answer, or a pair that was not shown: then `answer` has only the columns of the pair."""

    comparison: Comparison
    image: str
    answer: Mapping[str, Any]
    rater: str
    why_not: str
    origin: ImageOrigin
    planned: int
    """Images of the comparison: the file says when judging was to stop."""
    design: Signature

    @property
    def scale(self) -> Scale:
        return SCALES[self.comparison.scale]

    @property
    def choice(self) -> int | None:
        """The answer as given, where the side is known."""
        return None if self.answer.get("test_is_left") is None else self.answer["choice"]

    def text(self, name: str) -> str:
        return str(self.answer.get(name) or "")

    def moment(self, name: str) -> str:
        return as_iso(self.answer[name]) if name in self.answer else ""


def _origin_of(row: JudgementRow, *, name: str) -> str:
    return str(getattr(row.origin, name))


COLUMNS: Mapping[str, Callable[[JudgementRow], Any]] = {
    "comparison": lambda row: row.comparison.pk,
    "project": lambda row: row.comparison.project.slug,
    "language": lambda row: row.comparison.language_id,
    "image": lambda row: row.image,
    "region": lambda row: row.text("region").strip(),
    "base_model": lambda row: row.comparison.base.name,
    "test_model": lambda row: row.comparison.test.name,
    "base_caption": lambda row: row.answer["base"],
    "test_caption": lambda row: row.answer["test"],
    "kind": lambda row: row.answer["kind"],
    "left_is": lambda row: {True: "test", False: "base", None: ""}[row.answer.get("test_is_left")],
    "choice": lambda row: row.choice,
    "choice_level": lambda row: "" if row.choice is None else row.scale[row.choice].choice,
    "score": lambda row: row.answer["score"],
    "level": lambda row: row.scale[row.answer["score"]].name,
    "rater": lambda row: row.rater,
    "comment": lambda row: row.text("comment"),
    "batch_taken_at": lambda row: row.moment("taken_at"),
    "judged_at": lambda row: row.moment("judged_at"),
    # As in the report: nobody answers in no time, so nothing was measured.
    "seconds": lambda row: row.answer["active_ms"] / 1000 if row.answer.get("active_ms") else None,
    "counts": lambda row: not row.why_not,
    "why_not": lambda row: row.why_not,
    "instructions_version": lambda row: row.answer.get("version"),
    "instructions_language": lambda row: row.text("instructions_language"),
    "instructions_revision": lambda row: row.answer.get("instructions_revision"),
    "scale": lambda row: row.comparison.scale,
    "batch": lambda row: row.text("batch"),
    "position": lambda row: row.answer.get("position"),
    "replication": lambda row: row.comparison.replication,
    "seed": lambda row: row.comparison.seed,
    "planned_images": lambda row: row.planned,
    "looks": lambda row: looks_before(row.comparison, row.planned),
    "chosen_by": lambda row: row.comparison.chosen_by,
    "source": lambda row: row.comparison.source,
    "design": lambda row: str(row.design),
    **{
        column: partial(_origin_of, name=name) for column, name in zip(ORIGIN_COLUMNS, ImageOrigin._fields, strict=True)
    },
}
"""The values of the columns. Unknown numbers are null and unknown texts are empty."""


def judgement_rows(
    comparisons: Sequence[Comparison], *, until: datetime, images: ImageFilter = ALL_IMAGES
) -> Iterator[dict[str, Any]]:
    """Yield the values of `COLUMNS`: everything about `images` that was judged up to and including `until`.

    Raises ImageFilterError before anything is yielded, if `images` cannot be applied to a language.
    """
    in_order = sorted(comparisons, key=lambda comparison: comparison.pk)
    left = {
        one.pk: images_of(images, project=one.project, language=one.language) for one in in_order if not images.is_all
    }
    return _rows(in_order, until, left, images)


def rows_of_judgements(comparison: Comparison, judgements: Sequence[int]) -> list[JudgementRow]:
    """Return the rows of answered judgements of a comparison, by primary key, in their order."""
    here = Judgement.objects.filter(pk__in=list(judgements))
    answers = [*_values(here.filter(gold=None), "pair"), *_values(here.exclude(gold=None), "gold")]
    shown = {answer["shown"] for answer in answers}
    keys = dict(Image.objects.filter(pk__in=shown).values_list("pk", "sha256"))
    keys |= dict(comparison.collection.entries.filter(image__in=shown).values_list("image", "key"))
    rows = {row.answer["pk"]: row for row in _RowMaker(comparison).rows(answers, keys)}
    return [rows[pk] for pk in judgements if pk in rows]


class _RowMaker:
    """Makes rows of a comparison; what they share is read once, so that all are of one moment."""

    def __init__(self, comparison: Comparison, images: ImageFilter = ALL_IMAGES) -> None:
        self.comparison = comparison
        self.stopped = stopped_raters(comparison.pk)
        self.images_out = images_left_out([comparison]).get(comparison.collection_id, set())
        self.design = design_of(comparison, images)
        self.name_of = cache(partial(pseudonym, comparison.project))

    @cached_property
    def planned(self) -> int:
        return Pair.objects.filter(comparison=self.comparison).exclude(image__in=self.images_out).count()

    def rows(self, answers: Iterable[Mapping[str, Any]], keys: Mapping[int, str]) -> list[JudgementRow]:
        origins = origins_of(self.comparison.project, keys)
        return [
            JudgementRow(
                self.comparison,
                keys[one["shown"]],
                one,
                self.name_of(one["person"]) if "person" in one else "",
                _why_not(one, self.stopped, self.images_out),
                origins.get(one["shown"], UNKNOWN),
                self.planned,
                self.design,
            )
            for one in answers
            if self.stopped.get(one.get("person", 0)) != RaterState.WITHDRAWN
        ]


def _rows(
    comparisons: Sequence[Comparison], until: datetime, left: Mapping[int, QuerySet[Image] | None], images: ImageFilter
) -> Iterator[dict[str, Any]]:
    # Excluded raters and images are read before anything else, so that all of a file is of one moment.
    for maker in [_RowMaker(comparison, images) for comparison in comparisons]:
        comparison = maker.comparison
        for keys in _left(image_keys(comparison, at_once=IMAGES_AT_ONCE), left.get(comparison.pk)):
            judged = maker.rows([*_answers(comparison, keys, until), *_unseen(comparison, keys)], keys)
            rows = cells_of(COLUMNS, judged)
            place = {key: number for number, key in enumerate(keys.values())}
            # One rater's answers have different times, unless one request followed the other at once.
            yield from sorted(
                rows, key=lambda row: (place[row["image"]], *itemgetter("rater", "judged_at", "position")(row))
            )


def _left(parts: Iterable[dict[int, str]], images: QuerySet[Image] | None) -> Iterator[dict[int, str]]:
    """Keep the images that a filter leaves."""
    for keys in parts:
        if images is None:
            yield keys
        elif left := set(images.filter(pk__in=list(keys)).values_list("pk", flat=True)):
            yield {image: key for image, key in keys.items() if image in left}


def _answers(comparison: Comparison, images: Iterable[int], until: datetime) -> Iterator[Mapping[str, Any]]:
    judged = Judgement.objects.filter(comparison=comparison, choice__isnull=False, judged_at__lte=until).order_by()
    # By pair: with the image of the pair as the condition, a database may scan the whole comparison every time.
    here = {"comparison": comparison, "image__in": list(images)}
    yield from _values(judged.filter(pair__in=list(Pair.objects.filter(**here).values_list("pk", flat=True))), "pair")
    yield from _values(
        judged.filter(gold__in=list(GoldPair.objects.filter(**here).values_list("pk", flat=True))), "gold"
    )


def _values(judged: QuerySet[Judgement], of: str) -> Iterator[Mapping[str, Any]]:
    captions = {
        "pair": {"base": F("pair__base_caption__text"), "test": F("pair__test_caption__text")},
        # So that a score means the same in every row: for a gold pair, the better caption takes the place of the test
        # one.
        "gold": {"base": F("gold__worse"), "test": F("gold__better")},
    }[of]
    return judged.values(
        "pk",
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
        instructions_language=F("batch__instructions_language"),
        instructions_revision=F("batch__instructions_translation__revision"),
        **captions,
    ).iterator()


def _unseen(comparison: Comparison, images: Iterable[int]) -> QuerySet[Pair, Any]:
    """Return pairs with equal captions, which count as SIMILAR without being shown, as in the figures on pages.

    The values are as in `_values`, without an answer.
    """
    return Pair.objects.filter(comparison=comparison, image__in=list(images), task=None).values(
        kind=Value(EQUAL),
        score=Value(0),
        shown=F("image"),
        region=F(f"image__extra__{REGION}"),
        base=F("base_caption__text"),
        test=F("test_caption__text"),
    )


def _why_not(answer: Mapping[str, Any], stopped: Mapping[int, str], images_out: Container[int]) -> str:
    if answer["kind"] == TrialKind.GOLD:
        return "gold"
    if answer["shown"] in images_out:
        return IMAGE
    if state := stopped.get(answer.get("person", 0)):
        return WHY_NOT[state]
    return "late" if answer.get("is_late") else ""
