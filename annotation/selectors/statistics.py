"""Statistics of the captions that count in a project's main rounds, by language."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from annotation.models import Caption, Round, RoundKind
from crosslens_metrics.caption_stats import CaptionStatistics
from languages.models import Language
from people.models import Project

CAPTIONS_AT_ONCE = 2000


def project_statistics(project: Project) -> Iterator[tuple[Language, CaptionStatistics]]:
    """Count from the captions themselves, one language after the other, by tag."""
    rounds = Round.objects.filter(project=project, kind=RoundKind.MAIN)
    for language in Language.objects.filter(pk__in=rounds.values("language")).order_by("pk"):
        yield language, statistics_in(project, language)


def statistics_in(project: Project, language: Language) -> CaptionStatistics:
    """Count the language's main rounds together, so that an image's captions are counted once; they are streamed."""
    rounds = Round.objects.filter(project=project, language=language, kind=RoundKind.MAIN)
    captions = Caption.objects.counted().filter(round__in=list(rounds)).order_by("image").values_list("image", "text")
    statistics = CaptionStatistics()
    for _image, rows in groupby(captions.iterator(chunk_size=CAPTIONS_AT_ONCE), key=itemgetter(0)):
        statistics.add([text for _, text in rows])
    return statistics
