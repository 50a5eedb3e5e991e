"""People of a panel: they arrive, work, and return with a result.

The panel's name of a person is not a secret: anybody who knows it can put it into an address. Callers check first that
an arrival comes from the person (`office/recruitment/views/arriving.py: _is_proven`).
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.core import signing
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from core.allocation.models import Batch, Pool
from core.allocation.services.lifecycle import return_all_work
from core.people.models import LanguageLevel, Role, User
from core.people.rules.roles import qualifies_to_judge, qualifies_to_write
from core.people.selectors.qualification import MissingRequirement, NotQualifiedError
from core.people.services import audit_log
from core.people.services.accounts import set_language_skills
from core.people.services.consent import give_consent
from core.people.services.members import add_member, lock_person
from office.recruitment.models import TAKES_A_PLACE, Participant, ParticipantState, Study, WorkRole
from office.recruitment.selectors.work import (
    batches_done,
    batches_had,
    has_failed_checks,
    has_failed_practice,
    part_in,
    pools_of,
)


class StudyClosedError(Exception):
    """Nobody can begin any more: it is closed, or every place is taken."""


class AccountInUseError(Exception):
    """The person's account is more than a participant's: it has a password, rights, or work of another kind."""


class AlreadyHereError(Exception):
    """Somebody of that name has arrived in the meantime."""


class UnfinishedError(Exception):
    """The person has not done all batches yet."""


def admit_participant(
    *,
    study: Study,
    panel_id: str,
    session_id: str,
    levels: Mapping[str, LanguageLevel | None],
    reads_english: bool,
    consent_version: int | None,
    interface_language: str,
    earlier: Participant | None = None,
    now: datetime,
) -> Participant:
    """Give a person of the panel an account, or the one of the part that they have in another study: `earlier`.

    Those whom the languages do not qualify are screened out, without an account, and stay so.

    Raises StudyClosedError, AccountInUseError or AlreadyHereError, core.people.services.consent.StaleConsentError.
    """
    with transaction.atomic():
        # People who arrive at the same time take places one after the other.
        study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        if earlier_of(study, panel_id) != earlier:
            raise AlreadyHereError
        is_closed = study.project.is_archived or not study.is_open
        if is_closed or study.participants.filter(state__in=TAKES_A_PLACE).count() >= study.places:
            raise StudyClosedError
        about = {"study": study, "panel_id": panel_id, "session_id": session_id, "arrived_at": now}
        user = earlier.user if earlier else None
        if user is not None and is_more_than_a_participant(user):
            raise AccountInUseError
        if not _qualifies(study, levels, reads_english=reads_english):
            return Participant.objects.create(**about, state=ParticipantState.SCREENED_OUT, ended_at=now)
        user = user or _new_account(interface_language)
        add_member(project=study.project, user=user, role=Role(study.role))
        audit_log.record(
            project=study.project, action="role.given", about=study.role, by=study.created_by, person=user, now=now,
            details={"study": study.pk},
        )  # fmt: skip
        set_language_skills(
            user=user, levels=levels, reads_english=reads_english, interface_language=user.interface_language
        )
        if consent_version is not None:
            roles = [study.role]
            give_consent(project=study.project, user=user, version=consent_version, roles=roles, now=now)
        return Participant.objects.create(**about, user=user)


def finish(*, participant: Participant, leaves: bool = False, now: datetime) -> Participant:
    """End a person's work: done, failed if the checks say so, screened out by the practice, or left early.

    Unfinished batches are returned.

    Repeating it changes nothing.

    Raises UnfinishedError.
    """
    with transaction.atomic():
        participant = _locked(participant)
        if participant.state != ParticipantState.WORKING:
            return participant
        if has_failed_checks(participant):
            _end(participant, ParticipantState.FAILED, now)
        elif has_failed_practice(participant):
            _end(participant, ParticipantState.SCREENED_OUT, now)
        elif batches_done(participant) >= participant.study.batches:
            _end(participant, ParticipantState.DONE, now)
        elif leaves:
            _end(participant, ParticipantState.LEFT, now)
        else:
            raise UnfinishedError
    return participant


def free_place(*, study: Study, session_id: str, now: datetime) -> bool:
    """Free the place and the open batches of a submission that was returned or timed out at the panel.

    Returns whether anything changed: an event that comes twice changes nothing the second time.
    """
    with transaction.atomic():
        found = study.participants.filter(session_id=session_id).exclude(session_id="").first()
        if found is None:
            return False
        participant = _locked(found)
        if participant.state not in (ParticipantState.WORKING, ParticipantState.LEFT):
            return False
        _end(participant, ParticipantState.FREED, now)
        return True


def forget(*, person: User, now: datetime) -> None:
    """Erase what a panel calls somebody who deletes their account; what they earned stays."""
    for participant in Participant.objects.filter(user=person).select_for_update(of=("self",)):
        participant.panel_id, participant.session_id = f"deleted-{participant.pk}", ""
        if participant.state == ParticipantState.WORKING:
            participant.state, participant.ended_at = ParticipantState.LEFT, now
        participant.save(update_fields=["panel_id", "session_id", "state", "ended_at"])


def _locked(participant: Participant) -> Participant:
    # First, as everywhere: their batches are returned.
    if participant.user is not None:
        lock_person(participant.user)
    return (
        Participant.objects.select_for_update(of=("self",), no_key=True)
        .select_related("study__project", "user")
        .get(pk=participant.pk)
    )


def _end(participant: Participant, state: ParticipantState, now: datetime) -> None:
    participant.state, participant.ended_at = state, now
    participant.save(update_fields=["state", "ended_at"])
    if participant.user is not None:
        pools: list[int] = list(pools_of(participant.study).values_list("pk", flat=True))
        return_all_work(pools=Pool.objects.filter(pk__in=pools), person=participant.user, now=now)


def _qualifies(study: Study, levels: Mapping[str, LanguageLevel | None], *, reads_english: bool) -> bool:
    if study.role == WorkRole.RATER:
        return any(qualifies_to_judge(level=level) for level in levels.values())
    return any(qualifies_to_write(reads_english=reads_english, level=level) for level in levels.values())


def earlier_of(study: Study, panel_id: str) -> Participant | None:
    """Return somebody's part in this study, or else in another one of the same panel in the project."""
    here = Participant.objects.filter(study__project=study.project_id, study__panel=study.panel, panel_id=panel_id)
    known = here.filter(Q(study=study) | Q(user__is_active=True)).select_related("user", "study__project")
    return min(known, key=lambda one: one.study_id != study.pk, default=None)


