"""A manager's own gold pairs, and switching single ones on and off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import IO

from django.db import transaction
from django.utils.translation import gettext as _

from core.images.models import Image
from core.images.selectors.image_names import images_named
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.records import LineRecord, json_records, read_record
from sxs_eval.models import Comparison, GoldPair
from sxs_eval.rules.gold import GoldLine, gold_line

LINES_AT_ONCE = 250
MAX_LINES = 2_000
"""As many are checked in half a second, while the page waits for them."""


@dataclass
class GoldImport:
    """The result of a file: gold pairs added, those that existed, and errors in the other lines.

    `had_hidden` is from how many captions hidden characters were removed.
    """

    added: int = 0
    already: int = 0
    had_hidden: int = 0
    problems: list[tuple[int, str]] = field(default_factory=list)


def import_gold_pairs(*, comparison: Comparison, file: IO[bytes], only_these: bool) -> GoldImport:
    """Add the gold pairs of `file` from its valid lines. With `only_these`, all others are switched off.

    Raises
    ------
    crosslens_metrics.formats.problems.FileRefusedError
        Nothing in the file can be read, or it has too many lines. Nothing is added then.
    """
    outcome = GoldImport()
    with transaction.atomic():
        # Other calls that add gold pairs to this comparison wait here.
        comparison = Comparison.objects.select_for_update(no_key=True).get(pk=comparison.pk)
        images: list[int] = []
        for chunk in _chunks(json_records(file)):
            images += _take(comparison, chunk, outcome)
        if only_these and images:
            GoldPair.objects.filter(comparison=comparison).exclude(image__in=images).update(is_used=False)
        GoldPair.objects.filter(comparison=comparison, image__in=images).update(is_used=True)
    outcome.problems.sort()
    return outcome


def use_gold_pair(*, comparison: Comparison, gold_id: int, is_used: bool) -> None:
    """Switch a gold pair on or off; answers to it stay on record."""
    GoldPair.objects.filter(comparison=comparison, pk=gold_id).update(is_used=is_used)


def _take(comparison: Comparison, records: Sequence[LineRecord | LineError], outcome: GoldImport) -> list[int]:
    """Add the gold pairs of some lines; return the images whose gold pairs exist now."""
    lines: dict[int, GoldLine] = {}
    for record in records:
        line = read_record(record, partial(gold_line, language=comparison.language_id))
        if isinstance(line, LineError):
            outcome.problems.append((line.number, line.reason))
        else:
            lines[record.number] = line
    stored = images_named({line.reference for line in lines.values()}, comparison.collection)
    candidates = [named.only.pk for named in stored.values() if named.only is not None]
    rows = GoldPair.objects.filter(comparison=comparison, image__in=candidates)
    there = {image: (better, worse) for image, better, worse in rows.values_list("image", "better", "worse")}
    fresh, images = [], []
    for number, line in lines.items():
        image = stored[line.reference].only
        problem = stored[line.reference].problem or _contradicts(line, image, there)
        if problem or image is None:
            outcome.problems.append((number, problem))
            continue
        images.append(image.pk)
        outcome.had_hidden += line.had_hidden
        if image.pk in there:
            outcome.already += 1
            continue
        there[image.pk] = (line.better, line.worse)
        fresh.append(GoldPair(comparison=comparison, image=image, better=line.better, worse=line.worse))
    outcome.added += len(GoldPair.objects.bulk_create(fresh))
    return images


def _contradicts(line: GoldLine, image: Image | None, there: dict[int, tuple[str, str]]) -> str:
    if image is None or there.get(image.pk, (line.better, line.worse)) == (line.better, line.worse):
        return ""
    name = {"name": line.reference}
    return _("“%(name)s” already has a different gold pair. Each image can have only one.") % name


def _chunks(records: Iterator[LineRecord | LineError]) -> Iterator[Sequence[LineRecord | LineError]]:
    left = MAX_LINES
    while chunk := list(islice(records, LINES_AT_ONCE)):
        left -= len(chunk)
        if left < 0:
            text = _("The file has more than %(limit)s lines. Split it.")
            raise FileRefusedError(text % {"limit": MAX_LINES})
        yield chunk
