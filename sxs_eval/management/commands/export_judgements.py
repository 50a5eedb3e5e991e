"""`manage.py export_judgements PROJECT --format jsonl|csv [--comparison ID] [--images SPEC] [--output FILE]`"""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core.images.models import Collection
from core.people.management.arguments import add_output, project_named, write_export
from core.people.models import Project
from research.selection.management.image_filters import add_images, check_some_images, image_filter_errors
from sxs_eval.formats.judgement_export import JudgementLayout, export_judgements
from sxs_eval.models import Comparison


class Command(BaseCommand):
    help = "Write the judgements of a project's comparisons to a file or to standard output."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="last part of the project's address")
        parser.add_argument("--format", required=True, choices=JudgementLayout.values, help="format of the file")
        parser.add_argument("--comparison", type=int, metavar="ID", help="only this comparison (default: all)")
        add_images(parser)
        add_output(parser)

    def handle(self, *, project: str, format: str, comparison: int | None, output: Path | None, **options: Any) -> None:
        within, images = project_named(project), options["images"]
        chosen, layout, until = _chosen(within, comparison), JudgementLayout(format), timezone.now()
        with image_filter_errors():
            check_some_images(
                images,
                project=within,
                languages={one.language_id: one.language for one in chosen}.values(),
                collections=Collection.objects.filter(pk__in=[one.collection_id for one in chosen]),
            )
            pieces = export_judgements(chosen, layout, until=until, images=images)
        write_export(self, pieces, output)


def _chosen(project: Project, comparison: int | None) -> list[Comparison]:
    comparisons = list(
        Comparison.objects.filter(project=project)
        .select_related("project", "language", "base", "test", "collection")
        .order_by("pk")
    )
    if comparison is None:
        return [one for one in comparisons if one.excluded_at is None]
    chosen = [one for one in comparisons if one.pk == comparison]
    if not chosen:
        known = (
            ", ".join(f"{one.pk} ({one.test} against {one.base}, {one.language_id})" for one in comparisons)
            or "none yet"
        )
        raise CommandError(f"Project {project.slug!r} has no comparison {comparison}. Available: {known}.")
    return chosen
