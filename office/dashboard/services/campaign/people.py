"""Invitations, studies of panels, and what an hour costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from core.people.models import Role
from core.people.services.invitations import InvitationMailing, NewInvitation, invite_many
from office.dashboard.selectors.campaign_file import campaign_of, invitation_of, invitations_of, study_of
from office.dashboard.services.campaign.changes import CampaignChange, refusals_at
from office.recruitment.models import Study
from office.recruitment.rules.panels import USUAL_NAMES, PanelKind
from office.recruitment.services.studies import RateInCurrency, change_study, create_study, set_rates

FIXED_IN_STUDIES = ("panel", "role", "languages", "batches", "person_parameter", "session_parameter")
MONEY = ("reward", "rate")


def apply_invitations(change: CampaignChange, invitations: Sequence[Mapping[str, Any]]) -> None:
    """Make the invitations that the project lacks; two alike are two invitations."""
    known = Counter(_key(invitation_of(one)) for one in invitations_of(change.project))
    for number, wanted in enumerate(invitations):
        key = _key(wanted)
        if known[key]:
            known[key] -= 1
            continue
        languages = [change.names.languages[tag] for tag in wanted["languages"]]
        about = {name: wanted[name] for name in ("places", "email", "note")}
        with refusals_at(f"invitations[{number}]"):
            invite_many(
                project=change.project,
                wanted=[NewInvitation(role=Role(wanted["role"]), languages=languages, **about)],
                expires_at=change.now + timedelta(days=wanted["valid_days"]),
                created_by=change.by,
                mailing=InvitationMailing(by=change.by, site=settings.SITE_URL),
                now=change.now,
            )
        what = [Role(wanted["role"]).label, ", ".join(wanted["languages"]), wanted["email"]]
        change.added(f"invitations[{number}]", "; ".join(str(one) for one in what if one))


def _key(said: Mapping[str, Any]) -> tuple[Any, ...]:
    return (said["role"], *sorted(said["languages"]), said["email"].lower(), said["note"], said["places"])


def apply_studies(change: CampaignChange, studies: Sequence[Mapping[str, Any]]) -> None:
    known = {one.name: one for one in Study.objects.filter(project=change.project).prefetch_related("languages")}
    for number, said in enumerate(studies):
        path, usual = f"studies[{number}]", USUAL_NAMES[PanelKind(said["panel"])]
        wanted = {"person_parameter": usual.person, "session_parameter": usual.session, **said}
        if study := known.get(wanted["name"]):
            why = _("people may have come already. Make another study, or change the file.")
            differing = change.compare(path, study_of(study), wanted, fixed=dict.fromkeys(FIXED_IN_STUDIES, why))
            if differing:
                change_study(study=study, **change.who, **_stored({name: wanted[name] for name in differing}))
            continue
        said_once = {name: value for name, value in wanted.items() if name != "languages"}
        languages = [change.names.languages[tag] for tag in wanted["languages"]]
        create_study(project=change.project, languages=languages, **change.who, **_stored(said_once))
        change.added(path, str(wanted["name"]))


def _stored(said: Mapping[str, Any]) -> dict[str, Any]:
    return {name: Decimal(str(value)) if name in MONEY else value for name, value in said.items()}


def apply_rates(change: CampaignChange, rates: Sequence[Mapping[str, Any]]) -> None:
    """Replace all rates where one differs."""

    def by_language(said: Sequence[Mapping[str, Any]]) -> dict[str, RateInCurrency]:
        return {one.get("language", ""): RateInCurrency(Decimal(str(one["rate"])), one["currency"]) for one in said}

    wanted = by_language(rates)
    if wanted != by_language(campaign_of(change.project).get("rates", [])):
        set_rates(project=change.project, rates=wanted, **change.who)
        said = (f"{tag or _('other languages')}: {one.rate} {one.currency}" for tag, one in wanted.items())
        change.changed("rates", "; ".join(said))
