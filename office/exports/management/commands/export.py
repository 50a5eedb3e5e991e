"""`manage.py export PROJECT --what captions|ratings|… --format csv|jsonl|…`: a project's data as a file."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core.images.models import Collection
from core.languages.models import Language
from core.people.management.arguments import add_output, language_of, project_named, write_export
from core.people.models import Project
from gapgame.formats.turn_files import SeasonNotClosedError
from office.exports.selectors.tables import ExportError, ExportWish
from office.exports.services.exports import FORMATS, WHATS, export
from research.scoring.selectors.some_figures import UNLIMITED
from research.selection.management.image_filters import add_images, check_some_images, image_filter_errors
from research.selection.rules.image_filters import ImageFilter


class Command(BaseCommand):
    help = "Write captions, ratings, judgements, scores, turns, time or images of a project: docs/formats.md."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="last part of the project's address")
        parser.add_argument("--what", required=True, choices=WHATS, help="what is written")
        parser.add_argument("--format", required=True, choices=FORMATS, help="format of the file")
        parser.add_argument("--language", nargs="+", default=[], metavar="TAG", help="only these languages")
        parser.add_argument("--comparison", type=int, metavar="ID", help="only judgements of this comparison")
        parser.add_argument("--season", default="", metavar="SEASON", help="the season whose turns are written")
        parser.add_argument("--name", default="", metavar="PART", help="only time of people whose name contains this")
        add_images(parser)
        add_output(parser)

    def handle(self, *, project: str, what: str, format: str, output: Path | None, **options: Any) -> None:
        chosen, images = project_named(project), options["images"]
        wish = ExportWish(
            project=chosen,
            what=what,
            format=format,
            until=timezone.now(),
            images=images,
            languages=[language_of(tag).tag for tag in options["language"]],
            comparison=options["comparison"],
            season=options["season"],
            name=options["name"],
            budget=UNLIMITED,
        )
        try:
            with image_filter_errors():
                _check_images(images, chosen)
                write_export(self, export(wish), output)
        except (ExportError, SeasonNotClosedError) as refused:
            raise CommandError(str(refused)) from refused


def _check_images(images: ImageFilter, project: Project) -> None:
    used = [*project.rounds.values_list("collection", flat=True)]
    used += project.comparisons.values_list("collection", flat=True)
    tags = [*project.rounds.values_list("language", flat=True)]
    tags += project.comparisons.values_list("language", flat=True)
    languages = Language.objects.filter(pk__in=tags).order_by("pk")
    check_some_images(images, project=project, languages=languages, collections=Collection.objects.filter(pk__in=used))
