"""`manage.py import_gap_items FILE --project SLUG --set NAME`: the import of the browser, and of corpora, at once."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core.images.management.arguments import add_report, check_report, finish
from core.images.models import Collection, ImportOutcome
from core.images.permissions import collections_in
from core.images.tasks import ask_for_sizes
from core.people.management.arguments import checked_text, project_named
from core.people.models import Project
from crosslens_metrics.commands.running import whole_number
from crosslens_metrics.formats.problems import FileRefusedError
from gapgame.formats.sources import is_corpus, is_layout, origin_of
from gapgame.models import CorpusSplit, ItemSet
from gapgame.rules.item_sources import ItemChoice
from gapgame.services.item_imports import import_path
from gapgame.services.item_sources import LAYOUTS
from gapgame.services.items import item_set_named


class Command(BaseCommand):
    help = "Import sentences with a gap and their images from JSON Lines, MultiSubs' files or a corpus."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file",
            type=Path,
            help="JSON Lines, a JSON list, or a folder: with LANGUAGE.items.tsv, or made by build_corpus",
        )
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
        add_report(parser)
        drawn = parser.add_argument_group("from a corpus")
        drawn.add_argument(
            "--least",
            type=int,
            choices=CorpusSplit.values,
            help=f"languages that share the sense (default {ItemChoice.least})",
        )
        drawn.add_argument(
            "--per-word",
            type=whole_number(1, 1000),
            help=f"sentences of each word, at most (default {ItemChoice.per_word})",
        )
        drawn.add_argument(
            "--most", type=whole_number(1, 10**6), help=f"sentences in all, at most (default {ItemChoice.most})"
        )
        drawn.add_argument(
            "--seed", type=whole_number(0, 2**63 - 1), help="the same seed draws the same sentences (default 0)"
        )

    def handle(self, *, file: Path, project: str, **options: Any) -> None:
        chosen = project_named(project)
        _check_paths(file, options["images"], options["embeddings"])
        collections = [_collection(slug, chosen) for slug in options["collection"]]
        choice = _choice(file, options)
        name = checked_text(options["set"], option="--set", longest=ItemSet._meta.get_field("name").max_length)
        check_report(options["report"])
        job = import_path(
            path=file,
            item_set=item_set_named(project=chosen, name=name),
            images=options["images"],
            embeddings=options["embeddings"],
            collections=collections,
            layout=options["layout"],
            choice=choice,
            clock=timezone.now,
            announce=ask_for_sizes,
        )
        for row in job.rows.filter(outcome=ImportOutcome.ADDED).exclude(reason="").iterator():
            self.stdout.write(f"{row.name}: {row.get_outcome_display()}. {row.reason}")
        finish(job, self, report=options["report"], strict=options["strict"])


def _check_paths(file: Path, images: Path | None, embeddings: Path | None) -> None:
    if not file.exists():
        raise CommandError(f"There is no file or folder {file}.")
    if file.is_dir() and not (is_layout(file) or is_corpus(file)):
        raise CommandError(
            f"The folder {file} has neither LANGUAGE.items.tsv nor items.jsonl. Name a file, or add one."
        )
    if images is not None and not images.exists():
        raise CommandError(f"There is no folder or zip {images}.")
    if embeddings is not None and not embeddings.is_file():
        raise CommandError(f"There is no file {embeddings}.")


def _choice(file: Path, options: Mapping[str, Any]) -> ItemChoice | None:
    given = {field.name: options[field.name] for field in fields(ItemChoice) if options[field.name] is not None}
    if is_corpus(file):
        choice = ItemChoice(**given)
        try:
            origin_of(file, choice)
        except FileRefusedError as error:
            raise CommandError(str(error)) from error
        return choice
    if given:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise CommandError(f"Only from a folder made by build_corpus are sentences drawn. Leave out {names}.")
    return None


def _collection(slug: str, project: Project) -> Collection:
    collection = collections_in(project).filter(slug=slug).first()
    if collection is None:
        raise CommandError(f"Project {project.slug} cannot use a collection {slug}.")
    return collection
