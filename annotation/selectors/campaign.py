"""The campaign of one language: its rounds in order, what each waits for, and who works on it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from annotation.models import (
    DECIDED,
    AnnotatorState,
    AnnotatorStatus,
    Exclusion,
    Guidelines,
    Round,
    RoundFigures,
    RoundKind,
    RoundState,
    Tally,
)
from annotation.permissions import REVIEWER_ROLES
from annotation.rules import campaign as rules
from annotation.rules.bulk_actions import consequence
from annotation.rules.campaign import CampaignStep, RoundAction
from annotation.selectors.figures import AssignedWork, assigned_work, tallies_of
from annotation.selectors.overview import coverage_of, in_campaign
from core.languages.models import Language
from core.people.models import Membership, Project, User
from research.inference.permissions import models_in
from research.inference.selectors.assigned_work import warning_of_examples


@dataclass(frozen=True, kw_only=True)
class RoundStep:
    """A round with the actions that are allowed now. `wanted` and `done` count captions, or ratings of them."""

    round: Round
    offers: Sequence[Mapping[str, Any]]
    hint: str
    wanted: int
    done: int
    assigned: int
    batches: int
    may_be_verified: bool
    is_next: bool
    is_complete: bool

    @property
    def actions(self) -> list[RoundAction]:
        return [offer["action"] for offer in self.offers]

    @property
    def has_decisions(self) -> bool:
        """Whether there is anything to decide about it."""
        return bool(self.offers or self.may_be_verified or (self.batches and self.state != RoundState.OPEN))

    @property
    def drawn(self) -> int | None:
        """Images, or captions to be rated: the actual number, or before that the planned one."""
        if self.round.sample_size and self.is_worked_on and self.wanted:
            return self.wanted // self.round.pool.replication
        return self.round.sample_size

    @property
    def state(self) -> RoundState:
        return RoundState(self.round.state)

    @property
    def is_worked_on(self) -> bool:
        return self.state in (RoundState.OPEN, RoundState.CLOSED, RoundState.ACCEPTED, RoundState.REJECTED)


@dataclass(frozen=True, kw_only=True)
class PersonRow:
    """What somebody did in a language, and the decision about them."""

    person: User
    status: AnnotatorStatus | None
    exclusion: Exclusion | None
    captions: int
    ratings: int
    batches: int
    is_member: bool

    @property
    def is_paused(self) -> bool:
        return bool(self.status and self.status.state == AnnotatorState.PAUSED)

    @property
    def is_qualified(self) -> bool:
        return bool(self.status and self.status.state == AnnotatorState.QUALIFIED)


@dataclass(frozen=True, kw_only=True)
class LanguagePage:
    language: Language
    steps: Sequence[RoundStep]
    why_no_pilot: str | None
    newest_guidelines: int
    people: Sequence[PersonRow]
    warning: str

    @property
    def awaits_tasks(self) -> bool:
        return any(step.round.awaits_tasks for step in self.steps)

    @property
    def needs_pilot(self) -> bool:
        """Whether the only possible step is to plan a pilot, or to say why there is none."""
        return self.why_no_pilot is None and not any(step.is_next for step in self.steps)

    @property
    def is_decided(self) -> bool:
        """Whether the main round is accepted and nothing waits."""
        rounds = [step.round for step in self.steps]
        is_main_accepted = any(one.kind == RoundKind.MAIN and one.state == RoundState.ACCEPTED for one in rounds)
        return is_main_accepted and not any(one.state in rules.UNDECIDED for one in rounds)

    @property
    def pilot_images(self) -> int:
        """The size of the last pilot, as planned."""
        sizes = [step.round.sample_size for step in self.steps if step.round.kind == RoundKind.PILOT]
        return next((size for size in reversed(sizes) if size), rules.PILOT_IMAGES)


def steps_of(rounds: Iterable[Round]) -> list[CampaignStep]:
    return [CampaignStep(each.pk, each.kind, each.number, each.state, each.verifies_id) for each in rounds]


def rounds_of(project: Project, language: Language) -> list[Round]:
    """Pilots, each followed by its rating, then the main round and its verification."""
    rounds = Round.objects.filter(project=project, language=language).select_related(
        "language", "pool", "collection", "verifies", "decided_by", "guidelines"
    )
    return sorted(rounds.defer("guidelines__rating", "guidelines__writing"), key=in_campaign)


def language_page(project: Project, language: Language, *, now: datetime) -> LanguagePage:
    rounds = rounds_of(project, language)
    done: dict[int, Counter[int]] = defaultdict(Counter)
    work = tallies_of(Round.objects.filter(project=project, language=language), columns=("captions",))
    for (round_id, person), sums in work:
        done[round_id][person] += sums.captions
    assigned = assigned_work(rounds, now=now)
    steps = steps_of(rounds)
    return LanguagePage(
        language=language,
        steps=_steps(rounds, steps, {pk: sum(by.values()) for pk, by in done.items()}, assigned),
        why_no_pilot=rules.why_no_pilot(steps),
        newest_guidelines=Guidelines.objects.filter(project=project).latest("version").version,
        people=people_of(project, language, rounds, done, assigned),
        warning=warning_of_examples(project, *{each.collection_id for each in rounds if each.state not in DECIDED}),
    )


def _steps(
    rounds: Sequence[Round],
    steps: Sequence[CampaignStep],
    done: Mapping[int, int],
    assigned: Mapping[tuple[int, int], AssignedWork],
) -> list[RoundStep]:
    kept = RoundFigures.objects.in_bulk([each.pk for each in rounds])
    rows, is_next_found = [], False
    for round, step in zip(rounds, steps, strict=True):
        unfinished = [work for (round_id, _person), work in assigned.items() if round_id == round.pk]
        figures = kept.get(round.pk)
        count = done.get(round.pk, 0)
        if round.source and figures:
            # Captions from a file have no author, and so no tally.
            count = figures.figures.get("captions", 0)
        wanted = max(figures.wanted if figures else 0, count)
        is_next = not is_next_found and step.state in rules.UNDECIDED and _is_next(step, steps)
        is_next_found = is_next_found or is_next
        is_complete = 0 < wanted == count
        rows.append(
            RoundStep(
                round=round,
                offers=_offers(step, steps, is_next=is_next, is_complete=is_complete),
                hint=_hint(step, steps, is_complete=is_complete, missing=wanted - count),
                wanted=wanted,
                done=count,
                assigned=sum(work.images for work in unfinished),
                batches=sum(work.batches for work in unfinished),
                may_be_verified=rules.why_no_verification(step, steps) is None,
                is_next=is_next,
                is_complete=is_complete,
            )
        )
    return rows


def _offers(
    step: CampaignStep, steps: Sequence[CampaignStep], *, is_next: bool, is_complete: bool
) -> list[dict[str, Any]]:
    """List what is allowed now, what follows from it, and whether it is the one to take next."""
    come_next = {RoundAction.OPEN: is_next, RoundAction.CLOSE: is_complete, RoundAction.ACCEPT: is_next}
    return [
        {
            "action": action,
            "consequence": consequence(action, step, steps),
            "is_next": come_next.get(action, False),
        }
        for action in rules.actions_of(step, steps)
    ]


def _is_next(step: CampaignStep, steps: Sequence[CampaignStep]) -> bool:
    """Return whether something can be done with it now; a closed pilot waits for its rating."""
    if step.state == RoundState.CLOSED:
        return rules.why_not(RoundAction.ACCEPT, step, steps) is None
    return step.state == RoundState.OPEN or rules.why_not(RoundAction.OPEN, step, steps) is None


def _hint(step: CampaignStep, steps: Sequence[CampaignStep], *, is_complete: bool, missing: int) -> str:
    """Return what the round waits for."""
    if step.state == RoundState.PLANNED:
        return rules.why_not(RoundAction.OPEN, step, steps) or _("You can open it now.")
    if step.state == RoundState.OPEN:
        return _("Everything is submitted. Close the round to continue.") if is_complete else ""
    if step.state == RoundState.CLOSED:
        return rules.why_not(RoundAction.ACCEPT, step, steps) or _("Check what was submitted, then decide.")
    if missing and step.kind == RoundKind.MAIN and rules.why_not(RoundAction.REOPEN, step, steps) is None:
        return _("Missing captions: %(number)d. Open this round again to have them written.") % {"number": missing}
    return ""


def reopenable(rounds: Sequence[Round]) -> list[Round]:
    """Return those of a project's rounds that can be opened again now."""
    languages = Round.objects.filter(
        project__in={each.project_id for each in rounds}, language__in={each.language_id for each in rounds}
    )
    by_language: dict[tuple[int, str], list[Round]] = defaultdict(list)
    for each in languages.only("project", "language", "kind", "number", "state", "verifies"):
        by_language[each.project_id, each.language_id].append(each)
    steps = {where: steps_of(each) for where, each in by_language.items()}
    allowed = {
        step.key
        for of_language in steps.values()
        for step in of_language
        if rules.why_not(RoundAction.REOPEN, step, of_language) is None
    }
    return [each for each in rounds if each.pk in allowed]


