"""`manage.py export PROJECT --what captions|ratings|… --format csv|jsonl|…`: a project's data as a file."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from annotation.models import Release
from annotation.selectors.releases import settings_of_next
from annotation.services import releases
from annotation.services.releases import ReleaseSettingsError
from core.images.models import Collection
from core.jobs.models import JobState
from core.languages.models import Language
from core.people.management.arguments import add_output, language_of, project_named, user_named, write_export
from core.people.models import Project
from gapgame.formats.turn_files import SeasonNotClosedError
from office.dashboard.pages.images import STATES
from office.dashboard.selectors.images import ImageQuery
from office.exports.formats.releases import asked_release, write_folder
from office.exports.forms import NEW
from office.exports.selectors.tables import IMAGE_FILTERS, RELEASE, ExportError, ExportWish, check_filters
from office.exports.services.exports import ARCHIVE, FORMATS, WHATS, export
from research.scoring.selectors.some_figures import UNLIMITED
from research.selection.management.image_filters import add_images, check_some_images, image_filter_errors
from research.selection.rules.image_filters import ImageFilter

FOLDER = "folder"


class Command(BaseCommand):
    help = "Write captions, ratings, judgements, scores, turns, time, images or a release of a project: formats.md."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="last part of the project's address")
        parser.add_argument("--what", required=True, choices=WHATS, help="what is written")
        parser.add_argument("--format", required=True, choices=(*FORMATS, FOLDER), help="format of the file")
        parser.add_argument("--language", nargs="+", default=[], metavar="TAG", help="only these languages")
        parser.add_argument("--comparison", type=int, metavar="ID", help="only judgements of this comparison")
        parser.add_argument("--season", default="", metavar="SEASON", help="the season whose turns are written")
        parser.add_argument(
            "--release",
            default="",
            metavar="NUMBER",
            help="this release (default: the newest), or “new”: make the next one, with the settings of the newest",
        )
        of_images = parser.add_argument_group("of images", "as the page Images filters them")
        of_images.add_argument("--find", default="", metavar="WORDS", help="words of the name or title, all of them")
        of_images.add_argument("--person", metavar="USER", help="only with a caption by this person")
        of_images.add_argument("--state", default="", choices=STATES, help="how much people described them")
        of_images.add_argument("--author", default="", metavar="WORDS", help="words of the author, all of them")
        of_images.add_argument("--licence", default="", help="this licence; “none” is for images without any")
        of_images.add_argument("--source", default="", metavar="WORDS", help="words of the source, all of them")
        parser.add_argument("--name", default="", metavar="PART", help="only time of people whose name contains this")
        add_images(parser)
        add_output(parser)

    def handle(self, *, project: str, what: str, format: str, output: Path | None, **options: Any) -> None:
        chosen, images = project_named(project), options["images"]
        if format == FOLDER and (what != RELEASE or output is None):
            raise CommandError("--format folder is for --what release, and needs --output FOLDER.")
        if options["person"]:
            options["person"] = user_named(options["person"]).pk
        wish = ExportWish(
            project=chosen,
            what=what,
            format=format,
            until=timezone.now(),
            images=images,
            languages=[language_of(tag).tag for tag in options["language"]],
            comparison=options["comparison"],
            season=options["season"],
            release=options["release"],
            name=options["name"],
            query=ImageQuery(**{name: options[name] for name in IMAGE_FILTERS if options[name]}),
            budget=UNLIMITED,
        )
        try:
            with image_filter_errors():
                _check_images(images, chosen)
                check_filters(wish)
                if (what, wish.release) == (RELEASE, NEW) and format in (ARCHIVE, FOLDER):
                    wish = replace(wish, release=str(_new_release(chosen).number))
                if format == FOLDER and output is not None:
                    self._write_folder(wish, output)
                else:
                    write_export(self, export(wish), output)
        except (ExportError, SeasonNotClosedError) as refused:
            raise CommandError(str(refused)) from refused

    def _write_folder(self, wish: ExportWish, folder: Path) -> None:
        release = asked_release(wish)
        try:
            write_folder(release, folder)
        except OSError as error:
            raise CommandError(f"The folder {folder} cannot be written: {error.strerror}.") from error
        self.stderr.write(f"Release {release.number} is in {folder}.")


def _new_release(project: Project) -> Release:
    """Make the next release now."""
    about: dict[str, Any] = {"by": project.created_by, "now": timezone.now(), **settings_of_next(project)}
    try:
        asked = releases.start_release(project=project, **about)
    except ReleaseSettingsError as refused:
        listed = "\n".join(f"- {one}" for one in refused.problems)
        raise CommandError(f"You cannot make a release yet; build_release has options for it:\n{listed}") from refused
    release = releases.build(release_id=asked.pk, clock=timezone.now)
    if release is None:
        raise CommandError(f"Release {asked.number} is being made by a worker. Export it once it is done.")
    if release.state == JobState.FAILED:
        raise CommandError(f"Release {release.number} could not be made. {release.error}")
    return release


def _check_images(images: ImageFilter, project: Project) -> None:
    used = [*project.rounds.values_list("collection", flat=True)]
    used += project.comparisons.values_list("collection", flat=True)
    tags = [*project.rounds.values_list("language", flat=True)]
    tags += project.comparisons.values_list("language", flat=True)
    languages = Language.objects.filter(pk__in=tags).order_by("pk")
    check_some_images(images, project=project, languages=languages, collections=Collection.objects.filter(pk__in=used))
