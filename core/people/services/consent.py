"""Publishing consent texts, and recording who agreed to them."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from core.people.models import Consent, ConsentText, OnWithdrawal, Project, TextKind, User
from core.people.selectors.texts import translation_of
from core.people.services import audit_log
from core.people.services.members import MembershipError, lock_person


class StaleConsentError(MembershipError):
    """A newer version of the consent text was published since the person was shown one."""


def publish_consent_text(
    *, project: Project, body: str, on_withdrawal: str = OnWithdrawal.CHOOSE, by: User, now: datetime
) -> ConsentText:
    """Publish a new version; everybody is asked again before they get more work."""
    with transaction.atomic():
        audit_log.lock(project, by)
        newest = ConsentText.objects.filter(project=project).order_by("-version").first()
        if newest is not None and (newest.body, newest.on_withdrawal) == (body, on_withdrawal):
            return newest
        version = newest.version + 1 if newest else 1
        text = ConsentText.objects.create(project=project, version=version, body=body, on_withdrawal=on_withdrawal)
        audit_log.record(
            project=project,
            action="consent-text.published",
            about=f"version {version}",
            by=by,
            now=now,
            details={"version": version, "on_withdrawal": on_withdrawal},
        )
    return text


def give_consent(*, project: Project, user: User, version: int | None, now: datetime) -> Consent:
    """Record that `user` agreed to `version`, in the language that it is shown in; repeating it changes nothing.

    Raises
    ------
    StaleConsentError
        If it is not the newest.
    """
    with transaction.atomic():
        lock_person(user)
        text = ConsentText.objects.filter(project=project).order_by("-version").first()
        if text is None or text.version != version:
            raise StaleConsentError(_("The text has changed since you opened this page. Please read the new version."))
        read = {"given_at": now, "translation": translation_of(project, TextKind.CONSENT, text.version)}
        return Consent.objects.get_or_create(text=text, user=user, withdrawn_at=None, defaults=read)[0]
