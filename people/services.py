"""What changes people, their roles, invitations and consent. One transaction each; who may is decided before."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from datetime import datetime

from allauth.account.models import EmailAddress
from django.core.mail import send_mail
from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.template.loader import render_to_string
from django.utils.text import slugify
from django.utils.translation import gettext as _

from languages.models import Language
from people import audit, defaults, rules
from people.models import (
    Consent,
    ConsentText,
    Invitation,
    InvitationUse,
    LanguageSkill,
    Level,
    Membership,
    OnWithdrawal,
    Project,
    Role,
    User,
)
from people.selectors import invitation_state

SLUG_LENGTH = 40
TOKEN_BYTES = 32


class MembershipError(Exception):
    """Something that may not be; says to the person at the screen why and what to do."""


class RoleConflictError(MembershipError):
    pass


class LastManagerError(MembershipError):
    pass


class ProjectNameTakenError(MembershipError):
    pass


class StaleConsentError(MembershipError):
    """A newer version of the consent text was published since the person was shown one."""


class InvitationClosedError(MembershipError):
    def __init__(self, state: rules.InvitationState) -> None:
        super().__init__(str(state.label))
        self.state = state


def create_project(
    *, name: str, manager: User, description: str = "", consent_body: str = "", slug: str = ""
) -> Project:
    """Make a project with its first manager and the first version of its consent text; the caller logs it.

    `slug` is made from `name` where none is given, with a number where it is taken.
    """
    wanted = (slug or slugify(name))[:SLUG_LENGTH].strip("-") or "project"
    with transaction.atomic():
        project = Project.objects.create(
            slug=_free_slug(wanted), name=name, description=description, created_by=manager
        )
        Membership.objects.create(project=project, user=manager, role=Role.MANAGER)
        ConsentText.objects.create(project=project, version=1, body=consent_body or defaults.consent_text())
    return project


def _free_slug(wanted: str) -> str:
    taken = set(Project.objects.filter(slug__startswith=wanted).values_list("slug", flat=True))
    slug, number = wanted, 1
    while slug in taken:
        number += 1
        slug = f"{wanted}-{number}"
    return slug


def add_member(*, project: Project, user: User, role: Role) -> Membership:
    """Give `user` a role; the same again changes nothing. Whoever calls this writes it into the log.

    Raises
    ------
    RoleConflictError
        If the role does not go with one that they have in the project.
    """
    with transaction.atomic():
        _lock(user)
        roles = set(Membership.objects.filter(project=project, user=user).values_list("role", flat=True))
        if why := rules.conflicting_roles(roles | {role}):
            raise RoleConflictError(why)
        return Membership.objects.get_or_create(project=project, user=user, role=role)[0]


def remove_member(*, membership: Membership, by: User, now: datetime) -> None:
    """Take a role from somebody. What they handed in stays. Done twice it is done once.

    Raises
    ------
    LastManagerError
        If nobody would be left to manage the project.
    """
    with transaction.atomic():
        managers = Q(project=membership.project_id, role=Role.MANAGER)
        # All of them are locked, in one order, so that two who remove each other do not both succeed.
        locked = list(Membership.objects.filter(managers | Q(pk=membership.pk)).order_by("pk").select_for_update())
        if membership not in locked:
            return
        others = [found for found in locked if found.role == Role.MANAGER and found != membership]
        if membership.role == Role.MANAGER and not others:
            raise LastManagerError(_("A project needs at least one manager. Invite another one first."))
        audit.record(
            project=membership.project,
            action="role.removed",
            about=membership.role,
            by=by,
            person=membership.user,
            now=now,
        )
        membership.delete()


def invite(
    *,
    project: Project,
    role: Role,
    languages: Collection[Language] = (),
    places: int = 1,
    email: str = "",
    note: str = "",
    expires_at: datetime,
    created_by: User,
    now: datetime,
) -> Invitation:
    with transaction.atomic():
        invitation = Invitation.objects.create(
            project=project,
            token=secrets.token_urlsafe(TOKEN_BYTES),
            role=role,
            places=places,
            email=email,
            note=note,
            expires_at=expires_at,
            created_by=created_by,
        )
        invitation.languages.set(languages)
        tags = sorted(language.tag for language in languages)
        details = {"invitation": invitation.pk, "places": places, "languages": tags}
        audit.record(project=project, action="invitation.made", about=role, by=created_by, now=now, details=details)
    return invitation


def send_invitation(*, invitation: Invitation, url: str) -> bool:
    """Mail the link `url` to the invitation's address; whether it could be handed to the mail server."""
    context = {"invitation": invitation, "project": invitation.project, "url": url}
    # A line break in a name would begin another header, which Django refuses by failing.
    subject = _("Invitation to %(project)s") % {"project": " ".join(invitation.project.name.split())}
    try:
        send_mail(subject, render_to_string("people/email/invitation.txt", context), None, [invitation.email])
    except OSError:  # SMTPException is one
        return False
    return True


def revoke_invitation(*, invitation: Invitation, by: User, now: datetime) -> None:
    """Close an invitation for good; who came in by it stays. Done twice it is done once."""
    with transaction.atomic():
        if Invitation.objects.filter(pk=invitation.pk, revoked_at=None).update(revoked_at=now):
            audit.record(
                project=invitation.project,
                action="invitation.revoked",
                about=invitation.role,
                by=by,
                now=now,
                details={"invitation": invitation.pk},
            )


