"""`manage.py caption_stats FILE_OR_PROJECT [--images SPEC] [--json]`"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.management.image_filters import check_some_captioned
from annotation.selectors.statistics import project_statistics
from core.people.management.arguments import known_projects
from core.people.management.library import as_command_errors
from core.people.models import Project
from crosslens_metrics.caption_stats import CaptionStatistics
from crosslens_metrics.commands import caption_stats
from research.selection.management.image_filters import add_images, image_filter_errors
from research.selection.rules.image_filters import ImageFilter


class Command(BaseCommand):
    help = caption_stats.HELP

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "source",
            metavar="FILE_OR_PROJECT",
            help="a file in the layout of Crossmodal-3600, or the slug of a project",
        )
        caption_stats.add_json_argument(parser)
        add_images(parser)

    def handle(self, *, source: str, for_programs: bool, images: ImageFilter, **options: Any) -> None:
        with as_command_errors(), image_filter_errors():
            caption_stats.write_statistics(self.stdout.write, _statistics(source, images), for_programs=for_programs)


def _statistics(source: str, images: ImageFilter) -> Mapping[str, CaptionStatistics]:
    path = Path(source)
    if path.is_file():
        if not images.is_all:
            raise CommandError("--images needs a project: a file does not say where its images were taken.")
        return caption_stats.statistics_in(path)
    project = Project.objects.filter(slug=source).first()
    if project is None:
        known = known_projects()
        raise CommandError(f"There is no file {source!r}, and no project with that slug. Available projects: {known}.")
    check_some_captioned(images, project)
    return {language.pk: statistics for language, statistics in project_statistics(project, images)}
