"""Publishing consent texts, recording who agreed to them, and withdrawing consent as the text said."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from core.people import personal_data
from core.people.models import Consent, ConsentText, Membership, OnWithdrawal, Project, TextKind, User
from core.people.rules.consent_parts import checked_parts, consent_roles
from core.people.selectors.texts import original_consent
from core.people.services import audit_log
from core.people.services.members import MembershipError, lock_person
from core.people.services.texts import kept_translation


class StaleConsentError(MembershipError):
    """A newer version of the consent text was published since the person was shown one."""


def publish_consent_text(
    *,
    project: Project,
    body: str,
    licence: str = "",
    contact: str = "",
    on_withdrawal: str = OnWithdrawal.CHOOSE,
    by: User,
    now: datetime,
) -> ConsentText:
    """Publish a new version; everybody is asked again before they get more work.

    Raises PartsError.
    """
    checked_parts(body)
    with transaction.atomic():
        audit_log.lock(project, by)
        newest = ConsentText.objects.filter(project=project).order_by("-version").first()
        said = {"body": body, "licence": licence, "contact": contact, "on_withdrawal": on_withdrawal}
        if newest is not None and said == {name: getattr(newest, name) for name in said}:
            return newest
        version = newest.version + 1 if newest else 1
        text = ConsentText.objects.create(project=project, version=version, **said)
        audit_log.record(
            project=project,
            action="consent-text.published",
            about=f"version {version}",
            by=by,
            now=now,
            details={"version": version, "on_withdrawal": on_withdrawal},
        )
    return text


def give_consent(
    *, project: Project, user: User, version: int | None, roles: Collection[str] | None = None, now: datetime
) -> list[Consent]:
    """Record that `user` agreed to `version`, in the language that it is shown in; repeating it changes nothing.

    - `roles`: for which of their roles they read it; all that they have in the project if it is not given.

    Raises StaleConsentError if it is not the newest, or was not shown for a role that they have.
    """
    with transaction.atomic():
        lock_person(user)
        text = ConsentText.objects.filter(project=project).order_by("-version").first()
        held = set(Membership.objects.filter(project=project, user=user).values_list("role", flat=True))
        agreed = consent_roles(text.body, held if roles is None else held.intersection(roles)) if text else ()
        if text is None or text.version != version or not agreed:
            raise StaleConsentError(_("The text has changed since you opened this page. Please read the new version."))
        original = original_consent(text)
        shown = kept_translation(project=project, kind=TextKind.CONSENT, original=original, now=now)
        read = {"given_at": now, "translation": shown}
        about = {"text": text, "user": user, "withdrawn_at": None}
        return [Consent.objects.get_or_create(**about, role=role, defaults=read)[0] for role in agreed]


class WithdrawalChoiceError(MembershipError):
    """The text lets the person choose whether answers are kept, and they did not choose."""


@dataclass(frozen=True)
class WithdrawalOutcome:
    """Whether answers stay, and how many no longer count."""

    keeps_answers: bool
    removed: int


def withdraw_consent(
    *, project: Project, user: User, keeps_answers: bool | None = None, now: datetime
) -> WithdrawalOutcome | None:
    """Withdraw everything that `user` agreed to in `project`; None if there was nothing to withdraw.

    Batches are returned, and no more are assigned. The newest text that they agreed to says what happens to answers;
    `keeps_answers` is their choice if it leaves one, and ignored otherwise.

    Raises WithdrawalChoiceError.
    """
    with transaction.atomic():
        # Lock the person: nothing is assigned to them meanwhile.
        lock_person(user)
        consents = Consent.objects.filter(text__project=project, user=user, withdrawn_at=None)
        text = governing_text(project, user)
        if text is None:
            return None
        keeps = _keeps(text, keeps_answers)
        consents.update(withdrawn_at=now, answers_kept=keeps)
        removed = personal_data.withdraw(project=project, person=user, keeps_answers=keeps, now=now)
        audit_log.record(
            project=project,
            action="consent.withdrawn",
            about=f"version {text.version}",
            by=user,
            person=user,
            now=now,
            details={"answers_kept": keeps, "removed": removed},
        )
    return WithdrawalOutcome(keeps, sum(removed.values()))


def governing_text(project: Project, user: User) -> ConsentText | None:
    """Return the newest text that `user` agreed to and has not withdrawn: it applies to all of their answers."""
    consents = Consent.objects.filter(user=user, withdrawn_at=None, text__project=project).values("text")
    return ConsentText.objects.filter(pk__in=consents).order_by("-version").first()


def _keeps(text: ConsentText, keeps_answers: bool | None) -> bool:
    if text.on_withdrawal != OnWithdrawal.CHOOSE:
        return text.on_withdrawal == OnWithdrawal.KEEP
    if keeps_answers is None:
        raise WithdrawalChoiceError(_("Choose what should happen to the answers you gave."))
    return keeps_answers
