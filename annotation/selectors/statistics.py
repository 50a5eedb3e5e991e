"""Statistics of the captions that count in a project's main rounds, by language."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from django.db.models import QuerySet

from annotation.models import Caption, Round, RoundKind
from core.images.models import Image
from core.languages.models import Language
from core.people.models import Project
from crosslens_metrics.caption_stats import CaptionStatistics
from research.selection.rules.image_filters import ALL_IMAGES, ImageFilter
from research.selection.selectors.subsets import images_of

CAPTIONS_AT_ONCE = 2000


def project_statistics(
    project: Project, images: ImageFilter = ALL_IMAGES
) -> Iterator[tuple[Language, CaptionStatistics]]:
    """Count from the captions themselves, one language after the other, by tag.

    Raises
    ------
    ImageFilterError
        If `images` cannot be applied to a language.
    """
    rounds = Round.objects.filter(project=project, kind=RoundKind.MAIN)
    for language in Language.objects.filter(pk__in=rounds.values("language")).order_by("pk"):
        yield language, statistics_in(project, language, images_of(images, project=project, language=language))


def statistics_in(project: Project, language: Language, images: QuerySet[Image] | None = None) -> CaptionStatistics:
    """Count the language's main rounds together, so that an image's captions are counted once; they are streamed.

    Only captions of `images` are counted, or without it all.
    """
    rounds = Round.objects.filter(project=project, language=language, kind=RoundKind.MAIN)
    counted = Caption.objects.in_results().filter(round__in=list(rounds))
    if images is not None:
        counted = counted.filter(image__in=images)
    captions = counted.order_by("image").values_list("image", "text")
    statistics = CaptionStatistics()
    for _image, rows in groupby(captions.iterator(chunk_size=CAPTIONS_AT_ONCE), key=itemgetter(0)):
        statistics.add([text for _, text in rows])
    return statistics
