"""Statistics and quality of a project, over all its images or those of an image filter."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.formats.quality import as_json, fresh_table
from annotation.models import Rating, RoundKind, RoundState
from annotation.selectors.statistics import LanguageStatistics, filtered_statistics, live_statistics
from core.people.api.operations import ApiOperations
from core.people.api.views import person_asking
from core.people.permissions import READERS, project_for
from core.people.rules.pseudonyms import pseudonym
from research.selection.api.subsets import IMAGES, asked_filter, image_filter_refusals

api = ApiOperations("projects")


class LanguageStatisticsSerializer(serializers.Serializer[LanguageStatistics]):
    language = serializers.CharField(source="language.pk")
    captions = serializers.IntegerField(source="statistics.captions")
    images_with_1 = serializers.IntegerField(source="statistics.images_with_1", help_text="Images with one caption.")
    images_with_2 = serializers.IntegerField(source="statistics.images_with_2")
    images_with_3_or_more = serializers.IntegerField(source="statistics.images_with_3_or_more")
    mean_words = serializers.FloatField(source="statistics.mean_words", allow_null=True)
    mean_chars = serializers.FloatField(source="statistics.mean_characters", allow_null=True)
    computed_at = serializers.DateTimeField(
        allow_null=True, help_text="When captions per image were last counted; null if never."
    )


class StatisticsSerializer(serializers.Serializer[Any]):
    images = serializers.CharField(help_text="The image filter; empty for all images.")
    results = LanguageStatisticsSerializer(many=True)


class ShareSerializer(serializers.Serializer[Any]):
    count = serializers.IntegerField()
    share = serializers.FloatField(allow_null=True, help_text="Of verified captions; null while there are none.")
    low = serializers.FloatField(allow_null=True, help_text="The 95% Wilson interval.")
    high = serializers.FloatField(allow_null=True)


class ReviewerSerializer(serializers.Serializer[Any]):
    rater = serializers.CharField(help_text="A pseudonym.")
    ratings = serializers.IntegerField()
    agreed = serializers.IntegerField(help_text="Ratings that are the caption's median.")
    confusion = serializers.DictField(
        child=serializers.DictField(child=serializers.IntegerField()), help_text="By rating, then by the median."
    )


class RoundQualitySerializer(serializers.Serializer[Any]):
    language = serializers.CharField()
    round = serializers.ChoiceField(RoundKind.choices, help_text="The kind of the round whose captions were rated.")
    number = serializers.IntegerField()
    state = serializers.ChoiceField(RoundState.choices)
    raters_per_caption = serializers.IntegerField()
    sample_size = serializers.IntegerField(allow_null=True)
    seed = serializers.IntegerField(allow_null=True)
    images = serializers.IntegerField(help_text="Images of the sampled captions.")
    sampled = serializers.IntegerField()
    verified = serializers.IntegerField(help_text="Captions with all their ratings.")
    ratings = serializers.IntegerField()
    levels = serializers.DictField(child=serializers.IntegerField(), help_text=f"By level: {', '.join(Rating.values)}.")
    good = ShareSerializer(help_text="GOOD or better.")
    medium = ShareSerializer(help_text="MEDIUM or better.")
    bad = ShareSerializer()
    not_enough_info = ShareSerializer()
    alpha = serializers.FloatField(allow_null=True, help_text="Krippendorff's alpha, ordinal.")
    alpha_undefined = serializers.CharField(allow_blank=True, help_text="Why there is no alpha.")
    raters = ReviewerSerializer(many=True)


class QualitySerializer(serializers.Serializer[Any]):
    images = serializers.CharField(help_text="The image filter; empty for all images.")
    results = RoundQualitySerializer(many=True)


@api.get(
    "statistics",
    "Statistics of the captions of main rounds, by language",
    StatisticsSerializer,
    description="Over some images, captions are counted for the answer itself.",
    parameters=[IMAGES],
)
def statistics_show(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, *READERS)
    images = asked_filter(request, project)
    with image_filter_refusals():
        rows = live_statistics(project) if images.is_all else filtered_statistics(project, images, now=timezone.now())
    return Response(StatisticsSerializer({"images": str(images), "results": rows}).data)


@api.get(
    "quality",
    "The quality of verified captions, by round of verification",
    QualitySerializer,
    description="The file of the page Quality, counted for the answer itself. See docs/managers.md.",
    parameters=[IMAGES],
)
def quality_show(request: Request, slug: str) -> Response:
    project = project_for(person_asking(request), slug, *READERS)
    images = asked_filter(request, project)
    with image_filter_refusals():
        table = fresh_table(project, images)
    rows = as_json(table, name_of=partial(pseudonym, project))
    return Response(QualitySerializer({"images": str(images), "results": rows}).data)
