"""`manage.py campaign plan|apply|write|validate|schema`: a project's settings as a file that is kept with its code."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core.people.management.arguments import add_output, checked_file, project_named, user_named, write_export
from core.people.models import Project
from office.dashboard.formats.campaign_file import CampaignFileError, campaign_text, read_campaign
from office.dashboard.formats.campaign_schema import CAMPAIGN
from office.dashboard.services.campaign.applying import apply_campaign
from office.dashboard.services.campaign.changes import CampaignChange
from office.dashboard.services.campaign.names import CampaignNames


class Command(BaseCommand):
    help = "Plan, apply, write out or validate a campaign file: docs/campaigns.md."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        for action, help in (("plan", "say what a file would change"), ("apply", "apply a file, or change nothing")):
            own = actions.add_parser(action, help=help)
            own.add_argument("file", type=Path, metavar="FILE")
            own.add_argument("--project", metavar="SLUG", help="instead of the one that the file names; it may be new")
            own.add_argument("--by", metavar="USER", help="who does it (default: who created the project)")
        own = actions.add_parser("write", help="write the file of a project")
        own.add_argument("project", metavar="PROJECT")
        add_output(own)
        own = actions.add_parser("validate", help="name what is wrong in a file")
        own.add_argument("file", type=Path, metavar="FILE")
        add_output(actions.add_parser("schema", help="write the JSON Schema for editors"))

    def handle(self, *, action: str, **options: Any) -> None:
        try:
            getattr(self, f"_{action}")(**options)
        except CampaignFileError as error:
            raise CommandError("\n".join(error.problems)) from error

    def _plan(self, **options: Any) -> None:
        self._tell(self._changed(**options, is_plan=True))

    def _apply(self, **options: Any) -> None:
        change = self._changed(**options, is_plan=False)
        self._tell(change)
        if change.refused:
            raise CommandError("Nothing was changed. Correct these lines in the file, or remove them.")
        self.stdout.write(f"Applied to {change.project.slug}.")

    def _changed(
        self, *, file: Path, project: str | None, by: str | None, is_plan: bool, **_others: Any
    ) -> CampaignChange:
        campaign = read_campaign(checked_file(file).read_bytes())
        slug = project or campaign["project"].get("slug", "")
        found = Project.objects.filter(slug=slug).first()
        if found is None and by is None:
            raise CommandError("Say with --by USER who makes the new project and manages it.")
        person = user_named(by) if by else found.created_by  # type: ignore[union-attr]
        return apply_campaign(campaign, project=found, slug=slug, by=person, now=timezone.now(), is_plan=is_plan)

    def _tell(self, change: CampaignChange) -> None:
        for step in change.steps:
            self.stdout.write(f"{step.kind.label}: {step.path}: {step.text}")
        if not change.steps:
            self.stdout.write("Nothing to change.")

    def _write(self, *, project: str, output: Path | None, **_others: Any) -> None:
        write_export(self, [campaign_text(project_named(project), site=settings.SITE_URL).encode()], output)

    def _validate(self, *, file: Path, **_others: Any) -> None:
        campaign = read_campaign(checked_file(file).read_bytes())
        CampaignNames(Project.objects.filter(slug=campaign["project"].get("slug", "")).first(), by=None).check(campaign)
        self.stdout.write(f"{file} is valid.")

    def _schema(self, *, output: Path | None, **_others: Any) -> None:
        write_export(self, [json.dumps(CAMPAIGN, indent=2, ensure_ascii=False).encode() + b"\n"], output)
