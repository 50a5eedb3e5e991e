"""What participants have done: batches, the time that each item took, and what is stored about them, for themselves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from annotation.models import AnnotatorState, AnnotatorStatus, CaptionItem, Verdict
from core.allocation.models import NOT_SHOWN, Assignment, AssignmentState, Batch, BatchState, Pool
from core.people.models import Role, User
from core.people.personal_data import ExportPart
from core.people.selectors.qualification import WORKING_LEVELS, WorkKind
from office.practice.models import PracticeKind
from office.practice.selectors.practising import has_failed
from office.recruitment.models import Participant, ParticipantState, Study, WorkRole
from office.recruitment.rules.pay import HourlyPay, pay_for
from sxs_eval.models import Judgement, RaterState, RaterStatus

TASKS = {WorkRole.ANNOTATOR: (PracticeKind.RATING, PracticeKind.WRITING), WorkRole.RATER: (PracticeKind.COMPARING,)}


def pools_of(study: Study) -> QuerySet[Pool]:
    """Select what people of the study work in."""
    if study.role == WorkRole.RATER:
        return Pool.objects.filter(comparison__project=study.project_id)
    return Pool.objects.filter(round__project=study.project_id)


def batches_done(participant: Participant) -> int:
    return _done(_batches(participant)).count()


def _done(batches: QuerySet[Batch]) -> QuerySet[Batch]:
    """Select those that are done. A rater's is when the last pair is judged, though it stays open to be undone.

    One of which everything was reported is none.
    """
    unjudged = Judgement.objects.filter(batch=OuterRef("pk"), judged_at=None, is_skipped=False)
    unjudged = unjudged.exclude(assignment__state__in=NOT_SHOWN).exclude(repeated__assignment__state__in=NOT_SHOWN)
    kept = Assignment.objects.filter(batch=OuterRef("pk")).exclude(state=AssignmentState.REPORTED)
    is_judged = Q(state=BatchState.OPEN, judging_batch__isnull=False) & ~Exists(unjudged)
    return batches.filter(Q(state=BatchState.DONE) | is_judged, Exists(kept))


def batches_had(participant: Participant, *, besides: Batch | None = None) -> int:
    """Count batches that are open, or of which anything is done: what the limit of the study is about."""
    is_begun = Exists(Assignment.objects.filter(batch=OuterRef("pk"), state=AssignmentState.DONE))
    had = _batches(participant).filter(Q(state__in=[BatchState.DONE, BatchState.OPEN]) | is_begun)
    return (had.exclude(pk=besides.pk) if besides else had).count()


def _batches(participant: Participant) -> QuerySet[Batch]:
    return Batch.objects.filter(
        pool__in=pools_of(participant.study), person=participant.user, taken_at__gte=participant.arrived_at
    )


def has_failed_checks(participant: Participant) -> bool:
    """Whether the person is paused or excluded in the project, by its checks or by a manager."""
    theirs = {"person": participant.user_id}
    if participant.study.role == WorkRole.RATER:
        statuses = RaterStatus.objects.filter(comparison__project=participant.study.project_id, **theirs)
        return statuses.filter(state__in=[RaterState.PAUSED, RaterState.EXCLUDED]).exists()
    decided = AnnotatorStatus.objects.filter(project=participant.study.project_id, **theirs)
    return decided.filter(state=AnnotatorState.PAUSED).exists()


def has_failed_practice(participant: Participant) -> bool:
    """Whether the person used all tries at the practice of every language of the study that they speak."""
    if participant.user is None:
        return False
    study = participant.study
    tasks = TASKS[WorkRole(study.role)]
    spoken = participant.user.language_skills.filter(level__in=WORKING_LEVELS, language__in=study.languages.all())
    works = [
        WorkKind(study.project_id, Role(study.role), skill.language, needs_english=False, tasks=tasks)
        for skill in spoken.select_related("language")
    ]
    return has_failed(participant.user, works)


def study_in_progress(user: User) -> Participant | None:
    """Return the study that somebody is in the middle of."""
    return _parts(user).filter(state=ParticipantState.WORKING).first()


def part_in(user: User, pool: Pool) -> Participant | None:
    """Return somebody's part in the study that `pool` is for: one that they are in the middle of, or the last one."""
    parts = [part for part in _parts(user) if pools_of(part.study).filter(pk=pool.pk).exists()]
    return min(parts, key=lambda part: part.state != ParticipantState.WORKING, default=None)


