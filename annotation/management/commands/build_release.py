"""`manage.py build_release PROJECT`: build the next release now, or with --rebuild an earlier one again."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from annotation.models import Release
from annotation.rules.releases import LICENCES
from annotation.selectors.releases import settings_of_next
from annotation.services import releases as services
from annotation.services.release_contents import ReleaseNotPossibleError
from annotation.services.releases import ReleaseSettingsError
from core.jobs.models import JobState
from core.people.management.arguments import project_named, user_named
from core.people.models import Project, User


def moment(text: str) -> datetime:
    try:
        parsed = parse_datetime(text)
    except ValueError:
        parsed = None
    if parsed is None or timezone.is_naive(parsed):
        raise ArgumentTypeError(f"must be a time with its time zone, for example 2025-05-31T12:00:00+00:00, not {text}")
    return parsed


class Command(BaseCommand):
    help = "Make the next release of a project, or rebuild an earlier release and compare the files."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="last part of the project's address")
        parser.add_argument("--title", help="title to cite (default: that of the last release, or the project's name)")
        parser.add_argument(
            "--licence",
            choices=list(LICENCES),
            help="licence of the captions (default: that of the last release, or CC-BY-4.0)",
        )
        parser.add_argument(
            "--author",
            action="append",
            metavar="AUTHOR",
            help='"family name, given names" or an institution; repeat for each (default: those of the last release)',
        )
        parser.add_argument("--description", metavar="TEXT", help="start of the datasheet, in Markdown")
        parser.add_argument("--changes", default="", metavar="TEXT", help="what changed, in your own words")
        parser.add_argument(
            "--until",
            type=moment,
            metavar="TIME",
            help="include captions submitted up to this time, for example 2025-05-31T12:00:00+00:00 (default: now)",
        )
        parser.add_argument(
            "--salt",
            default="",
            help="secret for the pseudonyms; anyone who has it can find out who is behind them (default: random)",
        )
        parser.add_argument(
            "--include-images",
            action="store_true",
            help="include the files of images whose licences let everybody pass them on",
        )
        parser.add_argument(
            "--publish-coordinates",
            action="store_true",
            help="publish where each image was taken, to a few metres; this cannot be taken back",
        )
        parser.add_argument("--by", metavar="USER", help="who makes the release (default: who created the project)")
        parser.add_argument("--rebuild", type=int, metavar="NUMBER", help="rebuild this release")
        parser.add_argument("--to", type=Path, metavar="FOLDER", help="folder for the files; only with --rebuild")

    def handle(self, *, project: str, rebuild: int | None, to: Path | None, **options: Any) -> None:
        chosen = project_named(project)
        if (rebuild is None) != (to is None):
            raise CommandError("Give --rebuild NUMBER and --to FOLDER together.")
        if rebuild is not None and to is not None:
            self._rebuild(chosen, rebuild, to)
        else:
            self._build(chosen, options)

    def _build(self, project: Project, options: dict[str, Any]) -> None:
        before = settings_of_next(project)
        try:
            release = services.start_release(
                project=project,
                title=options["title"] or before["title"],
                licence=options["licence"] or before["licence"],
                authors="\n".join(options["author"] or [before["authors"]]),
                description=options["description"] or before["description"],
                changes=options["changes"],
                by=self._by(project, options["by"]),
                now=timezone.now(),
                salt=options["salt"],
                until=options["until"],
                publish_coordinates=options["publish_coordinates"],
                include_images=options["include_images"],
            )
        except ReleaseSettingsError as refused:
            raise CommandError(
                "You cannot make a release yet:\n" + "\n".join(f"- {one}" for one in refused.problems)
            ) from refused
        built = services.build(release_id=release.pk, clock=timezone.now)
        if built is None:
            self.stdout.write(f"Release {release.number} is being made by a worker. Its page shows when it is done.")
            return
        if built.state == JobState.FAILED:
            raise CommandError(f"Release {built.number} could not be made. {built.error}")
        counts = built.counts
        self.stdout.write(
            f"Release {built.number}: {counts['captions']:,} captions of {counts['images']:,} images, "
            f"{counts['verdicts']:,} verdicts. SHA-256 of the manifest: {built.checksum}"
        )
        self.stdout.write(f"In storage as {built.folder}/ and {built.archive} ({built.archive_bytes:,} bytes).")

    def _rebuild(self, project: Project, number: int, folder: Path) -> None:
        release = Release.objects.filter(project=project, number=number, state=JobState.DONE).first()
        if release is None:
            done = Release.objects.filter(project=project, state=JobState.DONE).order_by("number")
            known = ", ".join(str(one) for one in done.values_list("number", flat=True)) or "none yet"
            raise CommandError(f"There is no release {number} of {project.slug}. Available releases: {known}.")
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise CommandError(f"{folder} is not an empty folder.")
        folder.mkdir(parents=True, exist_ok=True)
        try:
            written = services.rebuild(release=release, folder=folder)
        except ReleaseNotPossibleError as reason:
            raise CommandError(str(reason)) from reason
        if written.checksum == release.checksum:
            self.stdout.write(f"Identical, byte for byte: {len(written.files)} files in {folder}.")
            return
        there = {file["name"]: file["sha256"] for file in release.counts["files"]}
        here = {file.name: file.sha256 for file in written.files}
        differ = sorted(name for name in {*there, *here} - {"manifest.json"} if there.get(name) != here.get(name))
        raise CommandError(
            f"These files differ: {', '.join(differ)}. The data of the release has changed since it was made, "
            "or another version of Crosslens made it. The stored release is unchanged."
        )

    def _by(self, project: Project, name: str | None) -> User:
        return project.created_by if name is None else user_named(name)
