"""Texts of a project: a new version of each that differs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from annotation.models import GuidelineExample
from annotation.services.projects import publish_guidelines
from core.people.services.consent import publish_consent_text
from office.dashboard.selectors.campaign_file import SEPARATORS, campaign_of
from office.dashboard.services.campaign.changes import CampaignChange, refusals_at
from office.practice.models import PracticeKind
from office.practice.services.sets import NewItem, publish_practice
from sxs_eval.services.comparisons import publish_instructions


def apply_texts(change: CampaignChange, campaign: Mapping[str, Any]) -> None:
    """Publish consent, guidelines and instructions. Languages begin with the newest guidelines."""
    now = campaign_of(change.project)
    publish = {"consent": _publish_consent, "guidelines": _publish_guidelines, "instructions": _publish_instructions}
    for name, publish_part in publish.items():
        if name in campaign and campaign[name] != now.get(name):
            version = publish_part(change, campaign[name])
            change.changed(name, _("version %(version)d is published") % {"version": version})


def apply_practice(change: CampaignChange, practice: Mapping[str, Any]) -> None:
    now = campaign_of(change.project).get("practice", {})
    for kind, wanted in practice.items():
        if wanted == now.get(kind):
            continue
        settings = {name: value for name, value in wanted.items() if name != "examples"}
        made = publish_practice(
            project=change.project,
            kind=PracticeKind(kind),
            items=[NewItem(**_example(change, one)) for one in wanted["examples"]],
            is_required=settings.pop("required"),
            **settings,
            **change.who,
        )
        change.changed(f"practice.{kind}", _("version %(version)d is published") % {"version": made.version})


def _publish_consent(change: CampaignChange, wanted: Mapping[str, Any]) -> int:
    said = {name: wanted[name] for name in ("on_withdrawal", "licence", "contact")}
    with refusals_at("consent.text"):
        return publish_consent_text(project=change.project, body=wanted["text"], **said, **change.who).version


def _publish_guidelines(change: CampaignChange, wanted: Mapping[str, Any]) -> int:
    examples = [GuidelineExample(**_example(change, one)) for one in wanted["examples"]]
    said = {"rating": wanted["rating"], "writing": wanted["writing"], "examples": examples}
    with refusals_at("guidelines"):
        return publish_guidelines(project=change.project, **said, **change.who).version


def _publish_instructions(change: CampaignChange, wanted: Mapping[str, Any]) -> int:
    return publish_instructions(project=change.project, body=wanted["text"], **change.who).version


def _example(change: CampaignChange, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a stored example."""
    fields = {name: value for name, value in said.items() if name not in ("collection", "image", "language")}
    fields |= {name: SEPARATORS[name].join(value) for name, value in fields.items() if name in SEPARATORS}
    image = change.names.images[said.get("collection", ""), said["image"]] if "image" in said else None
    return fields | {"image": image, "language": change.names.languages[said["language"]]}
