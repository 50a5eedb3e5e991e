"""Which e-mails people want, and to which address."""

from __future__ import annotations

from allauth.account.models import EmailAddress
from django.db.models import Exists, OuterRef, QuerySet

from core.people.models import Membership, Role, User
from office.dashboard.models import EmailChoices, NoticeKind

KINDS_OF_WORK = (NoticeKind.WORK, NoticeKind.FEEDBACK, NoticeKind.REWRITE, NoticeKind.DEADLINE)


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
