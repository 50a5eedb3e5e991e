"""Applying the file of a campaign to a project, or making one from it: everything, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from annotation.services import projects
from annotation.tasks import nudge_filling as nudge_rounds
from core.people.models import Membership, Project, Role, User
from office.dashboard.services.campaign.changes import CampaignChange, refusals_at
from office.dashboard.services.campaign.comparisons import apply_comparisons
from office.dashboard.services.campaign.languages import apply_languages
from office.dashboard.services.campaign.names import CampaignNames
from office.dashboard.services.campaign.people import apply_invitations, apply_rates, apply_studies
from office.dashboard.services.campaign.texts import apply_practice, apply_texts
from office.dashboard.services.projects import rename_project
from sxs_eval.models import Comparison
from sxs_eval.tasks import nudge_filling as nudge_comparisons

PARTS: dict[str, Callable[[CampaignChange, Any], None]] = {
    "languages": apply_languages,
    "practice": apply_practice,
    "comparisons": apply_comparisons,
    "invitations": apply_invitations,
    "studies": apply_studies,
    "rates": apply_rates,
}


def apply_campaign(
    campaign: Mapping[str, Any],
    *,
    project: Project | None,
    by: User,
    now: datetime,
    slug: str = "",
    is_plan: bool = False,
) -> CampaignChange:
    """Bring `project`, or without one a new project, to what `campaign` says, and return what that changes.

    Nothing is ever removed. New invitations with an address are sent there. As a plan, all of it is done and then
    rolled back, so that a plan cannot differ from what follows. Where something cannot be changed, nothing is done.

    - `campaign`: what `read_campaign` returned.
    - `slug`: of a new project; without one, that of the file, or one made from its name.

    Raises CampaignFileError: a name in it stands for nothing here, or a service refuses a value.
    """
    names = CampaignNames(project, by=by)
    names.check(campaign)
    with transaction.atomic():
        if project is not None:
            _wait_for_others(project)
        change = _change_of(project, campaign, names, slug=slug, by=by, now=now)
        apply_texts(change, campaign)
        for name, apply in PARTS.items():
            if name in campaign:
                with refusals_at(name):
                    apply(change, campaign[name])
        change.is_applied = not is_plan and not change.refused
        transaction.set_rollback(not change.is_applied)
    if change.is_applied:
        awaiting = Comparison.objects.filter(project=change.project, awaits_pairs=True)
        nudge_rounds(change.project.rounds.filter(awaits_tasks=True).values_list("pk", flat=True))
        nudge_comparisons(awaiting.values_list("pk", flat=True))
    return change


def _wait_for_others(project: Project) -> None:
    """Wait until no other file is being applied to `project`: both would find the same invitations lacking.

    Its managers' memberships come before all that a file changes in docs/decisions/0039; the project's log comes last.
    """
    managers = Membership.objects.filter(project=project, role=Role.MANAGER)
    list(managers.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
    project.refresh_from_db()


def _change_of(
    project: Project | None, campaign: Mapping[str, Any], names: CampaignNames, *, slug: str, by: User, now: datetime
) -> CampaignChange:
    said = campaign["project"]
    about: dict[str, Any] = {"name": said["name"], "description": said["description"]}
    if project is not None:
        change = CampaignChange(project, names, by, now)
        before = {"name": project.name, "description": project.description}
        if change.compare("project", before, about):
            rename_project(project=project, **about, **change.who)
        return change
    change = CampaignChange(Project(), names, by, now, is_new=True)
    about |= {"slug": slug or said.get("slug", ""), "has_beginnings": "practice" not in campaign}
    change.project = projects.create_empty_project(creator=by, now=now, **about)
    change.added("project", said["name"])
    return change
