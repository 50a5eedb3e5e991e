"""Who and what counts in a comparison: managers' decisions about raters, withdrawals, and gold pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import islice
from typing import IO

from django.db import transaction
from django.utils.translation import gettext as _

from core.allocation.models import Pool
from core.allocation.services.lifecycle import reject_all_work, reject_work, return_all_work
from core.images.models import Image
from core.images.selectors.filters import images_named
from core.people.models import Project, User
from core.people.services import audit_log
from crosslens_metrics.formats.problems import FileRefusedError, LineError
from crosslens_metrics.formats.records import LineRecord, json_records, read_record
from sxs_eval.models import LEFT_OUT, Comparison, GoldPair, Judgement, RaterState, RaterStatus, TrialKind
from sxs_eval.rules.judging import GoldLine, gold_line
from sxs_eval.services.comparisons import name_of

LINES_AT_ONCE = 250
MAX_LINES = 2_000
"""As many are checked in half a second, while the page waits for them."""


def restore_rater(*, comparison: Comparison, rater: User, note: str, by: User, now: datetime) -> RaterStatus:
    """Restore a paused rater: all their judgements count again, and earlier attention items are forgiven.

    An excluded rater stays excluded: their pairs were assigned to others.
    """
    with transaction.atomic():
        status = RaterStatus.objects.select_for_update(no_key=True).get(comparison=comparison, person=rater)
        if status.state == RaterState.PAUSED:
            status.checks_from = now
            _decide(status, RaterState.RESTORED, note, by, now)
            _record("rater.restored", comparison, rater, note, by, now)
    return status


def pause_raters(*, comparison: Comparison, raters: Iterable[User], note: str, by: User, now: datetime) -> int:
    """Pause raters: none of their judgements counts until a manager decides; return how many were not paused before.

    Excluded raters stay excluded.
    """
    paused = 0
    for rater in raters:
        with transaction.atomic():
            RaterStatus.objects.get_or_create(
                comparison=comparison, person=rater, defaults={"state": RaterState.RESTORED}
            )
            status = RaterStatus.objects.select_for_update(no_key=True).get(comparison=comparison, person=rater)
            if status.state == RaterState.RESTORED:
                status.paused_at = now
                _decide(status, RaterState.PAUSED, note, by, now)
                _record("rater.paused", comparison, rater, note, by, now)
                paused += 1
    return paused


def exclude_rater(*, comparison: Comparison, rater: User, note: str, by: User, now: datetime) -> int:
    """Exclude a rater: their judgements are kept but never count, others judge those pairs; return how many.

    Repeating it changes nothing.
    """
    with transaction.atomic():
        freed = reject_work(pool=comparison.pool, person=rater, now=now)
        status, _is_new = RaterStatus.objects.get_or_create(comparison=comparison, person=rater)
        if status.state not in LEFT_OUT:
            _decide(status, RaterState.EXCLUDED, note, by, now)
            _record("rater.excluded", comparison, rater, note, by, now)
    return freed


def _decide(status: RaterStatus, state: RaterState, note: str, by: User, now: datetime) -> None:
    status.state, status.note, status.decided_by, status.decided_at = state, note, by, now
    status.save(update_fields=["state", "note", "decided_by", "decided_at", "paused_at", "checks_from"])


def _record(action: str, comparison: Comparison, rater: User, note: str, by: User, now: datetime) -> None:
    about, details = name_of(comparison), {"reason": note} if note else {}
    audit_log.record(
        project=comparison.project, action=action, about=about, by=by, person=rater, now=now, details=details
    )


def withdraw_answers(*, project: Project, person: User, keeps_answers: bool, now: datetime) -> int:
    """Return `person`'s batches; unless answers are kept, exclude them all; return how many did count.

    Others then judge those pairs, and the person gets no more work in these comparisons.
    """
    pools = Pool.objects.filter(comparison__project=project)
    if keeps_answers:
        return_all_work(pools=pools, person=person, now=now)
        return 0
    left_out = RaterStatus.objects.filter(person=person, state__in=LEFT_OUT).values("comparison")
    answers = Judgement.objects.filter(comparison__project=project, person=person)
    counted = answers.filter(kind=TrialKind.PAIR, choice__isnull=False, is_late=False).exclude(comparison__in=left_out)
    removed = counted.count()
    reject_all_work(pools=pools, person=person, now=now)
    decided = {"state": RaterState.WITHDRAWN, "note": "", "decided_by": None, "decided_at": now}
    for comparison in Comparison.objects.filter(pk__in=answers.values("comparison")).order_by("pk"):
        RaterStatus.objects.update_or_create(comparison=comparison, person=person, defaults=decided)
    return removed


def forget(*, person: User, now: datetime) -> None:
    """Return all open batches of `person`."""
    return_all_work(pools=Pool.objects.filter(comparison__isnull=False), person=person, now=now)


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

    Raises crosslens_metrics.formats.problems.FileRefusedError: nothing in the file can be read, or it has too many
    lines. Nothing is added then.
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
