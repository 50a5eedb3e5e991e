"""Hours, work, quality and cost of everybody who worked in a project, however they came."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from annotation.models import Round
from annotation.selectors.work_done import WorkDone, work_done
from core.languages.models import Language
from core.people.models import Project, User
from core.people.rules.pay import MS_PER_HOUR, PromisedPay, cost_of
from core.people.selectors.rates import WorkKey
from office.recruitment.models import HourlyRate, Participant, ParticipantState
from office.recruitment.rules.pay import cost_of_participant, divided_cents
from sxs_eval.models import Comparison
from sxs_eval.selectors.for_others import JudgingDone, judging_done


@dataclass(kw_only=True)
class CostRow:
    """One person in one language. `cost` is None while there is no rate; that of a panel's person is what it pays."""

    person: User
    language: Language
    done: WorkDone
    judging: JudgingDone
    panel_id: str = ""
    rate: Decimal | None = None
    currency: str = ""
    cost: Decimal | None = None

    @property
    def active_ms(self) -> int:
        return self.done.active_ms + self.judging.active_ms

    @property
    def hours(self) -> float:
        return self.active_ms / MS_PER_HOUR

    @property
    def good(self) -> float | None:
        return self.done.good / self.done.verified if self.done.verified else None

    @property
    def agreement(self) -> float | None:
        return self.done.same / self.done.pairs if self.done.pairs else None

    @property
    def checks_passed(self) -> float | None:
        return self.judging.passed / self.judging.checks if self.judging.checks else None


@dataclass
class CostTotals:
    people: int = 0
    captions: int = 0
    ratings: int = 0
    judgements: int = 0
    active_ms: int = 0
    costs: dict[str, Decimal] = field(default_factory=dict)

    @property
    def hours(self) -> float:
        return self.active_ms / MS_PER_HOUR


def cost_rows(project: Project) -> list[CostRow]:
    """List everybody who submitted work that counts, by name and language; how many do not change the queries."""
    done, judging = work_done(project), judging_done(project)
    keys = {*done, *judging}
    people = User.objects.in_bulk({person for person, _tag in keys})
    languages = Language.objects.in_bulk({tag for _person, tag in keys})
    rows = [
        CostRow(
            person=people[person],
            language=languages[tag],
            done=done.get((person, tag), WorkDone()),
            judging=judging.get((person, tag), JudgingDone()),
        )
        for person, tag in keys
    ]
    rows.sort(key=lambda row: (row.person.username.casefold(), row.language.english_name))
    _add_costs(project, rows)
    return rows


def totals_of(rows: Sequence[CostRow]) -> CostTotals:
    totals = CostTotals(people=len({row.person.pk for row in rows}))
    for row in rows:
        totals.captions += row.done.captions
        totals.ratings += row.done.ratings
        totals.judgements += row.judging.judgements
        totals.active_ms += row.active_ms
        if row.cost is not None:
            totals.costs[row.currency] = totals.costs.get(row.currency, Decimal(0)) + row.cost
    return totals


def rate_of(project: Project) -> tuple[Decimal, str] | None:
    """Return what an hour costs in the languages without a rate of their own, and in which currency."""
    return HourlyRate.objects.filter(project=project, language=None).values_list("rate", "currency").first()


def rates_of(project: Project) -> Mapping[str, HourlyRate]:
    """Return the rates by language tag; that of the other languages is under the empty one."""
    return {rate.language_id or "": rate for rate in HourlyRate.objects.filter(project=project)}


def promises_to(person: User, projects: Collection[int]) -> Callable[[WorkKey], PromisedPay | None]:
    """Return how `person` is paid in a language of `projects`: by the study that sent them, else by the hour."""
    rates = {(one.project_id, one.language_id or ""): one for one in HourlyRate.objects.filter(project__in=projects)}
    parts = Participant.objects.filter(user=person, study__project__in=projects).select_related("study").order_by("pk")
    studies = {part.study.project_id: part for part in parts}

    def promise(key: WorkKey) -> PromisedPay | None:
        if part := studies.get(key[0]):
            is_working = part.state == ParticipantState.WORKING
            return PromisedPay(part.study.currency, reward=part.study.reward) if is_working else None
        rate = rates.get(key) or rates.get((key[0], ""))
        return PromisedPay(rate.currency, rate=rate.rate) if rate else None

    return promise


def languages_of_work(project: Project) -> list[Language]:
    """List the languages in which a project has rounds or comparisons."""
    tags = {
        *Round.objects.filter(project=project).values_list("language", flat=True),
        *Comparison.objects.filter(project=project).values_list("language", flat=True),
    }
    return list(Language.objects.filter(pk__in=tags))


def _add_costs(project: Project, rows: Sequence[CostRow]) -> None:
    rates = rates_of(project)
    studies: dict[int, list[Participant]] = defaultdict(list)
    for one in Participant.objects.filter(study__project=project, user__isnull=False).select_related("study"):
        studies[one.user_id or 0].append(one)
    of_person: dict[int, list[CostRow]] = defaultdict(list)
    for row in rows:
        of_person[row.person.pk].append(row)
        rate = rates.get(row.language.pk) or rates.get("")
        if rate is not None and row.person.pk not in studies:
            row.rate, row.currency = rate.rate, rate.currency
            row.cost = cost_of(active_ms=row.active_ms, rate=rate.rate)
    for person, participations in studies.items():
        if person in of_person:
            _add_cost_of_participant(of_person[person], participations)


def _add_cost_of_participant(rows: Sequence[CostRow], participations: Sequence[Participant]) -> None:
    """Divide what the panel pays among the person's languages by time; studies in other currencies are left out."""
    last = participations[-1]
    rewards = [
        one.study.reward
        for one in participations
        if one.state == ParticipantState.DONE and one.study.currency == last.study.currency
    ]
    times = [row.active_ms for row in rows]
    total = cost_of_participant(active_ms=sum(times), rewards=rewards, rate=last.study.rate)
    for row, cost in zip(rows, divided_cents(total, times), strict=True):
        row.panel_id, row.rate, row.currency, row.cost = last.panel_id, last.study.rate, last.study.currency, cost
