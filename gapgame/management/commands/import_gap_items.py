"""`manage.py import_gap_items FILE --project SLUG --set NAME`: the same import as in the browser, run at once."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from gapgame.formats.multisubs import is_layout
from gapgame.models import ItemSet
from gapgame.services.item_imports import import_path
from gapgame.services.item_sources import LAYOUTS
from gapgame.services.items import item_set_named
from images.management.reports import check_report, print_report, write_report
from images.models import Collection, JobState, Outcome
from images.permissions import collections_in
from images.tasks import ask_for_sizes
from people.models import Project


class Command(BaseCommand):
    help = "Import sentences with a gap and their images from JSON Lines or MultiSubs files."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="JSON Lines, a JSON list, or a folder with LANGUAGE.items.tsv")
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument("--set", required=True, metavar="NAME", help="item set, created if there is none")
        parser.add_argument("--images", type=Path, help="folder or zip in which to look for images first")
        parser.add_argument(
            "--collection",
            action="append",
            default=[],
            metavar="SLUG",
            help="collection in which to look for images, too (repeatable)",
        )
        parser.add_argument("--embeddings", type=Path, help="image vectors, .npz or JSON Lines")
        parser.add_argument("--layout", choices=LAYOUTS, help="default: detected from the file")
        parser.add_argument("--report", type=Path, help="write the full report to this CSV file")

    def handle(self, *, file: Path, project: str, **options: Any) -> None:
        found = Project.objects.filter(slug=project).first()
        if found is None:
            raise CommandError(f"There is no project {project}.")
        _check_paths(file, options["images"], options["embeddings"])
        collections = [_collection(slug, found) for slug in options["collection"]]
        name = _name(options["set"])
        check_report(options["report"])
        job = import_path(
            path=file,
            item_set=item_set_named(project=found, name=name),
            images=options["images"],
            embeddings=options["embeddings"],
            collections=collections,
            layout=options["layout"],
            clock=timezone.now,
            announce=ask_for_sizes,
        )
        if options["report"] is not None:
            write_report(job, options["report"])
        for row in job.rows.filter(outcome=Outcome.ADDED).exclude(reason="").iterator():
            self.stdout.write(f"{row.name}: {row.get_outcome_display()}. {row.reason}")
        print_report(job, self.stdout)
        if job.state == JobState.FAILED:
            raise CommandError(job.error)


def _check_paths(file: Path, images: Path | None, embeddings: Path | None) -> None:
    if not file.exists():
        raise CommandError(f"There is no file or folder {file}.")
    if file.is_dir() and not is_layout(file):
        raise CommandError(f"The folder {file} has no table LANGUAGE.items.tsv. Name a file, or add the table.")
    if images is not None and not images.exists():
        raise CommandError(f"There is no folder or zip {images}.")
    if embeddings is not None and not embeddings.is_file():
        raise CommandError(f"There is no file {embeddings}.")


def _collection(slug: str, project: Project) -> Collection:
    found = collections_in(project).filter(slug=slug).first()
    if found is None:
        raise CommandError(f"Project {project.slug} cannot use a collection {slug}.")
    return found


def _name(given: str) -> str:
    name, longest = given.strip(), ItemSet._meta.get_field("name").max_length or 0
    if not name or len(name) > longest or not name.isprintable():
        raise CommandError(f"--set must be 1 to {longest} characters without control characters.")
    return name
