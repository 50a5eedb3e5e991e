"""Begin the languages of a project with the images and captions that an import brought."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from annotation.rules.campaign import PILOT_IMAGES
from annotation.selectors.overview import coverage_of
from core.images.models import ImportJob
from core.people.models import Role
from office.dashboard.formats.campaign_file import CampaignFileError, completed
from office.dashboard.services.campaign.applying import apply_campaign
from office.imports.services.previews import ImportWish
from research.inference.models import CaptioningModel, ModelCaption


def begin_languages(job: ImportJob, wish: ImportWish, *, now: datetime) -> str:
    """Open a pilot of each language that was wished for, with a link for its people; return why that was not possible.

    It does what a campaign file of these languages does, and so nothing twice.
    """
    assert wish.project is not None
    assert wish.collection is not None
    assert job.created_by is not None
    brought = ModelCaption.objects.filter(import_job__in=job.parts.all(), language="en")
    models = list(CaptioningModel.objects.filter(pk__in=brought.values("model")).order_by("name"))
    images = coverage_of(wish.collection, models).by_any
    if not images:
        return _("No language was begun, because no image has an English caption by a model.")
    said: dict[str, Any] = {
        "project": {"name": wish.project.name, "description": wish.project.description},
        "rounds": {
            "collection": wish.collection.slug,
            "captioners": [model.name for model in models],
            "pilot": {"images": min(PILOT_IMAGES, images)},
        },
        "languages": [{"tag": tag} for tag in wish.languages],
    }
    if wish.places:
        role = Role.ANNOTATOR.value
        said["invitations"] = [{"role": role, "languages": [tag], "places": wish.places} for tag in wish.languages]
    try:
        change = apply_campaign(completed(said), project=wish.project, by=job.created_by, now=now)
    except CampaignFileError as error:
        return _("The files were imported, but no language was begun: %(reason)s") % {
            "reason": " ".join(error.problems)
        }
    return " ".join(step.text for step in change.steps) if change.refused else ""
