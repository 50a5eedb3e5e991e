"""What needs somebody, over all projects that they manage or do research in, and background work that failed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Release, Round, RoundState
from annotation.rules.waiting import WaitingPage, WaitsFor
from annotation.selectors.control_room import RoomRow, room_rows
from annotation.selectors.overview import project_progress
from core.allocation.models import Batch, BatchState
from core.conversation.selectors import waiting_by_project
from core.images.models import CollectionImage
from core.images.permissions import imports_for
from core.images.selectors.attributions import lacks_licence
from core.images.selectors.filters import NONE
from core.jobs.models import JobState
from core.people.models import ConsentText, Invitation, InvitationMail, MailState, Membership, Project, Role, User
from core.people.selectors.invitations import InvitationsShown
from core.people.selectors.texts import has_gaps
from gapgame.models import Player, PlayerStatus
from office.dashboard.models import DismissedNeed
from office.dashboard.rules.needs import EXPIRES_WITHIN, FAILED_WITHIN, Need, NeedKind, ProjectNeeds, in_order
from office.practice.models import PracticeAttempt, PracticeSet
from research.inference.models import RunState
from research.inference.permissions import runs_for, trainings_for
from research.scoring.models import Pass, ReferenceTranslation
from research.selection.models import Selection
from sxs_eval.models import RaterState, RaterStatus

NOT_GIVEN: int | None = None
"""The project of what belongs to none yet."""


@dataclass(frozen=True)
class _FailureSource:
    """Rows of one kind, and paths from them: to their project, the arguments of `page`, a title, and the request.

    The first title that is not empty stands in `text`.
    """

    name: str
    text: str
    rows: QuerySet[Any]
    page: str
    arguments: Sequence[str] = ("pk",)
    titles: Sequence[str] = ("name",)
    project: str = "project"
    asked: str = "created_at"


def failures(
    user: User, *, managed: Collection[int], researched: Collection[int], now: datetime
) -> Iterator[tuple[int | None, Need]]:
    """Yield what failed lately in projects that `user` manages or does research in, one query for each kind."""
    dismissed = set(DismissedNeed.objects.filter(person=user).values_list("about", flat=True))
    since = now - FAILED_WITHIN
    for source in (*_failed_for_researchers(user, researched), *_failed_for_managers(user, managed)):
        rows = source.rows.annotate(failed_at=Coalesce("finished_at", source.asked)).filter(failed_at__gte=since)
        for row in rows.order_by("-failed_at").values(
            *{"pk", "failed_at", source.project, *source.arguments, *source.titles}
        ):
            about = f"{source.name}:{row['pk']}"
            if about not in dismissed:
                text = source.text % {"name": next(filter(None, (row[title] for title in source.titles)))}
                url = reverse(source.page, args=[row[argument] for argument in source.arguments])
                yield row[source.project], Need(NeedKind.FAILURE, text, url, at=row["failed_at"], about=about)


def _failed_for_researchers(user: User, projects: Collection[int]) -> list[_FailureSource]:
    failed = Q(project__in=projects) | Q(project=None, created_by=user), Q(state=RunState.FAILED)
    later = Pass.objects.filter(scoring=OuterRef("scoring"), pk__gt=OuterRef("pk"))
    return [
        _FailureSource(
            "run",
            _("Run of %(name)s failed"),
            runs_for(user).filter(*failed, trial_image=None),
            "inference:run-show",
            titles=("model__name", "encoder__name"),
        ),
        _FailureSource(
            "training",
            _("Training of %(name)s failed"),
            trainings_for(user).filter(*failed),
            "inference:training-show",
        ),
        _FailureSource(
            "pass",
            _("Scores of %(name)s were not computed"),
            Pass.objects.filter(~Exists(later), state=JobState.FAILED, scoring__project__in=projects),
            "scoring:scoring-show",
            ("scoring__project__slug", "scoring"),
            ("scoring__model__name",),
            "scoring__project",
            "asked_at",
        ),
        _FailureSource(
            "translation",
            _("Translation of the references %(name)s failed"),
            ReferenceTranslation.objects.filter(state=JobState.FAILED, made__project__in=projects),
            "scoring:reference-show",
            ("made__project__slug", "made"),
            ("made__name",),
            "made__project",
            "asked_at",
        ),
    ]


def _failed_for_managers(user: User, projects: Collection[int]) -> list[_FailureSource]:
    own = Q(project__in=projects) | Q(project=None, created_by=user)
    return [
        _FailureSource(
            "import",
            _("Import of %(name)s failed"),
            imports_for(user).filter(own, state=JobState.FAILED),
            "images:import-show",
            titles=("source_name",),
        ),
        _FailureSource(
            "release",
            _("Release %(name)s could not be made"),
            Release.objects.filter(state=JobState.FAILED, project__in=projects),
            "annotation:release-show",
            ("project__slug", "number"),
            ("number",),
        ),
        _FailureSource(
            "selection",
            _("Selection %(name)s failed"),
            Selection.objects.filter(state=JobState.FAILED, project__in=projects),
            "corpora:selection-show",
            ("project__slug", "number"),
        ),
    ]


NAMED = 4
"""Languages named in one line; the others are counted."""
UNDECIDED = (RoundState.PLANNED, RoundState.OPEN, RoundState.CLOSED)
Found = Iterator[tuple[int | None, Need]]


def needs_of(user: User, *, now: datetime) -> list[ProjectNeeds]:
    """List projects with needs by name, and what belongs to no project after them.

    Per project, the queries of its overview; everything else is one query each, over all projects.
    """
    roles = defaultdict(set)
    member = Membership.objects.filter(user=user, project__archived_at=None)
    for project, role in member.values_list("project", "role"):
        roles[role].add(project)
    managed = list(Project.objects.filter(pk__in=roles[Role.MANAGER]))
    researched = Project.objects.in_bulk(roles[Role.MANAGER] | roles[Role.RESEARCHER])
    found: dict[int | None, list[Need]] = defaultdict(list)
    for project_id, need in failures(user, managed=roles[Role.MANAGER], researched=researched, now=now):
        found[project_id].append(need)
    for project_id, need in _of_managers(managed, now):
        found[project_id].append(need)
    named = sorted(((project.name, project) for project in researched.values()), key=lambda one: (one[0], one[1].pk))
    listed = [
        ProjectNeeds(project.slug, name, in_order(found[project.pk])) for name, project in named if found[project.pk]
    ]
    if found[NOT_GIVEN]:
        listed.append(ProjectNeeds("", str(_("Without a project")), in_order(found[NOT_GIVEN])))
    return listed


def needs_of_practice(project: Project) -> list[Need]:
    """List the people of one project who have no tries left, as on the page of all needs."""
    return in_order(need for _project, need in _failed_practices({project.pk: project.slug}))


def number_of(needs: Iterable[ProjectNeeds]) -> int:
    return sum(len(one.needs) for one in needs)


def _of_managers(projects: Sequence[Project], now: datetime) -> Found:
    undecided = Round.objects.filter(project__in=projects, state__in=UNDECIDED)
    going = set(undecided.values_list("project", flat=True).distinct())
    slugs = {project.pk: project.slug for project in projects}
    for project in projects:
        if project.pk in going:
            rows = room_rows(project_progress(project, now=now), now=now)
            yield from ((project.pk, need) for need in _decisions(project, rows))
    yield from _inboxes(slugs)
    yield from _expiring(slugs, now)
    yield from _paused_raters(slugs)
    yield from _marked_players(slugs)
    yield from _failed_practices(slugs)
    yield from _unsent_invitations(slugs, now)
    yield from _licences(slugs, going)
    yield from _consent_texts(projects, going)


def _decisions(project: Project, rows: Iterable[RoomRow]) -> Iterator[Need]:
    """Yield one line for each thing to do, with the languages that wait for it."""
    same = defaultdict(list)
    for row in rows:
        if row.is_current and row.waiting.who == WaitsFor.YOU:
            same[row.waiting.short].append(row)
    for text, waiting in same.items():
        languages = [row.round.language.english_name for row in waiting]
        detail = languages[:NAMED]
        if rest := len(languages) - NAMED:
            detail += [ngettext("%(number)d other", "%(number)d others", rest) % {"number": rest}] if rest > 0 else []
        first = waiting[0]
        if len(waiting) > 1:
            url = f"{reverse('annotation:project-show', args=[project.slug])}?{urlencode({'waits': WaitsFor.YOU})}"
        elif first.waiting.where == WaitingPage.SETTINGS:
            url = reverse("annotation:round-settings", args=[project.slug, first.round.pk])
        else:
            url = reverse("annotation:language-show", args=[project.slug, first.round.language_id])
        alone = first.waiting.what if len(waiting) == 1 else text
        yield Need(NeedKind.DECISION, alone, url, get_text_list(detail, _("and")))


def _inboxes(slugs: dict[int, str]) -> Found:
    for project, number in waiting_by_project(slugs).items():
        text = ngettext("%(number)d message to answer", "%(number)d messages to answer", number)
        url = reverse("conversation:inbox-show", args=[slugs[project]])
        yield project, Need(NeedKind.PEOPLE, text % {"number": number}, url)


def _expiring(slugs: dict[int, str], now: datetime) -> Found:
    soon = Batch.objects.filter(state=BatchState.OPEN, deadline__gt=now, deadline__lte=now + EXPIRES_WITHIN)
    for path, page in (
        ("pool__round__project", "annotation:annotator-list"),
        ("pool__comparison__project", "sxs_eval:comparison-list"),
    ):
        counted = soon.filter(**{f"{path}__in": list(slugs)}).values_list(path).annotate(Count("pk")).order_by()
        for project, number in counted:
            text = ngettext(
                "%(number)d batch expires within 24 hours", "%(number)d batches expire within 24 hours", number
            )
            yield project, Need(NeedKind.DEADLINE, text % {"number": number}, reverse(page, args=[slugs[project]]))


def _paused_raters(slugs: dict[int, str]) -> Found:
    paused = RaterStatus.objects.filter(state=RaterState.PAUSED, comparison__project__in=list(slugs))
    columns = ("comparison__project", "comparison", "comparison__language__english_name")
    for project, comparison, language, number in paused.values_list(*columns).annotate(Count("pk")).order_by():
        text = ngettext("%(number)d paused rater to decide about", "%(number)d paused raters to decide about", number)
        url = reverse("sxs_eval:rater-list", args=[slugs[project], comparison])
        yield project, Need(NeedKind.PEOPLE, text % {"number": number}, url, language)


def _marked_players(slugs: dict[int, str]) -> Found:
    marked = Player.objects.filter(
        is_marked=True, status=PlayerStatus.PLAYING, season__project__in=list(slugs), season__closed_at=None
    )
    columns = ("season__project", "season__slug", "season__name")
    for project, season, name, number in marked.values_list(*columns).annotate(Count("pk")).order_by():
        text = ngettext(
            "%(number)d player whose play looks scripted", "%(number)d players whose play looks scripted", number
        )
        url = reverse("gapgame:player-list", args=[slugs[project], season])
        yield project, Need(NeedKind.PEOPLE, text % {"number": number}, url, name)


def _failed_practices(slugs: dict[int, str]) -> Found:
    """Yield people who used every try at a practice that is required: only a manager can allow another."""
    newer = PracticeSet.objects.filter(
        project=OuterRef("practice__project"),
        kind=OuterRef("practice__kind"),
        version__gt=OuterRef("practice__version"),
    )
    tries = (
        PracticeAttempt.objects.filter(
            ~Exists(newer), practice__project__in=list(slugs), practice__is_required=True, is_forgiven=False
        )
        .values("practice__project", "person", "language", "practice")
        .annotate(
            used=Count("pk"), open=Count("pk", filter=Q(passed=None)), passed_once=Count("pk", filter=Q(passed=True))
        )
        .filter(open=0, passed_once=0, used__gte=F("practice__tries"))
    )
    people: dict[int, set[int]] = defaultdict(set)
    for project, person in tries.order_by().values_list("practice__project", "person"):
        people[project].add(person)
    written = PracticeAttempt.objects.filter(
        practice__project__in=people, passed=False, is_forgiven=False, practice__is_required=True
    ).exclude(message="")
    writers: dict[int, set[int]] = defaultdict(set)
    for attempt in written.select_related("person", "practice"):
        project = attempt.practice.project_id
        if attempt.person_id not in people[project]:
            continue
        writers[project].add(attempt.person_id)
        text = _("%(name)s did not pass the practice and wrote to you") % {"name": attempt.person.username}
        url = reverse("practice:attempt-review", args=[slugs[project], attempt.pk])
        yield project, Need(NeedKind.PEOPLE, text, url, at=attempt.finished_at)
    for project, persons in people.items():
        if number := len(persons - writers[project]):
            text = ngettext(
                "%(number)d person has no tries left at the practice",
                "%(number)d people have no tries left at the practice",
                number,
            )
            url = reverse("practice:practice-list", args=[slugs[project]])
            yield project, Need(NeedKind.PEOPLE, text % {"number": number}, url)


def _unsent_invitations(slugs: dict[int, str], now: datetime) -> Found:
    later = InvitationMail.objects.filter(invitation=OuterRef("invitation"), pk__gt=OuterRef("pk"))
    failed = InvitationMail.objects.filter(~Exists(later), state=MailState.FAILED)
    # From what failed, which is little: looking up the last e-mail of each invitation takes ten times as long.
    unsent = Invitation.objects.filter(
        pk__in=list(failed.filter(invitation__project__in=list(slugs)).values_list("invitation", flat=True)),
        revoked_at=None,
        expires_at__gt=now,
        places_taken__lt=F("places"),
    )
    for project, number in unsent.order_by().values_list("project").annotate(Count("pk")):
        text = ngettext("%(number)d invitation was not sent", "%(number)d invitations were not sent", number)
        shown = urlencode({"shown": InvitationsShown.NOT_SENT})
        url = f"{reverse('people:invitation-list', args=[slugs[project]])}?{shown}"
        yield project, Need(NeedKind.PEOPLE, text % {"number": number}, url)


def _licences(slugs: dict[int, str], going: set[int]) -> Found:
    used = Round.objects.filter(project__in=going).values_list("project", "collection", "collection__slug").distinct()
    pairs = list(used.order_by())
    entries = CollectionImage.objects.filter(lacks_licence("image__"), collection__in={pair[1] for pair in pairs})
    missing = dict(entries.order_by().values_list("collection").annotate(Count("pk")))
    for project, collection, slug in pairs:
        if number := missing.get(collection, 0):
            text = ngettext(
                "%(number)d image has no licence: releases will refuse it",
                "%(number)d images have no licence: releases will refuse them",
                number,
            )
            url = f"{reverse('images:collection-show', args=[slug])}?{urlencode({'licence': NONE})}"
            yield project, Need(NeedKind.SETUP, text % {"number": number}, url)


def _consent_texts(projects: Iterable[Project], going: set[int]) -> Found:
    newest = {text.project_id: text for text in ConsentText.objects.filter(project__in=going).order_by("version")}
    for project in projects:
        if project.pk in going and has_gaps(newest.get(project.pk)):
            url = reverse("people:consent-publish", args=[project.slug])
            yield project.pk, Need(NeedKind.SETUP, str(_("The consent text still has gaps to fill in")), url)
