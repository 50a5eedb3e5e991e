"""`manage.py select_images`: choose images for languages by place, from files or from a collection."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core.images.management.arguments import collection_named
from core.images.models import Collection
from core.jobs.models import JobState
from core.languages.models import Language
from core.people.management.arguments import language_of, project_named
from core.people.models import Project
from crosslens_metrics.formats.problems import FileRefusedError
from crosslens_metrics.language_tags import MalformedTagError, canonical_tag
from geography.borders import shipped_borders
from research.selection.formats.selection_files import as_json, read_candidates, selection_as_json
from research.selection.models import CandidateList, Selection
from research.selection.rules.selection import LEVELS, choose
from research.selection.rules.tables import PLACE_LEVELS, Areas, PlaceLevel, TableError, data_of, read_table
from research.selection.services import selections as services

PER_LANGUAGE = 100


class Command(BaseCommand):
    help = (
        "Choose images for each language, as many as possible of them taken where it is spoken. With --table, from a "
        "CSV file with the columns key, latitude and longitude, without a database; with --project, from a collection "
        "or a candidate list."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("source", metavar="SOURCE", nargs="?", help="CSV file, or slug of a collection")
        parser.add_argument("--table", type=Path, help="JSON file: where each language is spoken")
        parser.add_argument("--project", help="slug of the project that the selection is for")
        parser.add_argument("--candidates", metavar="SLUG", help="candidate list, in place of a collection")
        parser.add_argument("--languages", help="tags joined by commas; by default all of the table")
        parser.add_argument("--per-language", type=int, default=PER_LANGUAGE, help="images per language (default: 100)")
        parser.add_argument("--seed", type=int, required=True, help="the same seed gives the same selection")
        parser.add_argument(
            "--levels", default=",".join(LEVELS), help="levels that images may be taken from, joined by commas"
        )
        parser.add_argument("--name", default="", help="name of the selection and of its collection")
        parser.add_argument("--preview", action="store_true", help="keep a draft, to be confirmed on its page")
        parser.add_argument(
            "--by-language", action="store_true", help="also make one collection per language, of its images alone"
        )
        parser.add_argument("--json", action="store_true", dest="for_programs", help="print JSON")

    def handle(self, **options: Any) -> None:
        if options["per_language"] < 1:
            raise CommandError("--per-language needs a number of at least 1.")
        if abs(options["seed"]) > services.MAX_SEED:
            raise CommandError(f"--seed needs a number of at most {services.MAX_SEED}.")
        options["levels"] = _levels(options["levels"])
        if (options["table"] is None) == (options["project"] is None):
            raise CommandError("Give --table to choose from a file, or --project to choose from a collection.")
        if options["by_language"] and (options["project"] is None or options["preview"]):
            raise CommandError("--by-language makes collections: it needs --project, and no --preview.")
        answer = self._from_file(**options) if options["table"] is not None else self._from_project(**options)
        if options["for_programs"]:
            self.stdout.write(json.dumps(answer, ensure_ascii=False, indent=2))
            return
        for tag, counts in answer["languages"].items():
            missing = answer["missing"][tag]
            said = ", ".join(f"{level} {counts[level]}" for level in LEVELS)
            self.stdout.write(f"{tag}: {said}" + (f", missing {missing}" if missing else ""))

    def _from_file(self, **options: Any) -> dict[str, Any]:
        if not options["source"]:
            raise CommandError("Name the CSV file of the candidates.")
        areas = self._areas(options["table"])
        languages = _tags(options["languages"]) or sorted(areas)
        if unknown := [tag for tag in languages if tag not in areas]:
            raise CommandError(f"The table has no entry for {', '.join(unknown)}. It has: {', '.join(sorted(areas))}.")
        try:
            with Path(options["source"]).open("rb") as file:
                candidates = read_candidates(file, locate=lambda *points: shipped_borders().locate(*points))
        except OSError as error:
            raise CommandError(f"{options['source']} cannot be read: {error.strerror}.") from error
        except FileRefusedError as error:
            raise CommandError(f"{options['source']}: {error}") from error
        for line in candidates.examples:
            self.stderr.write(line)
        for reason, count in sorted(candidates.left_out.items()):
            self.stderr.write(f"Left out: {count} {'line' if count == 1 else 'lines'} that {reason}.")
        self._say_without_place(tag for tag in languages if areas[tag] == Areas())
        choice = choose(
            keys=candidates.keys,
            places=candidates.places,
            distinct=candidates.distinct,
            areas=areas,
            languages=languages,
            per_language=options["per_language"],
            seed=options["seed"],
            levels=options["levels"],
        )
        answer = as_json(choice, candidates)
        self._say_missing(answer["missing"], **options)
        return answer

    def _from_project(self, **options: Any) -> dict[str, Any]:
        project = project_named(options["project"])
        source = _source(project, options["source"], options["candidates"])
        tags = _tags(options["languages"])
        languages = [language_of(tag) for tag in tags] if tags else list(Language.objects.all())
        now = timezone.now()
        try:
            selection = services.start_selection(
                project=project,
                source=source,
                languages=languages,
                per_language=options["per_language"],
                seed=options["seed"],
                levels=options["levels"],
                name=options["name"],
                by=None,
                now=now,
            )
            services.run_selection(selection_id=selection.pk, clock=timezone.now)
            selection = Selection.objects.select_related("project").get(pk=selection.pk)
            if selection.state != JobState.DONE:
                raise CommandError(selection.error or "The images are being chosen by a worker. Look at its page.")
            if not options["preview"]:
                by_language = options["by_language"]
                services.confirm_selection(selection=selection, by_language=by_language, by=None, now=timezone.now())
                selection.refresh_from_db()
        except services.SelectionRefusedError as refused:
            raise CommandError(str(refused)) from refused
        answer = selection_as_json(selection)
        for reason, count in selection.counts["left_out"].items():
            self.stderr.write(f"Left out: {count} images ({reason}).")
        self._say_without_place(tag for tag in selection.languages if not any(selection.areas[tag].values()))
        self._say_missing(answer["missing"], **options)
        return answer

    def _areas(self, file: Path) -> dict[str, Areas]:
        try:
            data = data_of(file.read_bytes())
            # A language without any place is no reason to choose nothing for the others.
            empty = {tag for tag, lists in data.items() if _is_empty(lists)} if isinstance(data, dict) else set()
            kept = {tag: lists for tag, lists in data.items() if tag not in empty} if empty else data
            areas = dict(read_table(kept).areas) if kept or not empty else {}
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
        except TableError as error:
            raise CommandError(f"{file}:\n" + "\n".join(error.problems)) from error
        return {_tag(str(tag)): Areas() for tag in empty} | areas

    def _say_without_place(self, tags: Iterable[str]) -> None:
        if named := ", ".join(sorted(tags)):
            self.stderr.write(f"The table has no place for {named}: any image counts as anywhere.")

    def _say_missing(
        self, missing: dict[str, int], *, per_language: int, levels: Sequence[PlaceLevel], **options: Any
    ) -> None:
        where = "" if set(levels) == set(LEVELS) else " at these levels"
        for tag, count in sorted(missing.items()):
            if count:
                self.stderr.write(f"{tag}: {count} of {per_language} images are missing; no candidate is left{where}.")


def _is_empty(lists: Any) -> bool:
    return isinstance(lists, dict) and not any(lists.get(level) for level in PLACE_LEVELS)


def _levels(text: str) -> list[PlaceLevel]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in LEVELS]
    if unknown or not names:
        raise CommandError(f"--levels takes {', '.join(LEVELS)}, joined by commas.")
    return [PlaceLevel(name) for name in names]


def _tags(text: str | None) -> list[str]:
    return [_tag(tag) for tag in (text or "").split(",") if tag.strip()]


def _tag(text: str) -> str:
    try:
        return canonical_tag(text)
    except MalformedTagError as error:
        raise CommandError(str(error)) from error


def _source(project: Project, collection: str | None, candidates: str | None) -> Collection | CandidateList:
    if (collection is None) == (candidates is None):
        raise CommandError("Name a collection, or a candidate list with --candidates.")
    if collection is not None:
        return collection_named(collection, project=project)
    found = project.candidate_lists.filter(slug=candidates).first()
    if found is None:
        known = ", ".join(project.candidate_lists.values_list("slug", flat=True)) or "none yet"
        raise CommandError(f"There is no candidate list {candidates}. Available lists: {known}.")
    return found
