"""E-mails about what is new, as text and HTML. None says what a caption, a message or a name of a model says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urljoin

from django.conf import settings
from django.core.mail import EmailMessage, EmailMultiAlternatives
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext_noop, override

from annotation.models import CorrectionRequest
from annotation.permissions import readable_feedback
from core.allocation.models import Batch
from core.languages.rules.page_languages import COMPLETE
from core.people.models import Project
from core.people.services.mails import MailOutbox
from core.people.templatetags.moments import in_words
from office.dashboard.models import Notice, NoticeKind
from office.dashboard.rules.emails import token_to_stop, zone_named
from office.dashboard.selectors.choices import choices_of, has_confirmed_address
from office.dashboard.selectors.needs import needs_of, number_of
from office.dashboard.services.notices import has_work_now

NOT_WANTED = gettext_noop("The person does not want such e-mails, or has no confirmed address.")
NOTHING_NEW = gettext_noop("There was nothing left to report.")


@dataclass(frozen=True)
class _NoticeContent:
    """What an e-mail is about: `path` is where its button leads."""

    path: str
    projects: list[str]
    context: dict[str, Any]


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
        context = content.context | {
            "kind": kind,
            "projects": content.projects,
            "url": urljoin(settings.SITE_URL, content.path),
            "site": settings.SITE_URL.rstrip("/"),
            "stop_url": stop,
            "choices_url": urljoin(settings.SITE_URL, reverse("dashboard:email-choices")),
        }
        name = "digest" if kind == NoticeKind.DIGEST else "notice"
        subject = render_to_string(f"dashboard/email/{name}_subject.txt", context)
        message = EmailMultiAlternatives(
            # A line break in a name would begin another header, which Django refuses with an error.
            " ".join(subject.split()),
            render_to_string(f"dashboard/email/{name}.txt", context),
            to=[person.email],
            headers={"List-Unsubscribe": f"<{stop}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"},
        )
        message.attach_alternative(render_to_string(f"dashboard/email/{name}.html", context), "text/html")
    return message


def _work(notice: Notice, now: datetime) -> _NoticeContent | None:
    return _NoticeContent(reverse("people:home-show"), [], {}) if has_work_now(notice.person, now) else None


def _feedback(notice: Notice, now: datetime) -> _NoticeContent | None:
    unread = readable_feedback(notice.person).filter(acknowledged_at=None)
    projects = _named(unread.values_list("project", flat=True))
    return _NoticeContent(reverse("annotation:feedback-list"), projects, {}) if projects else None


def _rewrite(notice: Notice, now: datetime) -> _NoticeContent | None:
    asked = CorrectionRequest.objects.filter(caption__author=notice.person, answered_at=None)
    projects = _named(asked.values_list("caption__round__project", flat=True))
    return _NoticeContent(reverse("annotation:work-show"), projects, {}) if projects else None


def _deadline(notice: Notice, now: datetime) -> _NoticeContent | None:
    batch = Batch.objects.filter(pk=notice.about.partition(":")[0]).first()
    if batch is None or not batch.is_open_at(now):
        return None
    deadline = in_words(batch.deadline, zone_named(choices_of(notice.person).zone))
    return _NoticeContent(reverse("people:home-show"), [], {"deadline": deadline})


def _digest(notice: Notice, now: datetime) -> _NoticeContent | None:
    listed = needs_of(notice.person, now=now)
    context = {"listed": listed, "number": number_of(listed)}
    return _NoticeContent(reverse("dashboard:need-list"), [], context) if listed else None


_CONTENT = {
    NoticeKind.WORK: _work,
    NoticeKind.FEEDBACK: _feedback,
    NoticeKind.REWRITE: _rewrite,
    NoticeKind.DEADLINE: _deadline,
    NoticeKind.DIGEST: _digest,
}


def _named(projects: Any) -> list[str]:
    return list(Project.objects.filter(pk__in=projects).order_by("name").values_list("name", flat=True))


NOTICES = MailOutbox(Notice, compose)
