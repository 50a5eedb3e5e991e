"""`manage.py check_audit_log`: check that the audit logs are unchanged."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core.people.management.arguments import project_named
from core.people.models import AuditEntry, Project
from core.people.services import audit_log


class Command(BaseCommand):
    help = "Check that no entry in the audit log of a project, or of all projects, was edited or removed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", nargs="?", help="short name, as in addresses; without it, all projects")

    def handle(self, *, project: str | None, **options: Any) -> None:
        projects = Project.objects.order_by("slug") if project is None else [project_named(project)]
        broken = [f"{checked.slug} {number}" for checked in projects for number in self._broken(checked)]
        if broken:
            raise CommandError(f"Edited, or earlier entries are missing: {', '.join(broken)}. Compare with a backup.")

    def _broken(self, project: Project) -> list[int]:
        numbers = list(audit_log.broken_entries(project))
        last = AuditEntry.objects.filter(project=project).first()
        # A log without its last entries is still consistent: compare these two lines with a copy kept elsewhere.
        end = f"{last.number} entries, the last one {last.digest}" if last else "no entries"
        self.stdout.write(f"{project.slug}: {end}{', broken' if numbers else ''}")
        return numbers
