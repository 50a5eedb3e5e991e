"""What scores are computed from: sets of references and models to choose, and the captions that a pass reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Count, Max, QuerySet

from core.images.models import CollectionImage
from core.languages.rules.registry import ENGLISH
from core.people.models import Project
from crosslens_metrics.signatures import sample_digest
from research.inference.models import CaptioningModel, EmbeddingSet, ModelCaption, WordVectorSet
from research.inference.permissions import models_in
from research.inference.selectors.embeddings import whole_sets
from research.scoring.models import Reference, ReferenceKind, ReferenceSet, Scoring
from research.scoring.rules.digests import as_digest, image_digest
from research.scoring.selectors.scores import ScoringRow


@dataclass(frozen=True)
class ScoringMaterial:
    """Images (primary keys, in the order of their digests' hashes) with a caption and at least one reference.

    Of a set without captions, all images of its collection with a caption; their references are empty.

    Images left out of results are not among them, nor in `left_out`, which counts images without a caption.

    The digests are of the captions that are scored, and of all references of the set.
    """

    images: Sequence[int]
    captions: Sequence[str]
    references: Sequence[Sequence[str]]
    left_out: int
    captions_digest: str
    references_digest: str
    sample: str
    """Digest of the images."""
    mark: str


def material_of(scoring: Scoring) -> ScoringMaterial:
    """Read the inputs in few queries; the digests are of what was read, even if it changes meanwhile."""
    language = scoring.references.language_id
    # Before the captions: of one that comes in between, the mark knows nothing, and it is noticed later.
    mark = mark_of(scoring)
    references, digests = _without_captions(scoring) if scoring.references.is_without_captions else _references(scoring)
    stored = ModelCaption.objects.filter(
        model=scoring.model_id,
        language=language,
        image__in=scoring.references.image_ids(),
    )
    # A reference that came in between may be of an image that the first query did not see.
    captions = {image: text for image, text in stored.values_list("image_id", "text") if image in references}
    images = sorted(captions, key=digests.__getitem__)
    images_out = set(scoring.references.collection.entries.left_out().values_list("image", flat=True))
    return ScoringMaterial(
        images=images,
        captions=[captions[image] for image in images],
        references=[references[image] for image in images],
        left_out=len(references.keys() - captions.keys() - images_out),
        captions_digest=as_digest(sum(image_digest(digests[image], [captions[image]]) for image in images)),
        references_digest=scoring.references.digest
        if scoring.references.is_without_captions
        else as_digest(sum(image_digest(digests[image], texts) for image, texts in references.items())),
        sample=sample_digest([digests[image] for image in images]),
        mark=mark,
    )


def _references(scoring: Scoring) -> tuple[dict[int, list[str]], dict[int, str]]:
    """The references of each image, and its SHA-256."""
    rows = Reference.objects.filter(reference_set=scoring.references_id).order_by("image", "position")
    references: dict[int, list[str]] = defaultdict(list)
    digests: dict[int, str] = {}
    for image, digest, text in rows.values_list("image_id", "image__sha256", "text"):
        references[image].append(text)
        digests[image] = digest
    return references, digests


def _without_captions(scoring: Scoring) -> tuple[dict[int, list[str]], dict[int, str]]:
    rows = CollectionImage.objects.filter(collection=scoring.references.collection_id).order_by("image")
    digests = dict(rows.values_list("image_id", "image__sha256"))
    return {image: [] for image in digests}, digests


def mark_of(scoring: Scoring) -> str:
    (mark,) = marks_of([scoring]).values()
    return mark


def marks_of(scorings: Iterable[Scoring]) -> dict[int, str]:
    """Return, by scoring, a mark that changes with every new caption, and with the images left out of results.

    Captions are never edited. Reads few queries, however many scorings there are.
    """
    inputs = {one.pk: (one.model_id, one.references.language_id, one.references.collection_id) for one in scorings}
    asked = set(inputs.values())
    models, languages, collections = zip(*asked, strict=True) if asked else ((), (), ())
    captions = ModelCaption.objects.filter(model__in=set(models), language__in=set(languages))
    counts = captions.values_list("model_id", "language_id").annotate(Count("pk"), Max("pk")).order_by()
    marks = {(model, language): f"{count}-{newest}" for model, language, count, newest in counts}
    entries = CollectionImage.objects.left_out().filter(collection__in=set(collections)).order_by()
    out = {
        collection: f"-{count}-{newest.timestamp():.3f}"
        for collection, count, newest in entries.values_list("collection").annotate(Count("pk"), Max("excluded_at"))
    }
    return {pk: marks.get(one[:2], "0-0") + out.get(one[2], "") for pk, one in inputs.items()}


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


def coverages_of(sets: Sequence[ReferenceSet]) -> list[tuple[ReferenceSet, list[ReferenceCoverage]]]:
    """List the sets that people or translators wrote and some model has captions for, with those models."""
    covered = [(one, coverage_of(one)) for one in sets if not one.is_without_captions]
    return [(one, rows) for one, rows in covered if rows]


def vectors_for(*sets: ReferenceSet) -> QuerySet[WordVectorSet]:
    """List word vectors that a metric may use with some of these references; none unless they are translations."""
    translated = {one.language_id for one in sets if one.kind == ReferenceKind.TRANSLATED}
    return WordVectorSet.objects.filter(language__in=translated)


def features_for(*sets: ReferenceSet) -> QuerySet[EmbeddingSet]:
    """List vectors of images of the references' collections. All are of one project."""
    return whole_sets(collections={one.collection for one in sets}, project=sets[0].project_id if sets else None)


def english_for(*sets: ReferenceSet) -> QuerySet[ReferenceSet]:
    """List English references of the same collections, but for captions that are English themselves."""
    collections = {one.collection_id for one in sets if one.is_without_captions or one.language_id != ENGLISH}
    english = ReferenceSet.objects.filter(project__in={one.project_id for one in sets}, collection__in=collections)
    return english.filter(language=ENGLISH).exclude(kind=ReferenceKind.NONE).select_related("collection")


def is_outdated(row: ScoringRow) -> bool:
    """Whether captions or references have changed since they were scored.

    It counts captions: for one scoring at a time. In lists, an open pass says so as soon as the sweep has found out.
    """
    if row.done is None:
        return False
    return row.has_new_references or row.done.captions_mark != mark_of(row.scoring)
