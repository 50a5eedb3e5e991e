"""`manage.py choose_representatives --project SLUG --set NAME`: pictures of the first hint, by vectors."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from gapgame.models import ItemSet
from gapgame.services.representatives import ItemSetClosedError, choose_again
from inference.models import EmbeddingSet
from inference.selectors.embeddings import whole_sets


class Command(BaseCommand):
    help = "Choose the picture of the first hint of each item anew: the one nearest to all others of the item."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument("--set", required=True, metavar="NAME", help="item set that no season has begun with")
        parser.add_argument(
            "--embeddings", type=int, metavar="NUMBER", help="of an embedding set (default: the newest that serves)"
        )
        parser.add_argument("--also-named", action="store_true", help="also where the file of the items named one")

    def handle(self, *, project: str, **options: Any) -> None:
        found = ItemSet.objects.filter(project__slug=project, name=options["set"]).select_related("collection").first()
        if found is None:
            raise CommandError(f"There is no item set {options['set']} in a project {project}.")
        sets = _sets(found, options["embeddings"])
        try:
            chosen = choose_again(item_set=found, sets=sets, is_named_too=options["also_named"], clock=timezone.now)
        except ItemSetClosedError as error:
            raise CommandError("A season has begun with these items, which stay as they are.") from error
        self.stdout.write(
            f"{chosen.changed:,} items have another picture first, {chosen.same:,} the same, {chosen.named:,} the one "
            f"that their file named; {chosen.lacking:,} lack vectors of their pictures and stay as they are."
        )


def _sets(item_set: ItemSet, number: int | None) -> list[EmbeddingSet]:
    if number is not None:
        sets = list(whole_sets(project=item_set.project_id).filter(pk=number))
        if not sets:
            raise CommandError(f"There is no embedding set {number} of images that is whole.")
        return sets
    sets = list(whole_sets(collections=[item_set.collection], project=item_set.project_id))
    if not sets:
        raise CommandError(
            f"There are no vectors of the collection {item_set.collection.slug}. Have them computed first: Models, "
            f"Embeddings, or manage.py embed {item_set.collection.slug}."
        )
    return sets
