"""The first account, and what people change of their own: the languages that they know, and its deletion."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import uuid4

from allauth.account.forms import default_token_generator
from allauth.account.models import EmailAddress
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from axes.models import AccessAttempt, AccessFailureLog
from django.contrib.admin.models import LogEntry
from django.contrib.auth.hashers import make_password
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _

from core.people import personal_data
from core.people.models import (
    AnsweredRequest,
    ApiToken,
    Invitation,
    InvitationMail,
    LanguageLevel,
    LanguageSkill,
    Membership,
    PersonalLink,
    Role,
    Session,
    User,
)
from core.people.selectors.projects import managed_by_nobody_else, projects_of
from core.people.services import audit_log
from core.people.services.members import LastManagerError

MAX_REPR_CHARACTERS = LogEntry._meta.get_field("object_repr").max_length
"""Characters: how much of a row's name the admin's log keeps."""


def first_account_path(username: str) -> str:
    """The page on which to choose the password of the first account, which may do everything.

    The address works until a password is chosen. Empty once somebody has one.
    """
    others = User.objects.exclude(username=username)
    if others.exists():
        return ""
    user, is_new = User.objects.get_or_create(
        username=username, defaults={"is_staff": True, "is_superuser": True, "password": make_password(None)}
    )
    if not is_new and user.has_usable_password():
        return ""
    key = default_token_generator.make_token(user)
    return reverse("account_reset_password_from_key", kwargs={"uidb36": user_pk_to_url_str(user), "key": key})


def delete_account(*, user: User, now: datetime) -> None:
    """Erase everything from an account that identifies its owner, and disable it; repeating it changes nothing.

    Open batches are returned. Answers stay as they are, and keep their pseudonym in exports.

    Raises LastManagerError where a project would have no manager.
    """
    with transaction.atomic():
        # Lock the person: nothing is assigned to them meanwhile.
        locked = User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if locked.deleted_at is not None:
            return
        _must_not_leave_projects_alone(locked)
        personal_data.forget(person=locked, now=now)
        affected = list(projects_of(locked))
        known = _known(locked)
        named = _in_the_log_of_the_admin(locked, known)
        _remove_what_names(locked, known)
        _empty(locked, now)
        Session.objects.filter(person=locked.pk).delete()
        LogEntry.objects.filter(pk__in=named).update(object_repr=locked.username)
        for project in affected:
            audit_log.record(project=project, action="account.deleted", about="", by=locked, person=locked, now=now)


def _must_not_leave_projects_alone(user: User) -> None:
    managed = Membership.objects.filter(user=user, role=Role.MANAGER).values("project")
    # Lock all managers of them, in one order, so that two who leave at once do not both succeed; and what is removed in
    # the end.
    locked = Membership.objects.filter(Q(project__in=managed, role=Role.MANAGER) | Q(user=user)).order_by("pk")
    list(locked.select_for_update().values_list("pk", flat=True))
    if alone := managed_by_nobody_else(user):
        text = _("Nobody else manages %(projects)s. Invite another manager first, or make somebody one.")
        raise LastManagerError(text % {"projects": ", ".join(project.name for project in alone)})


def _known(user: User) -> set[str]:
    """Return the names that `user` signs in with, in lower case: the user name, and addresses no other account has."""
    addresses = EmailAddress.objects.filter(user=user).values_list("email", flat=True)
    known = {name.lower() for name in (user.username, user.email, *addresses) if name}
    return known - set(User.objects.filter(email__in=known).exclude(pk=user.pk).values_list("email", flat=True))


def _remove_what_names(user: User, known: set[str]) -> None:
    own = Q(uses__user=user, places=1)
    for name in known:
        own |= Q(email__iexact=name)
    # A manager's note on an invitation for one person is about that person.
    invitations = list(Invitation.objects.filter(own).values_list("pk", flat=True))
    Invitation.objects.filter(pk__in=invitations).update(email="", note="")
    # A mail server that refuses an address repeats it.
    InvitationMail.objects.filter(invitation__in=invitations).update(reason="")
    for attempts in (AccessAttempt, AccessFailureLog):
        attempts.objects.filter(username__in=known).delete()
    own_access = (ApiToken, PersonalLink, AnsweredRequest, Authenticator, EmailAddress, SocialAccount)
    for rows in (Membership, LanguageSkill, *own_access):
        rows.objects.filter(user=user).delete()


def _in_the_log_of_the_admin(user: User, known: set[str]) -> list[int]:
    """Return entries that name `user` or an address of theirs, also those of deleted rows."""
    types = ContentType.objects.get_for_models(User, EmailAddress, AccessFailureLog)
    addresses = EmailAddress.objects.filter(user=user).values_list("pk", flat=True)
    condition = Q(content_type=types[User], object_id=str(user.pk))
    condition |= Q(content_type=types[EmailAddress], object_id__in=[str(pk) for pk in addresses])
    for name in known:
        failed = f"Failed access: user {name} "
        condition |= Q(content_type=types[EmailAddress], object_repr__iexact=name[:MAX_REPR_CHARACTERS])
        condition |= Q(content_type=types[AccessFailureLog], object_repr__istartswith=failed[:MAX_REPR_CHARACTERS])
    return list(LogEntry.objects.filter(condition).values_list("pk", flat=True))


def _empty(user: User, now: datetime) -> None:
    user.username = f"deleted-{uuid4().hex[:12]}"
    user.email = user.first_name = user.last_name = user.interface_language = ""
    user.reads_english = user.is_staff = user.is_superuser = user.is_active = False
    user.deleted_at = now
    user.set_unusable_password()
    user.save()
    user.groups.clear()
    user.user_permissions.clear()


def create_stand_ins(*, number: int, now: datetime) -> list[User]:
    """Create accounts for people of whom a file only has the work: disabled and nameless, as deleted accounts are."""
    return User.objects.bulk_create(
        User(username=f"from-file-{uuid4().hex[:12]}", password=make_password(None), is_active=False, deleted_at=now)
        for _one in range(number)
    )


def set_language_skills(
    *, user: User, levels: Mapping[str, LanguageLevel | None], reads_english: bool, interface_language: str
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
