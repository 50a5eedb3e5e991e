"""Statistics of the captions that count in a project's main rounds, by language, and data of plots, from tallies.

Pages show them from tallies and from background counts by image; files, and pages of some images, count captions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter

from django.db.models import QuerySet

from annotation.models import Caption, Round, RoundFigures, RoundKind
from annotation.rules.tallies import TallySums, total_sums
from annotation.selectors.figures import computed_figures, sums_of_rounds
from annotation.selectors.overview import in_campaign
from core.images.models import CollectionImage, Image
from core.languages.models import Language
from core.people.models import Project
from crosslens_metrics.caption_stats import CaptionStatistics
from research.selection.rules.image_filters import ALL_IMAGES, ImageFilter
from research.selection.selectors.subsets import images_of

CAPTIONS_AT_ONCE = 2000


@dataclass(frozen=True)
class LanguageStatistics:
    """`computed_at` is when captions per image were last counted; `is_behind` if captions were submitted since."""

    language: Language
    statistics: CaptionStatistics
    computed_at: datetime | None
    is_behind: bool

    @property
    def images(self) -> int:
        """How many images have a caption."""
        counts = self.statistics
        return counts.images_with_1 + counts.images_with_2 + counts.images_with_3_or_more


def project_statistics(
    project: Project, images: ImageFilter = ALL_IMAGES
) -> Iterator[tuple[Language, CaptionStatistics]]:
    """Count from the captions themselves, one language after the other, by tag.

    Raises ImageFilterError if `images` cannot be applied to a language.
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


def filtered_statistics(project: Project, images: ImageFilter, *, now: datetime) -> list[LanguageStatistics]:
    """Return statistics of some images, counted from the captions.

    Raises ImageFilterError if `images` cannot be applied to a language.
    """
    return [
        LanguageStatistics(language, statistics, computed_at=now, is_behind=False)
        for language, statistics in project_statistics(project, images)
    ]


def live_statistics(project: Project) -> list[LanguageStatistics]:
    """Return statistics of main rounds by language tag, as in the published table."""
    rounds: dict[str, list[Round]] = defaultdict(list)
    mains = project.rounds.filter(kind=RoundKind.MAIN)
    for round in mains.select_related("language").order_by("language", "pk"):
        rounds[round.language_id].append(round)
    kept = computed_figures(project)
    sums = sums_of_rounds(mains, kept, columns=("captions", "words", "characters"))
    left_out = CollectionImage.objects.left_out().filter(collection__in=mains.values("collection"))
    uncounted = set(left_out.order_by().values_list("collection", flat=True))
    return [
        _of_language(
            group,
            [sums[round.pk] for round in group if round.pk in sums],
            kept,
            is_tallied=not any(round.source or round.collection_id in uncounted for round in group),
        )
        for group in rounds.values()
    ]


def _of_language(
    rounds: list[Round], sums: list[TallySums], kept: dict[int, RoundFigures], *, is_tallied: bool
) -> LanguageStatistics:
    figures = [kept[round.pk] for round in rounds if round.pk in kept and kept[round.pk].computed_at]
    newest = max(figures, key=lambda one: str(one.computed_at), default=None)
    statistics = CaptionStatistics(**newest.figures.get("statistics", {})) if newest else CaptionStatistics()
    counted = statistics.captions
    # Captions from a file have no author and no tally, and tallies include images left out of results: a language that
    # has some of either is counted in the background.
    if is_tallied:
        now = total_sums(sums)
        statistics.captions, statistics.words, statistics.characters = now.captions, now.words, now.characters
    return LanguageStatistics(
        language=rounds[0].language,
        statistics=statistics,
        computed_at=newest.computed_at if newest else None,
        is_behind=statistics.captions != counted,
    )


SERIES_COLUMNS = ("captions", "words", "characters", "ratings", "lengths", "days")


@dataclass(frozen=True)
class RoundSeries:
    round: Round
    sums: TallySums

    @property
    def is_rating(self) -> bool:
        return self.round.kind == RoundKind.VERIFICATION


def round_series(project: Project, *, language: Language | None = None) -> list[RoundSeries]:
    """Return rounds with submitted work: by the name of the language, in the order of its campaign."""
    rounds = project.rounds.all() if language is None else project.rounds.filter(language=language)
    sums = sums_of_rounds(rounds, computed_figures(project), columns=SERIES_COLUMNS)
    series = [
        RoundSeries(round, sums[round.pk])
        for round in rounds.filter(pk__in=list(sums)).select_related("language", "verifies")
    ]
    series.sort(key=lambda one: in_campaign(one.round))
    return [one for one in series if one.sums.captions]


def languages_of(project: Project) -> QuerySet[Language]:
    return Language.objects.filter(pk__in=project.rounds.values("language")).order_by("english_name", "pk")
