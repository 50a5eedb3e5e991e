"""Applying the file of a campaign to a project, or making one from it: everything, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from annotation.models import RoundFigures
from annotation.services import projects
from annotation.tasks import nudge_filling as nudge_rounds
from core.allocation.models import Pool, Task
from core.allocation.services.locks import lock_settings_of, lock_tasks
from core.people.models import Membership, Project, Role, User
from core.people.permissions import project_for
from core.people.services.members import lock_person
from office.dashboard.services.campaign import comparisons, languages
from office.dashboard.services.campaign.changes import CampaignChange, refusals_at
from office.dashboard.services.campaign.names import CampaignNames
from office.dashboard.services.campaign.people import apply_invitations, apply_rates, apply_studies
from office.dashboard.services.campaign.texts import apply_practice, apply_texts
from office.dashboard.services.projects import rename_project
from sxs_eval.models import Comparison
from sxs_eval.tasks import nudge_filling as nudge_comparisons

PARTS: dict[str, Callable[[CampaignChange, Any], None]] = {
    "languages": languages.apply_languages,
    "practice": apply_practice,
    "comparisons": comparisons.apply_comparisons,
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
    - `slug`: of a new project; without one, that of the file, or one made from its name. If there is one of this slug
      by now, the file is applied to it.

    Raises CampaignFileError: a name in it stands for nothing here, or a service refuses a value.
    """
    with transaction.atomic():
        if project is None and slug:
            project = _made_meanwhile(slug, by)
        names = CampaignNames(project, by=by)
        names.check(campaign)
        if project is not None:
            _lock_what_is_there(project, campaign)
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


def _made_meanwhile(slug: str, by: User) -> Project | None:
    """Wait for other requests of `by` that make projects, and return the one of this slug, if there is one now.

    Raises Http404: somebody else has made it.
    """
    lock_person(by)
    return project_for(by, slug, Role.MANAGER) if Project.objects.filter(slug=slug).exists() else None


def _lock_what_is_there(project: Project, campaign: Mapping[str, Any]) -> None:
    """Lock what the file can change of `project`, in the order of docs/decisions/0039: each step then writes the log.

    It also waits until no other file is being applied: both would find the same invitations lacking.
    """
    managers = Membership.objects.filter(project=project, role=Role.MANAGER)
    for rows in (managers, project.rounds.all(), Comparison.objects.filter(project=project)):
        list(rows.order_by("pk").select_for_update(no_key=True, of=("self",)).values_list("pk", flat=True))
    project.refresh_from_db()
    named = [
        *languages.named_pools(project, campaign.get("languages", ())),
        *comparisons.named_pools(project, campaign.get("comparisons", ())),
    ]
    lock_settings_of(Pool.objects.filter(pk__in=[pool.pk for pool, _wanted in named]))
    replicated = [pool.pk for pool, wanted in named if wanted.get("replication") not in (None, pool.replication)]
    lock_tasks(Task.objects.filter(pool__in=replicated))
    figures = RoundFigures.objects.filter(round__pool__in=replicated)
    list(figures.order_by("pk").select_for_update(no_key=True, of=("self",)).values_list("pk", flat=True))


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
