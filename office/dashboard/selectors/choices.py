"""Which e-mails people want, and to which address; and what is stored about that, for themselves."""

from __future__ import annotations

from collections.abc import Iterator

from allauth.account.models import EmailAddress
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils.translation import gettext as _

from core.people.models import Membership, Role, User
from core.people.personal_data import ExportPart
from office.dashboard.models import DismissedNeed, EmailChoices, Notice, NoticeKind

KINDS_OF_WORK = (NoticeKind.WORK, NoticeKind.FEEDBACK, NoticeKind.REWRITE, NoticeKind.REPLY, NoticeKind.DEADLINE)


def choices_of(person: User) -> EmailChoices:
    """Return what a person chose, or the defaults, unsaved."""
    return EmailChoices.objects.filter(person=person).first() or EmailChoices(person=person)


def has_confirmed_address(person: User) -> bool:
    return EmailAddress.objects.filter(user=person, email__iexact=person.email, verified=True).exists()


def reachable(*roles: Role) -> QuerySet[User]:
    """Return people with one of `roles` and a confirmed address."""
    confirmed = EmailAddress.objects.filter(user=OuterRef("pk"), email__iexact=OuterRef("email"), verified=True)
    members = Membership.objects.filter(user=OuterRef("pk"), role__in=roles)
    return User.objects.filter(Exists(confirmed), Exists(members), is_active=True, deleted_at=None)


def who_want(kind: NoticeKind, people: QuerySet[User]) -> QuerySet[User]:
    """Return of `people` those who get e-mails of a kind, unless they chose otherwise."""
    return people.exclude(pk__in=EmailChoices.objects.filter(**{kind.value: False}).values("person"))


def data_export(person: User) -> Iterator[ExportPart]:
    columns = ("work", "feedback", "rewrite", "reply", "deadline", "digest", "zone")
    yield ExportPart(
        "email-choices", _("Which e-mails you want."), EmailChoices.objects.filter(person=person).values(*columns)
    )
    notices = Notice.objects.filter(person=person).order_by("pk")
    sent = notices.values(
        "kind", "about", "state", "queued_at", "sent_at", "text_version", text_language=F("translation__language")
    )
    yield ExportPart("emails", _("E-mails that were sent to you."), sent)
    dismissed = DismissedNeed.objects.filter(person=person).order_by("pk")
    yield ExportPart("dismissed", _("Failures that you dismissed."), dismissed.values("about", "at"))
