"""The e-mails that people get about their work: one row for each occasion, queued by sweeps, then written and sent."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urljoin
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.mail import EmailMessage, EmailMultiAlternatives
from django.db.models import Max, Q, QuerySet
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.functional import lazy
from django.utils.translation import gettext_noop, override

from annotation.models import CorrectionRequest, Feedback
from annotation.permissions import readable_feedback
from annotation.selectors.verification import rating_work_of
from annotation.selectors.work import work_of
from core.allocation.models import Batch, BatchState
from core.allocation.selectors import OwnWork
from core.conversation.selectors import UNREAD_REPLIES
from core.languages.rules.page_languages import COMPLETE
from core.people.models import Project, Role, TextKind, User
from core.people.services.email_texts import write_email
from core.people.services.mails import MailOutbox
from core.people.templatetags.moments import in_words
from office.dashboard.models import EmailChoices, Notice, NoticeKind, WorkSeen
from office.dashboard.rules.emails import Digest, period_due, token_to_stop, zone_named
from office.dashboard.selectors.choices import choices_of, has_confirmed_address, reachable, who_want
from office.dashboard.selectors.needs import needs_of, number_of
from sxs_eval.selectors.work import work_of as judging_work_of

NEWS_FOR = timedelta(days=2)
"""(ours) Nothing older is news: an installation that begins to send e-mails sends none about the past."""
EXPIRES_WITHIN = timedelta(days=1)
WORKERS = (Role.ANNOTATOR, Role.RATER)


def queue_notices(*, now: datetime) -> None:
    """Queue an e-mail for each new occasion."""
    people = reachable(*WORKERS)
    feedback = Feedback.objects.filter(acknowledged_at=None)
    rewrites = CorrectionRequest.objects.filter(answered_at=None)
    _queue(_news(NoticeKind.FEEDBACK, feedback, "person", people, now))
    _queue(_news(NoticeKind.REWRITE, rewrites, "caption__author", people, now))
    _queue(_news(NoticeKind.REPLY, UNREAD_REPLIES, "thread__person", reachable(*WORKERS, Role.PLAYER), now))
    _queue(_deadlines(people, now))


def queue_about_work(*, now: datetime) -> None:
    """Queue an e-mail for people who have work again and had none when it was last looked at."""
    seen = dict(WorkSeen.objects.values_list("person", "has_work"))
    notices, changed = [], []
    for person in who_want(NoticeKind.WORK, reachable(*WORKERS)):
        has_work = has_work_now(person, now)
        if has_work and seen.get(person.pk) is False:
            notices.append(_notice(person.pk, NoticeKind.WORK, now.date().isoformat(), now))
        if has_work != seen.get(person.pk):
            changed.append(WorkSeen(person=person, has_work=has_work))
    _queue(notices)
    # Afterwards: if this is interrupted, the next sweep finds the same people, and the same day.
    WorkSeen.objects.bulk_create(
        changed, update_conflicts=True, unique_fields=["person"], update_fields=["has_work"], batch_size=500
    )


def queue_digests(*, now: datetime) -> None:
    """Queue the digests that are due."""
    people = reachable(Role.MANAGER, Role.RESEARCHER)
    chosen = {one.person_id: one for one in EmailChoices.objects.filter(person__in=people)}
    due = []
    for pk in people.values_list("pk", flat=True):
        choices = chosen.get(pk) or EmailChoices()
        if choices.digest != Digest.OFF and (
            period := period_due(choices.digest, now.astimezone(zone_named(choices.zone)))
        ):
            due.append(_notice(pk, NoticeKind.DIGEST, period, now))
    _queue(due)


def has_work_now(person: User, now: datetime) -> bool:
    return bool(_projects_with_work(person, now))


def _projects_with_work(person: User, now: datetime) -> set[Project]:
    works: Iterable[OwnWork[Any]] = (*work_of(person, now), *rating_work_of(person, now), *judging_work_of(person, now))
    return {one.project for one in works if one.has_something_to_do and not one.missing_requirements}


def _news(kind: NoticeKind, rows: QuerySet[Any], person: str, people: QuerySet[User], now: datetime) -> list[Notice]:
    """Return an e-mail for everybody with something newer than the last one of this kind; at most one a day."""
    newest = rows.filter(at__gt=now - NEWS_FOR, **{f"{person}__in": who_want(kind, people)})
    earlier = Notice.objects.filter(kind=kind).order_by()
    last = dict(earlier.values_list("person").annotate(Max("queued_at")))
    day = now.date().isoformat()
    return [
        _notice(pk, kind, day, now)
        for pk, at in newest.order_by().values_list(person).annotate(Max("at"))
        if pk not in last or at > last[pk]
    ]


def _deadlines(people: QuerySet[User], now: datetime) -> list[Notice]:
    soon = Batch.objects.filter(
        state=BatchState.OPEN,
        deadline__gt=now,
        deadline__lte=now + EXPIRES_WITHIN,
        # Of a lease that is no longer than this people know when they take the batch.
        lease_s__gt=EXPIRES_WITHIN.total_seconds(),
        person__in=who_want(NoticeKind.DEADLINE, people),
    )
    return [
        _notice(person, NoticeKind.DEADLINE, f"{batch}:{deadline.astimezone(ZoneInfo('UTC')):%Y-%m-%d}", now)
        for batch, person, deadline in soon.values_list("pk", "person", "deadline")
    ]


def _notice(person: int, kind: NoticeKind, about: str, now: datetime) -> Notice:
    return Notice(person_id=person, kind=kind, about=about, due_at=now, queued_at=now)


def _queue(notices: Iterable[Notice]) -> None:
    Notice.objects.bulk_create(notices, ignore_conflicts=True, batch_size=500)


NOT_WANTED = gettext_noop("The person does not want such e-mails, or has no confirmed address.")
NOTHING_NEW = gettext_noop("There was nothing left to report.")


@dataclass(frozen=True)
class _NoticeContent:
    """What an e-mail is about: `path` is where its link leads, `values` are what its text fills in."""

    path: str
    projects: Collection[Project]
    values: Mapping[str, Any] = field(default_factory=dict)


def compose(notice: Notice, now: datetime) -> EmailMessage | str:
    person = notice.person
    kind = NoticeKind(notice.kind)
    choices = choices_of(person)
    if not person.is_active or not choices.wants(kind) or not has_confirmed_address(person):
        return NOT_WANTED
    language = person.interface_language or settings.LANGUAGE_CODE
    if kind == NoticeKind.DIGEST and language not in COMPLETE:
        language = settings.LANGUAGE_CODE
    with override(language):
        content = _CONTENT[kind](notice, now)
        if content is None:
            return NOTHING_NEW
        stop = urljoin(settings.SITE_URL, reverse("dashboard:email-stop", args=[token_to_stop(person.pk, kind)]))
        url = urljoin(settings.SITE_URL, content.path)
        context: dict[str, Any] = {
            "kind": kind,
            "url": url,
            "site": settings.SITE_URL.rstrip("/"),
            "stop_url": stop,
            "choices_url": urljoin(settings.SITE_URL, reverse("dashboard:email-choices")),
        }
        if kind == NoticeKind.DIGEST:
            name, context = "digest", context | dict(content.values)
            subject = render_to_string("dashboard/email/digest_subject.txt", context).strip()
        else:
            name, (subject, context["text"]) = "notice", _written(notice, content, url, now)
        message = EmailMultiAlternatives(
            subject,
            render_to_string(f"dashboard/email/{name}.txt", context),
            to=[person.email],
            headers={"List-Unsubscribe": f"<{stop}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"},
        )
        message.attach_alternative(render_to_string(f"dashboard/email/{name}.html", context), "text/html")
    return message


def _written(notice: Notice, content: _NoticeContent, url: str, now: datetime) -> tuple[str, str]:
    """Return subject and text, in the words of the project if it is about one alone."""
    projects = sorted(content.projects, key=lambda project: project.name)
    values = {"PROJECT": ", ".join(one.name for one in projects), "LINK": url, **content.values}
    project = projects[0] if len(projects) == 1 else None
    written = write_email(project=project, kind=TextKind(notice.kind), values=values, now=now)
    written.note_on(notice)
    return written.subject, written.body


def _work(notice: Notice, now: datetime) -> _NoticeContent | None:
    projects = _projects_with_work(notice.person, now)
    return _NoticeContent(reverse("people:home-show"), projects) if projects else None


def _feedback(notice: Notice, now: datetime) -> _NoticeContent | None:
    unread = readable_feedback(notice.person).filter(acknowledged_at=None)
    projects = Project.objects.filter(pk__in=unread.values("project"))
    return _NoticeContent(reverse("annotation:feedback-list"), projects) if projects else None


def _rewrite(notice: Notice, now: datetime) -> _NoticeContent | None:
    asked = CorrectionRequest.objects.filter(caption__author=notice.person, answered_at=None)
    projects = Project.objects.filter(pk__in=asked.values("caption__round__project"))
    return _NoticeContent(reverse("annotation:work-show"), projects) if projects else None


def _reply(notice: Notice, now: datetime) -> _NoticeContent | None:
    replies = UNREAD_REPLIES.filter(thread__person=notice.person, thread__project__archived_at=None)
    first = replies.values_list("thread__project__slug", flat=True).first()
    if first is None:
        return None
    projects = Project.objects.filter(pk__in=replies.values("thread__project"))
    return _NoticeContent(reverse("conversation:thread-show", args=[first]), projects)


def _deadline(notice: Notice, now: datetime) -> _NoticeContent | None:
    batch = Batch.objects.filter(pk=notice.about.partition(":")[0]).first()
    if batch is None or not batch.is_open_at(now):
        return None
    deadline = lazy(in_words, str)(batch.deadline, zone_named(choices_of(notice.person).zone))
    projects = Project.objects.filter(Q(rounds__pool=batch.pool_id) | Q(comparisons__pool=batch.pool_id)).distinct()
    return _NoticeContent(reverse("people:home-show"), projects, {"DEADLINE": deadline})


def _digest(notice: Notice, now: datetime) -> _NoticeContent | None:
    listed = needs_of(notice.person, now=now)
    values = {"listed": listed, "number": number_of(listed)}
    return _NoticeContent(reverse("dashboard:need-list"), [], values) if listed else None


_CONTENT = {
    NoticeKind.WORK: _work,
    NoticeKind.FEEDBACK: _feedback,
    NoticeKind.REWRITE: _rewrite,
    NoticeKind.REPLY: _reply,
    NoticeKind.DEADLINE: _deadline,
    NoticeKind.DIGEST: _digest,
}


NOTICES = MailOutbox(Notice, compose)