def images_to_draw(project: Project, language: Language) -> int:
    """Return how many images a pilot of the language can have at most."""
    rounds = Round.objects.filter(project=project, language=language).exclude(kind=RoundKind.VERIFICATION)
    collection = rounds.select_related("collection").latest("pk").collection
    return coverage_of(collection, models_in(project)).by_any


def person_row(project: Project, language: Language, person: User, *, now: datetime) -> PersonRow:
    page = language_page(project, language, now=now)
    return next(row for row in page.people if row.person == person)


def people_of(
    project: Project,
    language: Language,
    rounds: Sequence[Round],
    done: Mapping[int, Mapping[int, int]],
    assigned: Mapping[tuple[int, int], AssignedWork],
) -> list[PersonRow]:
    """List those who work, worked or could work in a language, by name."""
    members = set(_members(project, language).values_list("user", flat=True))
    took_part = {person for by in done.values() for person in by} | {person for _round, person in assigned}
    statuses = {one.person_id: one for one in AnnotatorStatus.objects.filter(project=project, language=language)}
    exclusions = {
        one.person_id: one for one in Exclusion.objects.filter(project=project, language=language, undone_at=None)
    }
    rating = {each.pk for each in rounds if each.kind == RoundKind.VERIFICATION}
    people = User.objects.filter(pk__in=members | took_part | set(statuses) | set(exclusions))
    return [
        PersonRow(
            person=person,
            status=statuses.get(person.pk),
            exclusion=exclusions.get(person.pk),
            captions=sum(by.get(person.pk, 0) for pk, by in done.items() if pk not in rating),
            ratings=sum(by.get(person.pk, 0) for pk, by in done.items() if pk in rating),
            batches=sum(work.batches for (_round, who), work in assigned.items() if who == person.pk),
            is_member=person.pk in members,
        )
        for person in people.order_by("username")
    ]


def may_be_decided_about(project: Project, language: Language) -> Q:
    """List the people whom a manager may decide about in a language: those who work or worked on it."""
    return (
        Q(pk__in=_members(project, language).values("user"))
        | Q(pk__in=Tally.objects.filter(round__project=project, round__language=language).values("person"))
        | Q(pk__in=AnnotatorStatus.objects.filter(project=project, language=language).values("person"))
    )


def _members(project: Project, language: Language) -> QuerySet[Membership]:
    return Membership.objects.filter(project=project, role__in=REVIEWER_ROLES, user__language_skills__language=language)