def is_more_than_a_participant(user: User) -> bool:
    """Whether an arrival must not sign this account in or change it: it has a password, rights, or other work."""
    has_other_roles = user.memberships.exclude(role__in=WorkRole.values).exists()
    return user.has_usable_password() or user.is_staff or user.is_superuser or has_other_roles


def check_limit(person: User, pool: Pool, resumed: Batch | None) -> None:
    """Refuse a batch beyond those that a person's study is about, and any once it has ended for them.

    Called with the person locked.

    Raises core.people.selectors.qualification.NotQualifiedError.
    """
    participant = part_in(person, pool)
    if participant is None:
        return
    is_over = participant.state != ParticipantState.WORKING
    if is_over and is_more_than_a_participant(person):
        return
    if is_over or batches_had(participant, besides=resumed) >= participant.study.batches:
        message = _("You have taken all batches of this study.")
        raise NotQualifiedError([MissingRequirement("study", message, "recruitment:study-finish")])


def _new_account(interface_language: str) -> User:
    user = User(username=f"panel-{secrets.token_hex(6)}", interface_language=interface_language)
    user.set_unusable_password()
    user.save()
    return user


OWN_PARAMETER = "own"
"""Parameter of the address for one person alone, who comes back without the browser in which they began."""
VALID_FOR = timedelta(days=14)
SALT = "recruitment.own-address"


def own_query(participant: Participant) -> str:
    """What follows the address of the study, for the manager to send to the person through the panel."""
    study = participant.study
    names = {study.person_parameter: participant.panel_id}
    if participant.session_id:
        names[study.session_parameter] = participant.session_id
    return urlencode(names | {OWN_PARAMETER: signing.dumps(participant.pk, salt=SALT)})


def is_own_address(given: str, participant: Participant) -> bool:
    try:
        return bool(signing.loads(given, salt=SALT, max_age=VALID_FOR) == participant.pk)
    except signing.BadSignature:
        return False
