"""`manage.py import_reference_captions FILE --collection COLLECTION --project PROJECT [--references NAME]`"""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from annotation.services.caption_imports import import_captions, look_through
from core.images.management.arguments import collection_named
from core.images.models import Collection
from core.jobs.models import JobState
from core.people.management.arguments import checked_text, project_named, user_named
from core.people.models import Project, User
from crosslens_metrics.formats.problems import FileRefusedError
from research.scoring.models import ReferenceSet
from research.scoring.services.reference_imports import import_path


class Command(BaseCommand):
    help = "Import a file of captions in Crossmodal-3600's layout, as a whole, into a project or as references."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="JSON Lines, one line for each image")
        parser.add_argument("--collection", required=True, help="name or slug of the collection with the images")
        parser.add_argument("--project", required=True, metavar="SLUG", help="the project's slug")
        parser.add_argument(
            "--references",
            metavar="NAME",
            help="import as references with this name, to score models against, not as captions of the project",
        )
        parser.add_argument(
            "--source",
            default="",
            help="where the captions come from, and under which licence (“Unknown source” if not given)",
        )
        parser.add_argument("--by", metavar="USER", help="who imports, for the project's audit log")

    def handle(
        self, *, file: Path, collection: str, project: str, references: str | None, source: str, **options: Any
    ) -> None:
        into, by = project_named(project), None if options["by"] is None else user_named(options["by"])
        images = collection_named(collection, project=into)
        try:
            opened = file.open("rb")
        except OSError as error:
            raise CommandError(f"The file {file} cannot be read: {error.strerror}.") from error
        try:
            with opened:
                if references is None:
                    self._as_captions(opened, into, images, source.strip(), by)
                else:
                    self._as_references(opened, file, into, images, references.strip(), source.strip())
        except FileRefusedError as refused:
            lines = "".join(f"\n- {line}" for line in str(refused).splitlines())
            raise CommandError(f"Nothing was imported:{lines}") from refused

    def _as_captions(
        self, file: BinaryIO, project: Project, collection: Collection, source: str, by: User | None
    ) -> None:
        made = import_captions(
            project=project, collection=collection, file=file, source=source, by=by, now=timezone.now()
        )
        self.stdout.write(
            f"{made.captions:,} captions of {made.images:,} images in {', '.join(made.rounds)}, each language as an "
            "accepted main round."
        )
        if made.had_hidden:
            self.stdout.write(f"Captions from which invisible characters were removed: {made.had_hidden:,}.")
        if made.is_export_equal:
            self.stdout.write("An export in the layout xm3600 is identical to the file, byte for byte.")
        elif made.is_export_equal is False:
            self.stdout.write(
                "An export in the layout xm3600 differs from the file: images are in the order of the "
                "collection with their keys, languages are in the order of their tags, every line has every language "
                "and a line feed, characters are neither escaped nor hidden, and it says where images were taken."
            )

    def _as_references(
        self, file: BinaryIO, path: Path, project: Project, collection: Collection, name: str, source: str
    ) -> None:
        name = checked_text(name, option="--references", longest=ReferenceSet._meta.get_field("name").max_length)
        contents = look_through(file, collection)
        job = import_path(
            path=path,
            project=project,
            collection=collection,
            language=None,
            name=name,
            source=source,
            clock=timezone.now,
        )
        if job.state == JobState.FAILED:
            raise CommandError(job.error)
        if contents.had_hidden:
            self.stdout.write(f"Captions from which invisible characters were removed: {contents.had_hidden:,}.")
        tags = ", ".join(sorted(contents.most))
        self.stdout.write(f"{contents.captions:,} captions of {len(contents.images):,} images as “{name}” in {tags}.")
