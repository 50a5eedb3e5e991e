"""Show managers and researchers a project: rounds, progress, captions, ratings, feedback and quality.

Lists go by the rounds of the project, each in the order of an index, so that a page costs the same however many
captions there are. Authors have the same pseudonyms as in the files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from django.db.models import Model, QuerySet
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api import shapes
from annotation.api.refusals import check_no_assigned_images
from annotation.formats.quality import as_json, fresh_table
from annotation.forms.checks import CheckForm
from annotation.models import Caption, Feedback, Rating, Round, RoundKind, RoundState, Verdict
from annotation.selectors import overview
from annotation.selectors.checks import CheckFilters, authors_of, captions_asked_for
from annotation.selectors.quality import APPENDIX_COUNTS
from annotation.selectors.statistics import LanguageStatistics, filtered_statistics, live_statistics
from core.allocation.models import AssignmentState
from core.languages.models import Language
from core.people.api.forms import form_parameters
from core.people.api.operations import ApiOperations, refusals_explained
from core.people.api.pagination import ListPart, many_shown, page
from core.people.api.pseudonyms import person_called
from core.people.api.requested import MAX_ID, asked_id, asked_language
from core.people.api.views import person_asking
from core.people.models import Project, Role
from core.people.permissions import READERS, project_for
from core.people.rules.pseudonyms import pseudonym
from research.selection.api.subsets import IMAGES, asked_filter, image_filter_refusals

api = ApiOperations("projects")
OF_ROUNDS = [
    OpenApiParameter("language", str, description="Only this language, by its tag, in any spelling."),
    OpenApiParameter(
        "round",
        {"type": "integer", "minimum": 1, "maximum": MAX_ID},
        description="Only this round, by its ID.",
    ),
]
OF_CHECKS = form_parameters(
    CheckForm,
    omit=("round",),
    annotator="Only captions by this person, by their pseudonym.",
    unchecked="Only captions that no manager checked; only managers may ask for these.",
    apart="Only captions about which people gave ratings two levels apart: of the English caption, or of the caption.",
)


@api.get("languages", "The languages of a project", shapes.LanguagesSerializer)
def language_list(request: Request, slug: str) -> Response:
    project = readable_project(request, slug)
    tags = Round.objects.filter(project=project).values("language")
    languages = Language.objects.filter(pk__in=tags).order_by("pk")
    return Response(shapes.LanguagesSerializer({"results": languages}).data)


@api.list(
    "rounds", "The rounds of a project and their states", "RoundPage", shapes.RoundSerializer, parameters=[OF_ROUNDS[0]]
)
def round_list(request: Request, slug: str) -> Response:
    rounds = rounds_of(request, readable_project(request, slug)).select_related("pool", "verifies", "guidelines")
    return page(request, [ListPart(0, rounds)], order=["pk"], show=many_shown(shapes.RoundSerializer))


@api.get("round", "A round", shapes.RoundSerializer)
def round_show(request: Request, slug: str, round_id: int) -> Response:
    rounds = Round.objects.filter(project=readable_project(request, slug)).select_related(
        "pool", "verifies", "guidelines"
    )
    round = rounds.filter(pk=round_id).first()
    if round is None:
        raise Http404(_("There is no such round in this project."))
    return Response(shapes.RoundSerializer(round).data)


@api.get("progress", "The progress of each round", shapes.ProgressSerializer)
def progress_show(request: Request, slug: str) -> Response:
    progress = overview.project_progress(readable_project(request, slug), now=timezone.now())
    return Response(shapes.ProgressSerializer(progress).data)


@api.list(
    "captions",
    "The captions that people wrote",
    "CaptionPage",
    shapes.CaptionSerializer,
    description="All captions, including those that do not count: see state. With a filter besides language and round: "
    "those of them that are written here and that the page Check shows.",
    parameters=[*OF_ROUNDS, *OF_CHECKS],
)
def caption_list(request: Request, slug: str) -> Response:
    project = with_words(request, slug)
    rounds = rounds_of(request, project)
    parts = parts_of(Caption.objects.all(), rounds)
    if asked := _asked_of_captions(request, project, rounds):
        to_check = rounds.exclude(kind=RoundKind.VERIFICATION).order_by("pk")
        parts = (ListPart(one.pk, captions_asked_for(CheckFilters(round=one, **asked))) for one in to_check)
    parts = (ListPart(part.key, part.rows.select_related("round", "guidelines")) for part in parts)
    return page(request, parts, order=["image_id", "pk"], show=shown_by(project, shapes.CaptionSerializer))


@api.list(
    "ratings",
    "Annotators' ratings of the English captions",
    "RatingPage",
    shapes.RatingSerializer,
    parameters=OF_ROUNDS,
)
def rating_list(request: Request, slug: str) -> Response:
    project = with_words(request, slug)
    rated = Caption.objects.filter(item__isnull=False).select_related("round", "item__english__model")
    parts = parts_of(rated, rounds_of(request, project))
    return page(request, parts, order=["image_id", "pk"], show=shown_by(project, shapes.RatingSerializer))


@api.list(
    "verdicts",
    "Ratings of the captions that people wrote",
    "VerdictPage",
    shapes.VerdictSerializer,
    description="Only submitted ratings that count.",
    parameters=OF_ROUNDS,
)
def verdict_list(request: Request, slug: str) -> Response:
    project = with_words(request, slug)
    rounds = rounds_of(request, project).filter(kind=RoundKind.VERIFICATION)
    counted = Verdict.objects.filter(assignment__state=AssignmentState.DONE)
    counted = counted.select_related("caption__round", "batch__round")
    parts = (
        ListPart(pk, counted.filter(batch__round=pk, caption__verification_tasks__round=pk))
        for pk in rounds.order_by("pk").values_list("pk", flat=True)
    )
    return page(request, parts, order=["caption_id", "pk"], show=shown_by(project, shapes.VerdictSerializer))


@api.list("feedback", "Feedback from managers to annotators", "FeedbackPage", shapes.FeedbackSerializer)
def feedback_list(request: Request, slug: str) -> Response:
    project = with_words(request, slug, Role.MANAGER)
    said = Feedback.objects.filter(project=project).select_related("by")
    return page(request, [ListPart(0, said)], order=["pk"], show=shown_by(project, shapes.FeedbackSerializer))


def _asked_of_captions(request: Request, project: Project, rounds: QuerySet[Round]) -> dict[str, Any]:
    """Return the filters of the page Check that were sent, besides the round."""
    sent = {one.name: value for one in OF_CHECKS if (value := request.query_params.get(one.name))}
    asked: dict[str, Any] = {name: sent[name] for name in ("rated", "verdict", "apart") if name in sent}
    if "unchecked" in sent:
        # What managers checked is shown to them alone.
        with refusals_explained(is_write=True):
            project_for(person_asking(request), project.slug, Role.MANAGER)
    if "annotator" in sent:
        asked["annotator"] = person_called(sent["annotator"], project, authors_of(rounds))
    return asked | ({"is_unchecked": True} if "unchecked" in sent else {})


def readable_project(request: Request, slug: str) -> Project:
    return project_for(person_asking(request), slug, *READERS)


def with_words(request: Request, slug: str, *roles: Role) -> Project:
    """Find a project whose captions the asker, with one of `roles` or else anybody who reads it, may read now."""
    project = project_for(person_asking(request), slug, *(roles or READERS))
    check_no_assigned_images(person_asking(request), project)
    return project


def rounds_of(request: Request, project: Project) -> QuerySet[Round]:
    """List the rounds of a project that match the query."""
    rounds = Round.objects.filter(project=project)
    if language := asked_language(request, rounds.values_list("language", flat=True)):
        rounds = rounds.filter(language=language)
    if round_id := asked_id(request, "round", _("The id of a round: a whole number.")):
        rounds = rounds.filter(pk=round_id)
    return rounds


def parts_of(captions: QuerySet[Caption], rounds: QuerySet[Round]) -> Iterator[ListPart[Caption]]:
    """Split captions by round, of those that have any."""
    for pk in rounds.exclude(kind=RoundKind.VERIFICATION).order_by("pk").values_list("pk", flat=True):
        yield ListPart(pk, captions.filter(round=pk))


def shown_by(project: Project, shape: type[serializers.Serializer[Any]]) -> Any:
    """Show rows in `shape`, with the keys of their images and pseudonyms of people."""

    def show(rows: Sequence[Model]) -> Any:
        return shape(rows, many=True, context=shapes.context_of(project, rows)).data

    return show


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
    share = serializers.FloatField(allow_null=True, help_text="Null while there is no caption.")
    low = serializers.FloatField(allow_null=True, help_text="The 95% Wilson interval, with these authors.")
    high = serializers.FloatField(allow_null=True)
    authors_low = serializers.FloatField(allow_null=True, help_text="The 95% interval over other authors like these.")
    authors_high = serializers.FloatField(allow_null=True)
    authors_undefined = serializers.CharField(allow_blank=True, help_text="Why there is no interval over authors.")


class ReviewerSerializer(serializers.Serializer[Any]):
    rater = serializers.CharField(help_text="A pseudonym.")
    ratings = serializers.IntegerField()
    compared = serializers.IntegerField(help_text="Ratings of captions that somebody else rated too.")
    agreed = serializers.IntegerField(help_text="Ratings that are the median of the others' ratings of the caption.")
    confusion = serializers.DictField(
        child=serializers.DictField(child=serializers.IntegerField()),
        help_text="By rating, then by the median of the others.",
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
    good = ShareSerializer(help_text="GOOD or better, of verified captions.")
    medium = ShareSerializer(help_text="MEDIUM or better.")
    bad = ShareSerializer()
    not_enough_info = ShareSerializer()
    good_judged = ShareSerializer(help_text="GOOD or better, of verified captions without those of NOT-ENOUGH-INFO.")
    medium_judged = ShareSerializer()
    bad_judged = ShareSerializer()
    appendix = serializers.DictField(
        child=serializers.IntegerField(), help_text=f"Numbers: {', '.join(APPENDIX_COUNTS)}."
    )
    authors = serializers.IntegerField(allow_null=True, help_text="People who wrote the verified captions.")
    designs = serializers.DictField(
        child=serializers.DictField(),
        help_text="What intervals generalise to: interval and over_authors of shares, alpha_interval.",
    )
    alpha = serializers.FloatField(allow_null=True, help_text="Krippendorff's alpha, ordinal.")
    alpha_undefined = serializers.CharField(allow_blank=True, help_text="Why there is no alpha.")
    alpha_low = serializers.FloatField(
        allow_null=True, help_text="The 95% interval over other captions and other reviewers like these."
    )
    alpha_high = serializers.FloatField(allow_null=True)
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
