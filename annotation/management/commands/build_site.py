"""`manage.py build_site PROJECT/NUMBER FOLDER`: write a release as pages that open from a disk."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.models import Release
from annotation.services.sites import ImageFiles, SiteNotPossibleError, build_site
from core.jobs.models import JobState
from core.people.management.arguments import project_named


class Command(BaseCommand):
    help = "Write a release as a site of static pages, which open from a disk or from any web server."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "release", metavar="PROJECT/NUMBER", help="release, such as harbours/1; without a number, the last one"
        )
        parser.add_argument("folder", type=Path, metavar="FOLDER", help="where to write; new or empty")
        parser.add_argument(
            "--images",
            choices=[choice.value for choice in ImageFiles],
            default=ImageFiles.COPY.value,
            help="copy the images into the folder, link to their sources, or leave them out (default: copy)",
        )

    def handle(self, *, release: str, folder: Path, images: str, **_options: Any) -> None:
        slug, _separator, number = release.partition("/")
        done = Release.objects.filter(project=project_named(slug), state=JobState.DONE).select_related("project")
        wanted = done.filter(number=int(number)) if number.isascii() and number.isdigit() else done
        chosen = wanted.order_by("-number").first() if not number or number.isdigit() else None
        if chosen is None:
            known = ", ".join(f"{slug}/{one}" for one in done.order_by("number").values_list("number", flat=True))
            raise CommandError(f"There is no release {release}. Available releases: {known or 'none yet'}.")
        try:
            built = build_site(release=chosen, folder=folder, image_files=ImageFiles(images))
        except SiteNotPossibleError as reason:
            raise CommandError(str(reason)) from reason
        self.stdout.write(f"{built.pages:,} pages of {built.images:,} images, {built.bytes:,} bytes, in {folder}.")
        if images == ImageFiles.COPY and built.without_file:
            self.stdout.write(f"{built.without_file:,} images are no longer stored, so their pages have none.")
