"""`manage.py choose_representatives --project SLUG --set NAME`: choose images of the first hint by vectors."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from gapgame.models import ItemSet
from gapgame.services.items import ItemSetClosedError, choose_again
from research.inference.models import EmbeddingSet
from research.inference.selectors.embeddings import whole_sets


class Command(BaseCommand):
    help = "Choose again the image of each item's first hint: the one closest to all other images of the item."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument("--set", required=True, metavar="NAME", help="item set of which no season has started")
        parser.add_argument(
            "--embeddings",
            type=int,
            metavar="NUMBER",
            help="number of an embedding set (default: the newest suitable one)",
        )
        parser.add_argument(
            "--also-named", action="store_true", help="replace representative images named in the items file, too"
        )

    def handle(self, *, project: str, **options: Any) -> None:
        item_sets = ItemSet.objects.filter(project__slug=project, name=options["set"]).select_related("collection")
        item_set = item_sets.first()
        if item_set is None:
            raise CommandError(f"The project {project} has no item set {options['set']}.")
        sets = _sets(item_set, options["embeddings"])
        try:
            chosen = choose_again(item_set=item_set, sets=sets, is_named_too=options["also_named"], clock=timezone.now)
        except ItemSetClosedError as error:
            raise CommandError("A season has started with these items, so they cannot be changed.") from error
        self.stdout.write(
            f"{chosen.changed:,} items have a different first image, {chosen.same:,} the same, and {chosen.named:,} "
            f"the one named in their file. {chosen.lacking:,} are unchanged, because their images lack vectors."
        )


def _sets(item_set: ItemSet, number: int | None) -> list[EmbeddingSet]:
    if number is not None:
        sets = list(whole_sets(project=item_set.project_id).filter(pk=number))
        if not sets:
            raise CommandError(f"There is no complete image embedding set {number}.")
        return sets
    sets = list(whole_sets(collections=[item_set.collection], project=item_set.project_id))
    if not sets:
        raise CommandError(
            f"There are no vectors for the collection {item_set.collection.slug}. Compute them first under Models, "
            f"Embeddings, or with manage.py embed {item_set.collection.slug}."
        )
    return sets
