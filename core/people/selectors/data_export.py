"""Everything stored about one person, for themselves: a ZIP of JSON files, and a text that describes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from axes.models import AccessAttempt
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext as _

from core.people import personal_data
from core.people.models import (
    ApiToken,
    AuditEntry,
    Consent,
    Invitation,
    InvitationUse,
    LanguageSkill,
    Membership,
    PersonalLink,
    Session,
    User,
)
from core.people.personal_data import ExportPart
from core.people.rules.consent_parts import text_for

FILE_NAME = "crosslens-own-data.zip"
ROWS_AT_ONCE = 1000
AS_OF_OLD = (1980, 1, 1, 0, 0, 0)
"""The same data give the same bytes."""


def write_archive(person: User, file: IO[bytes]) -> None:
    """Write the archive to `file`, row by row, in constant memory."""
    lines = []
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for folder, part in [*(("account", part) for part in _account(person)), *personal_data.parts_of(person)]:
            name = f"{folder}/{part.name}.json"
            lines.append(f"{name}\n    {part.about}\n")
            with archive.open(ZipInfo(name, AS_OF_OLD), "w", force_zip64=True) as entry:
                for piece in _as_json(part.rows):
                    entry.write(piece.encode())
        archive.writestr(ZipInfo("README.txt", AS_OF_OLD), "\n".join([_opening(), *lines]), ZIP_DEFLATED)


def _opening() -> str:
    return _(
        "All that is stored about you here, as JSON. Each file is a list with one entry on each line. Times "
        "are in UTC. It does not include what other people wrote. While images are assigned to you, it "
        "leaves out what you must not see while you write about them; download your data again once you have "
        "submitted them. It also leaves out totals that the pages show, because they can be computed from "
        "the rest.\n"
    )


def _as_json(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    if isinstance(rows, QuerySet):
        rows = rows.iterator(chunk_size=ROWS_AT_ONCE)
    between = "[\n"
    for row in rows:
        yield between + json.dumps(row, cls=DjangoJSONEncoder, ensure_ascii=False)
        between = ",\n"
    yield "[]\n" if between == "[\n" else "\n]\n"


def _account(person: User) -> Iterator[ExportPart]:
    names = ("username", "email", "first_name", "last_name", "date_joined", "last_login", "reads_english")
    profile = {name: getattr(person, name) for name in (*names, "interface_language", "is_staff", "is_superuser")}
    yield ExportPart("profile", _("Your account, and what you told us about yourself."), [profile])
    addresses = EmailAddress.objects.filter(user=person).order_by("pk")
    yield ExportPart("e-mail-addresses", _("Your e-mail addresses."), addresses.values("email", "verified", "primary"))
    factors = Authenticator.objects.filter(user=person).order_by("pk")
    factors_shown = factors.values("type", "created_at", "last_used_at", name=F("data__name"))
    yield ExportPart("second-factors", _("Your second factors for signing in, without their secrets."), factors_shown)
    services = SocialAccount.objects.filter(user=person).order_by("pk")
    services_shown = services.values("provider", "uid", "date_joined", "last_login")
    yield ExportPart("other-services", _("Other services that you sign in with."), services_shown)
    skills = LanguageSkill.objects.filter(user=person).order_by("language")
    yield ExportPart("language-skills", _("Your language levels."), skills.values("language", "level", "recorded_at"))
    memberships = (
        Membership.objects.filter(user=person)
        .order_by("pk")
        .values("role", "joined_at", project_slug=F("project__slug"), project_name=F("project__name"))
    )
    yield ExportPart("memberships", _("Your roles in projects."), memberships)
    about = _("The consent texts that you agreed to, and any consent that you withdrew.")
    yield ExportPart("consents", about, _consents(person))
    uses = InvitationUse.objects.filter(user=person).order_by("used_at", "pk")
    of_invitation = {"role": F("invitation__role"), "project_slug": F("invitation__project__slug")}
    yield ExportPart("invitations-used", _("Invitations that you accepted."), uses.values("used_at", **of_invitation))
    # Without the people they were for.
    invitations = Invitation.objects.filter(created_by=person).order_by("created_at", "pk")
    made = invitations.values(
        "role", "places", "places_taken", "created_at", "expires_at", "revoked_at", project_slug=F("project__slug")
    )
    yield ExportPart("invitations-made", _("Invitations that you made as a manager."), made)
    tokens = ApiToken.objects.filter(user=person).order_by("created_at", "pk")
    columns = ("name", "prefix", "may_write", "created_at", "expires_at", "last_used_at", "revoked_at")
    about = _("Names of the tokens with which programs act for you, without the tokens themselves.")
    yield ExportPart("tokens", about, tokens.values(*columns))
    links = PersonalLink.objects.filter(user=person).values("made_at", "expires_at")
    yield ExportPart("personal-link", _("When your personal link was made, without the link itself."), links)
    sessions = Session.objects.filter(person=person.pk).order_by("signed_in_at", "expire_date")
    shown = sessions.values("signed_in_at", "seen_at", "address", "user_agent", "expire_date")
    yield ExportPart("sessions", _("Where you are signed in, without the keys of the sessions."), shown)
    known_as = [name.lower() for name in (person.username, person.email) if name]
    failures = AccessAttempt.objects.filter(username__in=known_as).order_by("attempt_time", "pk")
    yield ExportPart(
        "sign-in-failures",
        _("Failed attempts to sign in to your account that still count."),
        failures.values("attempt_time", "ip_address", "user_agent", "failures_since_start"),
    )
    about = _("Entries in the audit logs of projects about what you did, or what concerns you.")
    yield ExportPart("log", about, _log(person))


def _consents(person: User) -> Iterator[dict[str, Any]]:
    """Without the parts of a text that are for roles of others."""
    consents = Consent.objects.filter(user=person).order_by("given_at", "pk")
    of_text = {name: F(f"text__{name}") for name in ("version", "on_withdrawal", "body")}
    columns = ("role", "given_at", "withdrawn_at", "answers_kept")
    for row in consents.values(*columns, project_slug=F("text__project__slug"), **of_text).iterator(ROWS_AT_ONCE):
        yield row | {"body": text_for(row["body"], [row["role"]]) if row["role"] else row["body"]}


def _log(person: User) -> Iterator[dict[str, Any]]:
    """Without the details, which may be about others too."""
    entries = AuditEntry.objects.filter(Q(by=person) | Q(person=person)).order_by("at", "project", "number")
    rows = entries.values("number", "at", "action", "about", "by", "person", project_slug=F("project__slug"))
    for row in rows.iterator(chunk_size=ROWS_AT_ONCE):
        who = {"you_did_it": row["by"] == person.pk, "it_concerns_you": row["person"] == person.pk}
        yield {name: value for name, value in row.items() if name not in ("by", "person")} | who
