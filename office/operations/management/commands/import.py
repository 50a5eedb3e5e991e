"""`manage.py import FILE…`: images and captions from files of any known layout, looked through before they go in."""

from __future__ import annotations

import csv
import json
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q
from django.utils import timezone

from core.images.management.arguments import add_report, check_report, collection_named, finish
from core.images.models import Collection, ImportJob
from core.images.selectors import report_table
from core.images.services.collections import find_or_create_collection
from core.images.tasks import ask_for_sizes
from core.people.management.arguments import checked_text, language_of, project_of
from core.people.permissions import usable_in
from crosslens_metrics.formats.caption_rows import FIELDS
from crosslens_metrics.formats.recognition import MODEL_CAPTIONS, REFERENCES
from office.operations.services.file_imports import ImportWish, ImportWishError, PreviewedFile, check, preview, take
from research.inference.rules.captions import MAX_MODEL_NAME_CHARACTERS
from research.scoring.models import ReferenceSet


class Command(BaseCommand):
    help = "Import images, captions of models and references from files of any known layout: docs/importing.md."

    def add_arguments(self, parser: ArgumentParser) -> None:
        kinds = [REFERENCES, MODEL_CAPTIONS]
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="file, folder or archive")
        parser.add_argument("--preview", action="store_true", help="say what the files are, and store nothing")
        parser.add_argument("--json", action="store_true", help="say so as JSON")
        parser.add_argument("--project", metavar="SLUG", help="project that owns what is made")
        parser.add_argument("--collection", metavar="NAME", help="of the images; created if there is none")
        parser.add_argument("--language", default="", metavar="TAG", help="of captions that do not say theirs")
        parser.add_argument("--model", metavar="NAME", help="that wrote the captions")
        parser.add_argument("--as", dest="kind", choices=kinds, default="", help="what the captions are")
        parser.add_argument("--name", help="of the references, for example XM3600")
        parser.add_argument("--translated", action="store_true", help="the references were translated from English")
        parser.add_argument("--source", default="", help="where references come from, and under which licence")
        parser.add_argument(
            "--map",
            nargs="+",
            action="extend",
            default=[],
            metavar="PART=COLUMN",
            help=f"which column has what, such as image=foto; parts: {', '.join(FIELDS)}",
        )
        add_report(parser)

    def handle(self, *, files: list[Path], report: Path | None, strict: bool, **options: Any) -> None:
        check_report(report)
        wish = _wish_of(options)
        previewed = preview(files, wish)
        if options["json"]:
            said_of_files = {"files": [one.as_json() for one in previewed]}
            self.stdout.write(json.dumps(said_of_files, ensure_ascii=False, indent=1))
        elif options["preview"]:
            for one in previewed:
                self._tell(one)
        if options["preview"]:
            sys.exit(0 if all(one.is_recognised for one in previewed) else 1)
        try:
            check(previewed, wish)
            if wish.creates_collection:
                collection = find_or_create_collection(options["collection"], project=wish.project)
                wish = replace(wish, collection=collection)
            jobs = list(take(previewed, wish, clock=timezone.now, announce=ask_for_sizes))
        except ImportWishError as error:
            raise CommandError(str(error)) from error
        self._finish(jobs, report, strict=strict)

    def _finish(self, jobs: list[ImportJob], report: Path | None, *, strict: bool) -> None:
        """Tell of all, also where one of them took nothing."""
        if not jobs:
            raise CommandError("Nothing was imported.")
        refusals = []
        for job in jobs:
            self.stdout.write(f"{job.source_name}:")
            try:
                finish(job, self, report=report if len(jobs) == 1 else None, strict=strict)
            except CommandError as error:
                refusals.append(str(error) if len(jobs) == 1 else f"{job.source_name}: {error}")
        if report is not None and len(jobs) > 1:
            with report.open("w", encoding="utf-8", newline="") as file:
                for number, job in enumerate(jobs):
                    head, *rows = report_table(job)
                    csv.writer(file).writerows([["source", *head]] * (not number))
                    csv.writer(file).writerows([job.source_name, *row] for row in rows)
        if refusals:
            raise CommandError("\n".join(refusals))

    def _tell(self, one: PreviewedFile) -> None:
        file = one.file
        what = ", ".join(filter(None, (file.kind, file.layout)))
        self.stdout.write(self.style.MIGRATE_HEADING(f"{file.path}: {what}"))
        if file.captions:
            self.stdout.write(f"  Captions: {file.captions:,} ({_counts(file.languages)})")
        if file.models:
            self.stdout.write(f"  Models: {_counts(file.models)}")
        if file.images:
            self.stdout.write(f"  Images: {len(file.images):,}, of which {one.matched:,} are known")
        for reason, (count, example) in file.problems.items():
            self.stdout.write(self.style.WARNING(f"  {reason} ({count:,}; for example {example})"))
        if file.columns:
            self.stdout.write("  Or say which they are: --map image=COLUMN caption=COLUMN")


def _wish_of(options: dict[str, Any]) -> ImportWish:
    project = project_of(options["project"])
    said = dict(pair.split("=", 1) for pair in options["map"] if "=" in pair)
    if len(said) < len(options["map"]) or not said.keys() <= FIELDS.keys():
        raise CommandError(f"--map needs PART=COLUMN, with one of the parts {', '.join(FIELDS)}.")
    name, model = options["collection"], options["model"]
    collection = None
    if name is not None and Collection.objects.filter(usable_in(project)).filter(Q(slug=name) | Q(name=name)).exists():
        collection = collection_named(name, project=project)
    elif name is not None:
        options["collection"] = _checked_collection_name(name)
    longest = ReferenceSet._meta.get_field("name").max_length
    return ImportWish(
        project=project,
        collection=collection,
        creates_collection=name is not None and collection is None,
        language=language_of(options["language"]).tag if options["language"] else "",
        model="" if model is None else checked_text(model, option="--model", longest=MAX_MODEL_NAME_CHARACTERS),
        kind=options["kind"],
        name="" if options["name"] is None else checked_text(options["name"], option="--name", longest=longest),
        is_translated=options["translated"],
        source=options["source"].strip(),
        said=said,
    )


def _checked_collection_name(name: str) -> str:
    name, longest = name.strip(), Collection._meta.get_field("name").max_length or 0
    if len(name) > longest or not name.isprintable() or not any(map(str.isalnum, name)):
        raise CommandError(f"--collection needs 1 to {longest} characters, including a letter or digit.")
    return name


def _counts(by_name: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(by_name.items()))