def accept_invitation(
    *,
    token: str,
    user: User,
    levels: Mapping[str, Level | None],
    reads_english: bool,
    consent_version: int | None,
    now: datetime,
) -> Membership:
    """Take a place of an invitation: the role, what languages `user` knows, and consent to the version they read.

    The same person again, or who has the role already, takes no further place.

    Raises
    ------
    Invitation.DoesNotExist
        If there is none with this token.
    InvitationClosedError
        If it is used up, expired or revoked.
    RoleConflictError
        If the role does not go with one that `user` has in the project.
    StaleConsentError
        If another version of the consent text is the newest by now.
    """
    with transaction.atomic():
        _lock(user)
        # Whoever comes second waits here and then sees how many places are left.
        invitation = Invitation.objects.select_for_update(of=("self",), no_key=True).get(token=token)
        project_id = invitation.project_id
        roles = set(Membership.objects.filter(project=project_id, user=user).values_list("role", flat=True))
        is_known = invitation.role in roles or invitation.uses.filter(user=user).exists()
        if not is_known:
            _take_place(invitation, user, now)
        membership = add_member(project=invitation.project, user=user, role=Role(invitation.role))
        # Players come by the hundred, through a door that is open to all, and give themselves the role.
        if invitation.role not in {*roles, Role.PLAYER}:
            audit.record(
                project=invitation.project,
                action="role.given",
                about=invitation.role,
                by=invitation.created_by,
                person=user,
                now=now,
                details={"invitation": invitation.pk},
            )
        set_language_skills(
            user=user, levels=levels, reads_english=reads_english, interface_language=user.interface_language
        )
        if rules.needs_consent(invitation.role):
            give_consent(project=invitation.project, user=user, version=consent_version, now=now)
    return membership


def _take_place(invitation: Invitation, user: User, now: datetime) -> None:
    state = invitation_state(invitation, now)
    if state is not rules.InvitationState.OPEN:
        raise InvitationClosedError(state)
    Invitation.objects.filter(pk=invitation.pk).update(places_taken=F("places_taken") + 1)
    InvitationUse.objects.create(invitation=invitation, user=user)


def join(
    *,
    token: str,
    username: str,
    email: str,
    password: str,
    levels: Mapping[str, Level | None],
    reads_english: bool,
    consent_version: int | None,
    interface_language: str = "",
    now: datetime,
) -> User:
    """Make an account and accept an invitation with it, or neither. `email` is theirs once they have confirmed it.

    Whether it is another account's is not looked at: nobody is to learn that here.

    Raises
    ------
    ProjectNameTakenError
    InvitationClosedError, StaleConsentError, Invitation.DoesNotExist
        As `accept_invitation`.
    """
    user = User(username=username, interface_language=interface_language)
    user.set_password(password)  # slow on purpose, hence before the transaction, which on SQLite stops all writers
    with transaction.atomic():
        try:
            with transaction.atomic():
                user.save()
        except IntegrityError as error:
            text = _("This user name is taken. Choose another, or sign in if it is yours.")
            raise ProjectNameTakenError(text) from error
        if email:
            EmailAddress.objects.create(user=user, email=User.objects.normalize_email(email))
        accept_invitation(
            token=token,
            user=user,
            levels=levels,
            reads_english=reads_english,
            consent_version=consent_version,
            now=now,
        )
    return user


def set_language_skills(
    *, user: User, levels: Mapping[str, Level | None], reads_english: bool, interface_language: str
) -> None:
    """Record how well `user` knows each language of `levels` (tag to level, None to forget it); others stay."""
    with transaction.atomic():
        user.reads_english = reads_english
        user.interface_language = interface_language
        user.save(update_fields=["reads_english", "interface_language"])
        LanguageSkill.objects.filter(user=user, language__in=[tag for tag in levels if levels[tag] is None]).delete()
        for tag, level in levels.items():
            if level is not None:
                LanguageSkill.objects.update_or_create(user=user, language_id=tag, defaults={"level": level})


def publish_consent_text(
    *, project: Project, body: str, on_withdrawal: str = OnWithdrawal.CHOOSE, by: User, now: datetime
) -> ConsentText:
    """Put a new version in force; everybody is asked again before they get more work."""
    with transaction.atomic():
        audit.lock(project, by)
        newest = ConsentText.objects.filter(project=project).order_by("-version").first()
        if newest is not None and (newest.body, newest.on_withdrawal) == (body, on_withdrawal):
            return newest
        version = newest.version + 1 if newest else 1
        text = ConsentText.objects.create(project=project, version=version, body=body, on_withdrawal=on_withdrawal)
        audit.record(
            project=project,
            action="consent-text.published",
            about=f"version {version}",
            by=by,
            now=now,
            details={"version": version, "on_withdrawal": on_withdrawal},
        )
    return text


def give_consent(*, project: Project, user: User, version: int | None, now: datetime) -> Consent:
    """Record that `user` agreed to `version`, the one they were shown; the same again changes nothing.

    Raises
    ------
    StaleConsentError
        If it is not the newest.
    """
    with transaction.atomic():
        _lock(user)
        text = ConsentText.objects.filter(project=project).order_by("-version").first()
        if text is None or text.version != version:
            raise StaleConsentError(_("The text has changed since you opened this page. Please read the new version."))
        return Consent.objects.get_or_create(text=text, user=user, withdrawn_at=None, defaults={"given_at": now})[0]


def _lock(user: User) -> None:
    """Let one thing at a time happen to a person, whatever they have open in other tabs."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
