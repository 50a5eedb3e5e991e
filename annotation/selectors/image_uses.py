"""Say which rounds use the images of a collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.urls import reverse

from annotation.models import Round, RoundKind, RoundState
from corpora.selectors.usage import Use
from images.models import Collection


def rounds_of(collections: Iterable[Collection]) -> Iterator[Use]:
    """Yield the captioning rounds of collections, by language."""
    rounds = Round.objects.filter(collection__in=list(collections)).exclude(kind=RoundKind.VERIFICATION)
    rounds = rounds.exclude(state=RoundState.SKIPPED).select_related("language", "project")
    for round in rounds.order_by("language", "pk"):
        yield Use(
            title=f"{round.language.name}: {round.title}",
            address=reverse("annotation:language-show", args=[round.project.slug, round.language_id]),
            has_begun=round.state != RoundState.PLANNED,
        )