def _parts(user: User) -> QuerySet[Participant]:
    return Participant.objects.filter(user=user).select_related("study__project").order_by("-pk")


@dataclass(frozen=True)
class TimeRow:
    """One participant's work in one language; `language` is empty if nothing was done yet."""

    language: str
    items: int
    active_ms: int
    median_ms: float | None

    @property
    def minutes(self) -> float:
        return self.active_ms / 60_000

    @property
    def median_s(self) -> float | None:
        return None if self.median_ms is None else self.median_ms / 1000


@dataclass(frozen=True)
class PayRow:
    participant: Participant
    batches: int
    rows: Sequence[TimeRow]
    pay: HourlyPay

    @property
    def active_ms(self) -> int:
        return sum(row.active_ms for row in self.rows)

    @property
    def is_owed(self) -> bool:
        return self.pay.is_underpaid and self.participant.state == ParticipantState.DONE and self.paid is None

    @property
    def paid(self) -> Decimal | None:
        """The bonus that was paid through the panel's API."""
        bonus = getattr(self.participant, "paid_bonus", None)
        return bonus.amount if bonus else None


def pay_rows(study: Study) -> list[PayRow]:
    """List everybody who came, in the order in which they came; the number of queries does not depend on how many."""
    participants = list(study.participants.select_related("user", "paid_bonus").order_by("pk"))
    times = _times(study)
    done: dict[int, int] = defaultdict(int)
    for person in (
        _done(Batch.objects.filter(pool__in=pools_of(study)))
        .filter(person__participations__study=study, taken_at__gte=F("person__participations__arrived_at"))
        .values_list("person", flat=True)
    ):
        done[person] += 1
    return [_pay_row(study, participant, times.get(participant.user_id or 0, {}), done) for participant in participants]


def _pay_row(study: Study, participant: Participant, times: dict[str, list[int]], done: dict[int, int]) -> PayRow:
    rows = [TimeRow(language, len(taken), sum(taken), median(taken)) for language, taken in sorted(times.items())] or [
        TimeRow("", 0, 0, None)
    ]
    active_ms = sum(row.active_ms for row in rows)
    pay = pay_for(active_ms=active_ms, reward=study.reward, rate=study.rate)
    return PayRow(participant, done.get(participant.user_id or 0, 0), rows, pay)


def _times(study: Study) -> dict[int, dict[str, list[int]]]:
    """Return by person and language how many milliseconds each finished item took."""
    times: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    here = {"person__participations__study": study}
    since = F("person__participations__arrived_at")
    rows: list[Iterable[tuple[int, str, int]]] = []
    if study.role == WorkRole.RATER:
        judged = Judgement.objects.filter(comparison__project=study.project_id, judged_at__gte=since, **here)
        rows.append(judged.values_list("person", "comparison__language", "active_ms"))
    else:
        written = CaptionItem.objects.filter(
            batch__round__project=study.project_id, batch__submitted_at__gte=since, **here
        ).annotate(active_ms=F("rating_ms") + F("writing_ms"))
        rows.append(written.values_list("person", "batch__round__language", "active_ms"))
        rated = Verdict.objects.filter(batch__round__project=study.project_id, batch__submitted_at__gte=since, **here)
        rows.append(rated.values_list("person", "batch__round__language", "rating_ms"))
    for found in rows:
        for person, language, active_ms in found:
            times[person][language].append(active_ms)
    return times


def total_owed(rows: Iterable[PayRow]) -> Decimal:
    return sum((row.pay.bonus for row in rows if row.is_owed), start=Decimal(0))


def data_export(person: User) -> Iterator[ExportPart]:
    rows = Participant.objects.filter(user=person).order_by("pk")
    yield ExportPart(
        "studies",
        _("Studies that a panel sent you to, and what the panel calls you."),
        rows.values(
            "panel_id",
            "session_id",
            "state",
            "arrived_at",
            "ended_at",
            bonus=F("paid_bonus__amount"),
            study_name=F("study__name"),
            panel=F("study__panel"),
        ),
    )
