"""`manage.py import FILE…`: images and captions from files of any known layout, looked through before they go in."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q
from django.utils import timezone

from core.images.management.arguments import add_report, check_report, collection_named, finish, write_report
from core.images.models import Collection, ImportJob
from core.images.tasks import ask_for_sizes
from core.people.management.arguments import checked_text, language_of, project_of
from core.people.permissions import usable_in
from crosslens_metrics.commands.running import whole_number
from crosslens_metrics.formats.recognised_files import CAPTIONS_BY_PEOPLE, MODEL_CAPTIONS, REFERENCES
from crosslens_metrics.formats.table_parts import ALL_PARTS, FileKind
from gapgame.rules.item_sources import CHOICE_LIMITS, ItemChoice
from office.imports.services.file_imports import import_local
from office.imports.services.previews import ImportWish, PreviewedFile, gaps_of, preview
from office.imports.services.undoing import UndoRefusedError, brought, undo_at_once
from research.inference.rules.captions import MAX_MODEL_NAME_CHARACTERS
from research.scoring.models import ReferenceSet

OPTIONS = {
    "language": "Say so by --language.",
    "kind": "Name the model by --model, or say --as references.",
    "collection": "Name it by --collection.",
    "project": "Name it by --project.",
    "map": "Or say which they are: --map image=COLUMN caption=COLUMN",
    **{part: f"Leave out --{part.replace('_', '-')}." for part in CHOICE_LIMITS},
}
"""How to say what a file does not."""

DRAWN = {
    "least": "languages that share the sense",
    "per_word": "sentences of each word, at most",
    "most": "sentences in all, at most",
    "seed": "the same seed draws the same sentences",
}


class Command(BaseCommand):
    help = "Import images, captions, judgements and sentences for the game from files of any layout: docs/importing.md."

    def add_arguments(self, parser: ArgumentParser) -> None:
        kinds = [REFERENCES, CAPTIONS_BY_PEOPLE, MODEL_CAPTIONS]
        parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="file, folder or archive")
        parser.add_argument("--preview", action="store_true", help="say what the files are, and store nothing")
        parser.add_argument("--json", action="store_true", help="say so as JSON")
        parser.add_argument(
            "--undo", type=int, metavar="NUMBER", help="take out what the import of this number brought"
        )
        parser.add_argument("--project", metavar="SLUG", help="project that owns what is made")
        parser.add_argument("--collection", metavar="NAME", help="of the images; created if there is none")
        parser.add_argument("--language", default="", metavar="TAG", help="of captions that do not say theirs")
        parser.add_argument("--model", metavar="NAME", help="that wrote the captions")
        parser.add_argument("--as", dest="kind", choices=kinds, default="", help="what the captions are")
        parser.add_argument("--name", help="of the references, for example XM3600, the sentences or the candidates")
        parser.add_argument("--translated", action="store_true", help="the references were translated from English")
        parser.add_argument("--source", default="", help="where captions or judgements are from, under which licence")
        parser.add_argument(
            "--map",
            nargs="+",
            action="extend",
            default=[],
            metavar="PART=COLUMN",
            help=f"which column has what, such as image=foto; parts: {', '.join(ALL_PARTS)}",
        )
        parser.add_argument("--allow-no-licence", action="store_true", help="keep candidates that have no licence, too")
        add_report(parser)
        drawn = parser.add_argument_group("sentences from a folder made by build_corpus")
        for option, what in DRAWN.items():
            name, help_text = option.replace("_", "-"), f"{what} (default {getattr(ItemChoice, option)})"
            drawn.add_argument(f"--{name}", type=whole_number(*CHOICE_LIMITS[option]), help=help_text)

    def handle(self, *, files: list[Path], report: Path | None, strict: bool, **options: Any) -> None:
        if options["undo"] is not None:
            self._undo(options["undo"])
            return
        if not files:
            raise CommandError("Name the files to import.")
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
        if gaps := gaps_of(previewed, wish):
            raise CommandError("\n".join(f"{gap.text} {OPTIONS.get(gap.part, '')}".strip() for gap in gaps))
        job = import_local(previewed, wish, clock=timezone.now, announce=ask_for_sizes)
        self._finish(job, report, strict=strict)

    def _finish(self, job: ImportJob, report: Path | None, *, strict: bool) -> None:
        """Tell of all, also where one of them took nothing."""
        write_report(job, report)
        parts = list(job.parts.order_by("pk"))
        if not parts:
            raise CommandError("Nothing was imported.")
        refusals = []
        for part in parts:
            self.stdout.write(f"{part.source_name}:")
            try:
                finish(part, self, report=None, strict=strict)
            except CommandError as error:
                refusals.append(str(error) if len(parts) == 1 else f"{part.source_name}: {error}")
        self.stdout.write(f"Undo it by --undo {job.pk}.")
        if refusals:
            raise CommandError("\n".join(refusals))

    def _undo(self, number: int) -> None:
        job = brought().filter(pk=number).first()
        if job is None:
            raise CommandError(f"There is no import {number} to undo.")
        try:
            undo_at_once(job, now=timezone.now())
        except UndoRefusedError as refused:
            raise CommandError(str(refused)) from refused
        self.stdout.write(f"{job.source_name}: undone.")

    def _tell(self, one: PreviewedFile) -> None:
        file = one.file
        what = ", ".join(filter(None, (file.kind, file.layout)))
        self.stdout.write(self.style.MIGRATE_HEADING(f"{file.path}: {what}"))
        if file.captions:
            words: dict[str, str] = {FileKind.GAP_ITEMS: "Sentences", FileKind.JUDGEMENTS: "Judgements"}
            what = words.get(file.kind, "Captions")
            self.stdout.write(f"  {what}: {file.captions:,} ({_counts(file.languages)})")
        for row in file.comparisons:
            models, judged = f"{row['test_model']} against {row['base_model']}", f"{row['judgements']:,} judgements"
            images = f"{row['images']:,} images by {row['raters']:,} raters"
            self.stdout.write(f"  {models}, {row['language']}: {judged} of {images}")
        if file.models and not file.comparisons:
            self.stdout.write(f"  Models: {', '.join(_of_model(*pair) for pair in sorted(file.models.items()))}")
        if file.images:
            coming = f", {one.coming:,} of them from these files" if one.coming else ""
            known = f", of which {one.images.number:,} are known{coming}" if file.kind != FileKind.IMAGES else ""
            self.stdout.write(f"  Images: {len(file.images):,}{known}")
        if one.images.number:
            without = {"none": one.images.without_licence} if one.images.without_licence else {}
            self.stdout.write(f"  Licences: {_counts({**one.images.licences, **without})}")
        for reason, (count, example) in file.problems.items():
            self.stdout.write(self.style.WARNING(f"  {reason} ({count:,}; for example {example})"))
        if file.columns and not one.is_recognised:
            self.stdout.write(f"  {OPTIONS['map']}")


def _wish_of(options: dict[str, Any]) -> ImportWish:
    project = project_of(options["project"])
    said = dict(pair.split("=", 1) for pair in options["map"] if "=" in pair)
    if len(said) < len(options["map"]) or not said.keys() <= set(ALL_PARTS):
        raise CommandError(f"--map needs PART=COLUMN, with one of the parts {', '.join(ALL_PARTS)}.")
    name, model = options["collection"], options["model"]
    collection = None
    if name is not None and Collection.objects.filter(usable_in(project)).filter(Q(slug=name) | Q(name=name)).exists():
        collection = collection_named(name, project=project)
    longest = ReferenceSet._meta.get_field("name").max_length
    return ImportWish(
        project=project,
        collection=collection,
        new_collection=_checked_collection_name(name) if name is not None and collection is None else "",
        language=language_of(options["language"]).tag if options["language"] else "",
        model="" if model is None else checked_text(model, option="--model", longest=MAX_MODEL_NAME_CHARACTERS),
        kind=options["kind"],
        name="" if options["name"] is None else checked_text(options["name"], option="--name", longest=longest),
        is_translated=options["translated"],
        source=options["source"].strip(),
        said=said,
        allows_no_licence=options["allow_no_licence"],
        choice=ItemChoice(**{part: options[part] for part in CHOICE_LIMITS if options[part] is not None}),
        is_command=True,
    )


def _checked_collection_name(name: str) -> str:
    name, longest = name.strip(), Collection._meta.get_field("name").max_length or 0
    if len(name) > longest or not name.isprintable() or not any(map(str.isalnum, name)):
        raise CommandError(f"--collection needs 1 to {longest} characters, including a letter or digit.")
    return name


def _of_model(name: str, by_language: Mapping[str, int]) -> str:
    return f"{name} {sum(by_language.values()):,}" + (f" ({_counts(by_language)})" if len(by_language) > 1 else "")


def _counts(by_name: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(by_name.items()))
