"""Import the judgements of a file: a closed comparison for each of its comparisons, all of a file or nothing.

Its raters become accounts that nobody can sign in to. docs/decisions/0084 has the reasons.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

from django.db import transaction
from django.db.models import Model, QuerySet
from django.utils.translation import gettext as _

from core.allocation.models import Assignment, AssignmentState, Batch, BatchState, Pool, Task
from core.images.models import Collection, ImportJob, ImportKind, ImportOutcome, ImportRow
from core.images.services import import_jobs
from core.images.services.imports import Opener
from core.languages.models import Language
from core.people.models import Project, User
from core.people.services import audit_log
from core.people.services.accounts import create_stand_ins
from crosslens_metrics.formats.problems import FileRefusedError
from research.selection.formats.candidate_files import sha256_of
from sxs_eval.models import (
    Comparison,
    EqualCaptions,
    GoldPair,
    Judgement,
    JudgingBatch,
    Pair,
    RaterState,
    RaterStatus,
    TrialKind,
)
from sxs_eval.services.judgement_files import EQUAL, FileComparison, check_raters, comparisons_in, match_lines

if TYPE_CHECKING:
    from sxs_eval.formats.judgement_lines import StoredLine

COMPARISONS, DIGEST = "comparisons", "digest"
"""Options of a job: the comparisons that it made, and the digest of its file."""
REPLICATION = 3
"""Judgements that a pair needs, as `sxs_report` has it, where neither the file says so nor any pair has so many."""
PER_BATCH, PER_INSERT = 1_000, 2_000
MAX_MS = 2**31 - 1
AnyRow = TypeVar("AnyRow", bound=Model)
STATES = {"excluded": RaterState.EXCLUDED, "paused": RaterState.PAUSED}


def imported_before(project: Project, file: IO[bytes]) -> Comparison | None:
    """Find a comparison that an earlier import made of the same file."""
    jobs = ImportJob.objects.filter(
        kind=ImportKind.JUDGEMENTS, project=project, **{f"options__{DIGEST}": sha256_of(file)}
    )
    made = [pk for job in jobs for pk in job.options.get(COMPARISONS, [])]
    return Comparison.objects.filter(pk__in=made).order_by("pk").first()


def import_path(
    *,
    path: Path,
    project: Project,
    collection: Collection,
    language: str,
    said: Mapping[str, str],
    source: str,
    opened: Opener,
    part_of: ImportJob,
    clock: import_jobs.Clock,
) -> ImportJob:
    """Import what is `opened` as a part of another import; lines without a language are in `language`.

    `said` are names of columns by what they hold.
    """
    job = import_jobs.start_inline(
        path, kind=ImportKind.JUDGEMENTS, collection=collection, project=project, part_of=part_of, clock=clock
    )
    # All rows are written with the judgements, so one says that a worker that died had stored everything.
    with import_jobs.to_the_end(job, clock=clock) as last, opened() as file:
        if not last:
            held = job.lease_until, part_of.lease_until
            try:
                _store(job, file, project, collection, language, said, source or path.name, clock)
            except BaseException:
                # The transaction that renewed them is undone.
                job.lease_until, part_of.lease_until = held
                raise
    job.refresh_from_db()
    return job


def stand_ins_of(comparisons: QuerySet[Comparison]) -> list[int]:
    """The accounts that stand for raters of files."""
    leases = Batch.objects.filter(pool__comparison__in=comparisons.exclude(source="")).order_by()
    return list(leases.values_list("person", flat=True).distinct())


def remove_comparisons(comparisons: Sequence[int]) -> None:
    """Delete imported comparisons with their judgements and raters. Call it in a transaction."""
    made = Comparison.objects.filter(pk__in=comparisons).exclude(source="")
    pools = list(made.values_list("pool", flat=True))
    people = stand_ins_of(made)
    judgements = Judgement.objects.filter(comparison__in=made)
    judgements.exclude(repeated=None).delete()
    judgements.delete()
    JudgingBatch.objects.filter(comparison__in=made).delete()
    Assignment.objects.filter(task__pool__in=pools).delete()
    Batch.objects.filter(pool__in=pools).delete()
    made.delete()
    Pool.objects.filter(pk__in=pools).delete()
    User.objects.filter(pk__in=people).delete()


def _store(
    job: ImportJob,
    file: IO[bytes],
    project: Project,
    collection: Collection,
    language: str,
    said: Mapping[str, str],
    source: str,
    clock: import_jobs.Clock,
) -> None:
    found = comparisons_in(file, language, said, clock())
    languages = set(Language.objects.values_list("pk", flat=True))
    with transaction.atomic():
        audit_log.lock(project, job.created_by)
        if before := imported_before(project, file):
            raise FileRefusedError(already_imported() % {"number": before.pk})
        check_raters(found, project)
        storing = _JudgementStorage(job, project, collection, source, clock)
        rows: list[ImportRow] = []
        for one in found:
            if one.first.language not in languages:
                one.left_out[_("There is no such language on this installation.")] = one.lines
            else:
                match_lines(one, project, collection, job.created_by)
            if one.kept:
                storing.store(one)
            rows += _reported(job, one, len(rows))
        job.options |= {COMPARISONS: [made.pk for made in storing.made], DIGEST: sha256_of(file)}
        job.save(update_fields=["options"])
        number = sum(len(one.kept) for one in found)
        audit_log.record(
            project=project,
            action="judgements.imported",
            about=f"{number} judgements in {len(storing.made)} comparisons",
            by=job.created_by,
            now=clock(),
            details={"comparisons": job.options[COMPARISONS], "source": source},
        )
        job.lease_until = import_jobs.write_report(job, rows, now=clock())


def already_imported() -> str:
    return _(
        "The judgements of this file are in the project already, from comparison %(number)s on. To import it again, "
        "undo its first import."
    )


def _reported(job: ImportJob, one: FileComparison, before: int) -> Iterator[ImportRow]:
    outcomes = [(ImportOutcome.ADDED, "", len(one.kept))] if one.kept else []
    outcomes += [
        (ImportOutcome.REJECTED, f"{reason} ({lines[0].judgement.image})", len(lines))
        for reason, lines in one.left_out.items()
    ]
    for number, (outcome, reason, count) in enumerate(outcomes, start=before + 1):
        yield import_jobs.report_row(job, number, one.title, outcome, reason, counts={outcome: count})


class StoredPair(NamedTuple):
    pk: int
    task_id: int | None


Pairs = Mapping[int, StoredPair]
"""By image."""


@dataclass
class _JudgementStorage:
    """Stores the comparisons of a file; a rater of several of them is one person."""

    job: ImportJob
    project: Project
    collection: Collection
    source: str
    clock: import_jobs.Clock
    made: list[Comparison] = field(default_factory=list)
    people: dict[str, User] = field(default_factory=dict)

    def store(self, one: FileComparison) -> None:
        comparison = self._comparison(one)
        stopped = _stopped(one)
        pairs = self._pairs(comparison, one, stopped)
        golds = self._golds(comparison, one)
        self._add_people(one)
        RaterStatus.objects.bulk_create(
            RaterStatus(
                comparison=comparison,
                person=self.people[rater],
                state=state,
                paused_at=self.clock(),
                decided_at=self.clock() if state == RaterState.EXCLUDED else None,
                decided_by=self.job.created_by if state == RaterState.EXCLUDED else None,
            )
            for rater, state in stopped.items()
        )
        of_rater: dict[str, list[tuple[StoredLine, int]]] = defaultdict(list)
        for line, image in one.of_kinds(TrialKind.PAIR, TrialKind.GOLD, TrialKind.REPEAT):
            of_rater[line.judgement.rater].append((line, image))
        for lines in of_rater.values():
            self._judgements_of(comparison, lines, stopped, pairs, golds)
        self.made.append(comparison)

    def _comparison(self, one: FileComparison) -> Comparison:
        first = one.first
        assert one.base is not None
        assert one.test is not None
        lacking = {line.judgement.image for lines in one.left_out.values() for line in lines}
        return Comparison.objects.create(
            project=self.project,
            language_id=first.language,
            base=one.base,
            test=one.test,
            collection=self.collection,
            seed=first.seed or 0,
            scale=first.judgement.scale.points,
            equal_captions=EqualCaptions.SIMILAR if any(one.of_kinds(EQUAL)) else EqualCaptions.SHOWN,
            pool=Pool.objects.create(replication=first.replication or _replication(one), is_open=False),
            left_out=len(lacking - {line.judgement.image for line, _image in one.kept}),
            source=self.source,
            filled_at=self.clock(),
            design=_design(one),
            chosen_by=_chosen_by(one),
            created_by=self.job.created_by,
        )

    def _pairs(self, comparison: Comparison, one: FileComparison, stopped: Mapping[str, RaterState]) -> Pairs:
        counted = [image for line, image in one.of_kinds(TrialKind.PAIR) if _takes_place(line, stopped)]
        taken = Counter(counted)
        shown = dict.fromkeys(image for _line, image in one.of_kinds(TrialKind.PAIR))
        tasks = (
            Task(pool=comparison.pool, shuffle_key=number, places=taken[image] or 1, places_taken=taken[image])
            for number, image in enumerate(shown)
        )
        task_of = dict(zip(shown, (task.pk for task in self._inserted(tasks)), strict=True))
        assert one.base is not None
        assert one.test is not None
        base, test = one.base.pk, one.test.pk
        images = dict.fromkeys(image for _line, image in one.of_kinds(EQUAL, TrialKind.PAIR))
        pairs = (
            Pair(
                comparison=comparison,
                task_id=task_of.get(image),
                image_id=image,
                base_caption_id=one.captions[base, image][0],
                test_caption_id=one.captions[test, image][0],
            )
            for image in sorted(images)
        )
        return {pair.image_id: StoredPair(pair.pk, pair.task_id) for pair in self._inserted(pairs)}

    def _golds(self, comparison: Comparison, one: FileComparison) -> Mapping[int, int]:
        of_image = {image: line for line, image in one.of_kinds(TrialKind.GOLD)}
        golds = (
            GoldPair(comparison=comparison, image_id=image, better=line.test_caption, worse=line.base_caption)
            for image, line in of_image.items()
        )
        return {gold.image_id: gold.pk for gold in self._inserted(golds)}

    def _add_people(self, one: FileComparison) -> None:
        raters = dict.fromkeys(line.judgement.rater for line, _image in one.kept if line.judgement.rater)
        new = [rater for rater in raters if rater not in self.people]
        self.people |= dict(zip(new, create_stand_ins(number=len(new), now=self.clock()), strict=True))

    def _judgements_of(
        self,
        comparison: Comparison,
        lines: list[tuple[StoredLine, int]],
        stopped: Mapping[str, RaterState],
        pairs: Pairs,
        golds: Mapping[int, int],
    ) -> None:
        """Store all answers of one rater."""
        now = self.clock()
        person = self.people[lines[0][0].judgement.rater]
        lines.sort(key=lambda each: (each[0].judged_at or now, each[0].judgement.number))
        firsts: dict[int, Judgement] = {}
        others: list[Judgement] = []
        for start in range(0, len(lines), PER_BATCH):
            some = lines[start : start + PER_BATCH]
            batch = self._batch(comparison, person, [line for line, _image in some])
            for position, (line, image) in enumerate(some, start=1):
                row = _judgement(line, batch, position, now)
                if line.judgement.kind == TrialKind.GOLD:
                    row.gold_id = golds[image]
                else:
                    row.pair_id, row.is_late = pairs[image].pk, _is_late(line, stopped)
                if line.judgement.kind == TrialKind.PAIR:
                    row.assignment = _assignment(row, pairs[image], line, stopped)
                    firsts[image] = row
                else:
                    others.append(row)
        self._insert(row.assignment for row in firsts.values())
        self._insert(firsts.values())
        first_of = {row.pair_id: row for row in firsts.values()}
        for row in others:
            row.repeated = first_of[row.pair_id] if row.kind == TrialKind.REPEAT else None
        self._insert(others)

    def _batch(self, comparison: Comparison, person: User, lines: Sequence[StoredLine]) -> JudgingBatch:
        now = self.clock()
        judged_at = [line.judged_at or now for line in lines]
        taken_at = min([*judged_at, *(line.taken_at for line in lines if line.taken_at)])
        lease = Batch.objects.create(
            pool=comparison.pool,
            person=person,
            state=BatchState.DONE,
            taken_at=taken_at,
            lease_s=comparison.pool.lease_s,
            deadline=max(judged_at),
            closed_at=max(judged_at),
        )
        return JudgingBatch.objects.create(lease=lease, comparison=comparison)

    def _inserted(self, rows: Iterable[AnyRow]) -> Iterator[AnyRow]:
        """Insert rows some at a time, and keep the lease meanwhile."""
        left = iter(rows)
        while some := list(islice(left, PER_INSERT)):
            yield from type(some[0])._default_manager.bulk_create(some)
            self.job.lease_until = import_jobs.extend(self.job, now=self.clock())

    def _insert(self, rows: Iterable[Any]) -> None:
        for _row in self._inserted(rows):
            pass


def _stopped(one: FileComparison) -> dict[str, RaterState]:
    """The raters of whom nothing counts, as the file says that they were excluded or paused."""
    states: dict[str, RaterState] = {}
    counting = set()
    for line, _image in one.of_kinds(TrialKind.PAIR, TrialKind.REPEAT):
        if line.judgement.counts:
            counting.add(line.judgement.rater)
        elif state := STATES.get(line.why_not):
            states[line.judgement.rater] = state
    return {rater: state for rater, state in states.items() if rater not in counting}


def _is_late(line: StoredLine, stopped: Mapping[str, RaterState]) -> bool:
    """Whether an answer does not count for a reason of its own."""
    return not line.judgement.counts and line.judgement.rater not in stopped


def _takes_place(line: StoredLine, stopped: Mapping[str, RaterState]) -> bool:
    return not _is_late(line, stopped) and stopped.get(line.judgement.rater) != RaterState.EXCLUDED


def _assignment(row: Judgement, pair: StoredPair, line: StoredLine, stopped: Mapping[str, RaterState]) -> Assignment:
    assert pair.task_id is not None
    state = AssignmentState.DONE if _takes_place(line, stopped) else AssignmentState.REJECTED
    return Assignment(
        task_id=pair.task_id,
        batch_id=row.batch_id,
        person_id=row.person_id,
        position=row.position,
        state=AssignmentState.LATE if _is_late(line, stopped) else state,
    )


def _judgement(line: StoredLine, batch: JudgingBatch, position: int, now: datetime) -> Judgement:
    given = line.judgement
    is_left = None if given.test_is_left < 0 else bool(given.test_is_left)
    return Judgement(
        batch=batch,
        comparison_id=batch.comparison_id,
        person_id=batch.lease.person_id,
        position=position,
        kind=given.kind,
        test_is_left=is_left,
        scale=given.scale.points,
        choice=-given.score if is_left is False else given.score,
        score=given.score,
        comment=line.comment,
        judged_at=line.judged_at or now,
        active_ms=min(MAX_MS, round((given.seconds or 0) * 1000)),
    )


def _replication(one: FileComparison) -> int:
    counted = (image for line, image in one.of_kinds(TrialKind.PAIR) if line.judgement.counts)
    return min(REPLICATION, max(Counter(counted).values(), default=REPLICATION))


def _chosen_by(one: FileComparison) -> str:
    """The metric that chose the models, so that these judgements are no evidence for it."""
    # It needs NumPy, as `_design` does.
    from crosslens_metrics.reports.evaluation_points import ANY_METRIC

    named = {line.chosen_by for line in one.lines} - {""}
    return next(iter(named), "") if len(named) < 2 else ANY_METRIC


def _design(one: FileComparison) -> str:
    # As `sxs_report` has it of the same file.
    from crosslens_metrics.reports.comparison import NO_DESIGN
    from crosslens_metrics.signatures import Signature

    counted = [line.judgement for line, _image in one.of_kinds(TrialKind.PAIR) if line.judgement.counts]
    known = Signature.parse(one.first.judgement.design) if one.first.judgement.design else NO_DESIGN
    return str(
        known.with_values("instructions", (row.instructions_version for row in counted)).with_values(
            "instructions-in", (row.instructions_language for row in counted)
        )
    )
