"""List what a scoring can be set up with: sets of references, and models with captions of their images."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, QuerySet

from core.people.models import Project
from research.inference.models import CaptioningModel, EmbeddingSet, ModelCaption, WordVectorSet
from research.inference.permissions import models_in
from research.inference.selectors.embeddings import whole_sets
from research.scoring.models import ReferenceKind, ReferenceSet
from research.scoring.rules.metrics import ENGLISH
from research.scoring.selectors.scores import ScoringRow
from research.scoring.selectors.setup import mark_of


@dataclass(frozen=True)
class ReferenceCoverage:
    """The number of images with references that a model has captioned."""

    model: CaptioningModel
    images: int


def reference_sets(project: Project) -> QuerySet[ReferenceSet]:
    """List the reference sets with `used`, the number of scorings of each."""
    sets = ReferenceSet.objects.filter(project=project).select_related(
        "language", "collection", "created_by", "translation"
    )
    return sets.annotate(used=Count("scorings")).order_by("language__english_name", "name")


def written_by_people(english: ReferenceSet) -> list[ReferenceSet]:
    """List sets in other languages that people wrote of images of the same collection."""
    sets = reference_sets(english.project).filter(collection=english.collection_id, captions__gt=0)
    return list(sets.filter(kind__in=(ReferenceKind.IMPORTED, ReferenceKind.COLLECTED)).exclude(language=ENGLISH))


def coverage_of(references: ReferenceSet) -> list[ReferenceCoverage]:
    """List models with captions in the language of the references, those with most images first."""
    captions = ModelCaption.objects.filter(language=references.language_id, image__in=references.image_ids())
    captions = captions.order_by()
    counts = dict(captions.values_list("model").annotate(Count("pk")))
    models = models_in(references.project_id).in_bulk(counts)
    coverages = [ReferenceCoverage(model, counts[pk]) for pk, model in models.items()]
    return sorted(coverages, key=lambda row: (-row.images, row.model.name))


def vectors_for(references: ReferenceSet) -> QuerySet[WordVectorSet]:
    """List word vectors that a metric may use with these references; none unless they are translations."""
    if references.kind != ReferenceKind.TRANSLATED:
        return WordVectorSet.objects.none()
    return WordVectorSet.objects.filter(language=references.language_id)


def features_for(references: ReferenceSet) -> QuerySet[EmbeddingSet]:
    """List vectors of images of the references' collection."""
    return whole_sets(collections=[references.collection], project=references.project_id)


def english_for(references: ReferenceSet) -> QuerySet[ReferenceSet]:
    """List English references of the same collection; none if these are English themselves."""
    sets = ReferenceSet.objects.filter(project=references.project_id, collection=references.collection_id)
    sets = sets.filter(language=ENGLISH).exclude(kind=ReferenceKind.NONE)
    return sets if references.is_without_captions else sets.exclude(language=references.language_id)


def is_outdated(row: ScoringRow) -> bool:
    """Whether captions or references have changed since they were scored.

    It counts captions: for one scoring at a time. In lists, an open pass says so as soon as the sweep has found out.
    """
    if row.done is None:
        return False
    return row.has_new_references or row.done.captions_mark != mark_of(row.scoring)
