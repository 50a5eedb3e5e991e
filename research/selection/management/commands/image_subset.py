"""`manage.py image_subset PROJECT SLUG` with `--keys`, `--sample`, `--images`, `--export` or `--delete`."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core.images.models import Collection
from core.images.permissions import collections_in
from core.people.management.arguments import checked_file, named_object, project_named
from core.people.models import Project
from research.selection.formats.keys import KeyFileError, read_keys
from research.selection.management.image_filters import add_images, image_filter_errors
from research.selection.selectors.subsets import keys_of, subset_named
from research.selection.services import subsets as services


class Command(BaseCommand):
    help = "Name some images of a project, to compute figures over them: --images subset:SLUG."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="last part of the project's address")
        parser.add_argument("slug", metavar="SLUG", help="short name of the subset, such as xm600")
        parser.add_argument("--name", default="", help="name on pages (default: the short name)")
        parser.add_argument("--description", default="", help="what the subset is for")
        parser.add_argument("--collection", metavar="COLLECTION", help="only images of this collection")
        parser.add_argument("--sample", type=int, metavar="N", help="draw this many images at random")
        parser.add_argument(
            "--per-language", action="store_true", help="draw as many for each language that images were chosen for"
        )
        parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the sample (default: 0)")
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--keys", type=Path, metavar="FILE", help="a text file with a key a line, or CSV with a column key"
        )
        what.add_argument("--export", action="store_true", help="print the keys of an existing subset")
        what.add_argument("--delete", action="store_true", help="delete a subset that nothing uses; its images stay")
        add_images(parser)

    def handle(self, *, project: str, slug: str, export: bool, delete: bool, **options: Any) -> None:
        chosen = project_named(project)
        with image_filter_errors():
            if export:
                self.stdout.writelines(f"{key}\n" for key in keys_of(subset_named(chosen, slug)))
                return
            try:
                if delete:
                    services.delete_subset(subset=subset_named(chosen, slug), by=None, now=timezone.now())
                    self.stdout.write(f"Deleted the subset {slug}.")
                else:
                    self._make(chosen, slug, options)
            except services.SubsetError as error:
                raise CommandError(str(error)) from error

    def _make(self, project: Project, slug: str, options: dict[str, Any]) -> None:
        collection: Collection | None = None
        if options["collection"] is not None:
            collection = named_object(
                collections_in(project), options["collection"], kind="collection", project=project
            )
        about = {name: options[name] for name in ("images", "sample", "per_language", "seed")}
        keys = None if options["keys"] is None else _keys_in(options["keys"])
        images = services.images_wanted(project, services.SubsetRequest(keys=keys, collection=collection, **about))
        made = services.make_subset(
            project=project,
            slug=slug,
            name=options["name"],
            description=options["description"],
            images=images,
            by=None,
            now=timezone.now(),
        )
        self.stdout.write(f"{made.name}: {len(images):,} images. Use it with --images subset:{slug}.")


def _keys_in(path: Path) -> list[str]:
    try:
        return read_keys(checked_file(path).read_bytes())
    except KeyFileError as error:
        raise CommandError(f"{path}: {error}") from error
