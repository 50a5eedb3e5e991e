"""The shapes of rows in the answers to managers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

from django.db.models import Model
from rest_framework import serializers

from annotation.models import Caption, CaptionState, Feedback, Rating, Round, RoundKind, RoundState, Verdict
from core.images.models import CollectionImage
from core.people.models import Project
from core.people.rules.pseudonyms import pseudonym
from research.selection.selectors.image_places import UNKNOWN, origins_of


def context_of(project: Project, rows: Sequence[Model]) -> dict[str, Any]:
    """Prepare `keys` of the images of `rows` by (collection, image), their `origins`, and `name_of`, a pseudonym."""
    captions = [getattr(row, "caption", row) for row in rows]
    rounds = {caption.round for caption in captions if isinstance(caption, Caption)}
    collections = {round.pk: round.collection_id for round in rounds}
    images = {caption.image_id for caption in captions if isinstance(caption, Caption)}
    entries = CollectionImage.objects.filter(collection__in=set(collections.values()), image__in=images)
    keys = {(collection, image): key for collection, image, key in entries.values_list("collection", "image", "key")}
    return {
        "keys": keys,
        "collections": collections,
        "origins": origins_of(project, images),
        "name_of": cache(partial(pseudonym, project)),
    }


class LanguageSerializer(serializers.Serializer[Any]):
    tag = serializers.CharField(help_text="BCP 47.")
    english_name = serializers.CharField()
    own_name = serializers.CharField()


class LanguagesSerializer(serializers.Serializer[Any]):
    results = LanguageSerializer(many=True)


class RoundSerializer(serializers.ModelSerializer[Round]):
    language = serializers.CharField(source="language_id")
    kind = serializers.ChoiceField(RoundKind.choices)
    state = serializers.ChoiceField(RoundState.choices)
    title = serializers.CharField(help_text="The name on pages.")
    replication = serializers.IntegerField(source="pool.replication")
    batch_size = serializers.IntegerField(source="pool.batch_size")
    lease_s = serializers.IntegerField(source="pool.lease_s", help_text="Length of a lease, in seconds.")
    is_handing_out = serializers.SerializerMethodField()
    guidelines_version = serializers.IntegerField(source="guidelines.version")

    class Meta:
        model = Round
        fields = (
            "id",
            "language",
            "kind",
            "number",
            "title",
            "state",
            "verifies",
            "replication",
            "batch_size",
            "lease_s",
            "is_handing_out",
            "sample_size",
            "needs_qualification",
            "guidelines_version",
            "source",
            "opened_at",
            "closed_at",
            "decided_at",
            "reason",
        )

    def get_is_handing_out(self, round: Round) -> bool:
        return round.state == RoundState.OPEN and round.pool.is_open


class RoundProgressSerializer(serializers.Serializer[Any]):
    round = serializers.IntegerField(source="round.pk")
    language = serializers.CharField(source="round.language_id")
    kind = serializers.ChoiceField(RoundKind.choices, source="round.kind")
    number = serializers.IntegerField(source="round.number")
    state = serializers.ChoiceField(RoundState.choices, source="round.state")
    tasks = serializers.IntegerField(help_text="Images, or captions to rate.")
    wanted = serializers.IntegerField(help_text="Tasks times the answers wanted for each.")
    done = serializers.IntegerField(help_text="Submitted answers that count.")
    assigned = serializers.IntegerField()
    expired = serializers.IntegerField()
    late = serializers.IntegerField(help_text="Submitted after the deadline: kept, not counted.")


class ProgressSerializer(serializers.Serializer[Any]):
    wanted = serializers.IntegerField()
    done = serializers.IntegerField()
    rounds = RoundProgressSerializer(many=True)


class CaptionSerializer(serializers.ModelSerializer[Caption]):
    language = serializers.CharField(source="round.language_id")
    image = serializers.SerializerMethodField()
    image_origin = serializers.SerializerMethodField(
        help_text="Where the image was taken, the language and level that it was chosen for, and versions; or empty."
    )
    author = serializers.SerializerMethodField(help_text="A pseudonym; null if the caption was imported from a file.")
    state = serializers.ChoiceField(CaptionState.choices)
    guidelines_version = serializers.IntegerField(source="guidelines.version")
    warnings = serializers.ListField(
        child=serializers.CharField(), help_text="Codes of the warnings that the author overrode."
    )

    class Meta:
        model = Caption
        fields = (
            "id",
            "round",
            "language",
            "image",
            "image_origin",
            "author",
            "text",
            "text_as_typed",
            "state",
            "guidelines_version",
            "warnings",
            "submitted_at",
        )

    def get_image(self, caption: Caption) -> str | None:
        return key_of(caption, self.context)

    def get_image_origin(self, caption: Caption) -> dict[str, str]:
        return self.context["origins"].get(caption.image_id, UNKNOWN)._asdict()

    def get_author(self, caption: Caption) -> str | None:
        return name_of(caption.author_id, self.context)


class RatingSerializer(serializers.Serializer[Any]):
    caption = serializers.IntegerField(source="pk", help_text="The caption that the same person then wrote.")
    round = serializers.IntegerField(source="round_id")
    language = serializers.CharField(source="round.language_id")
    image = serializers.SerializerMethodField()
    author = serializers.SerializerMethodField(help_text="A pseudonym.")
    english_model = serializers.CharField(source="item.english.model.name")
    english_caption = serializers.CharField(source="item.english.text")
    rating = serializers.ChoiceField(Rating.choices, source="item.rating")
    rated_at = serializers.DateTimeField(source="item.rated_at", allow_null=True)
    rating_ms = serializers.IntegerField(source="item.rating_ms", help_text="Active time, without idle time.")

    def get_image(self, caption: Caption) -> str | None:
        return key_of(caption, self.context)

    def get_author(self, caption: Caption) -> str | None:
        return name_of(caption.author_id, self.context)


class VerdictSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="pk")
    round = serializers.IntegerField(source="batch.round_id")
    language = serializers.CharField(source="batch.round.language_id")
    caption = serializers.IntegerField(source="caption_id")
    image = serializers.SerializerMethodField()
    rater = serializers.SerializerMethodField(help_text="A pseudonym.")
    rating = serializers.ChoiceField(Rating.choices)
    rated_at = serializers.DateTimeField(allow_null=True)
    rating_ms = serializers.IntegerField(help_text="Active time, without idle time.")

    def get_image(self, verdict: Verdict) -> str | None:
        return key_of(verdict.caption, self.context)

    def get_rater(self, verdict: Verdict) -> str | None:
        return name_of(verdict.person_id, self.context)


class FeedbackSerializer(serializers.ModelSerializer[Feedback]):
    annotator = serializers.SerializerMethodField(help_text="A pseudonym.")
    by = serializers.CharField(source="by.username", help_text="The manager.")

    class Meta:
        model = Feedback
        fields = ("id", "round", "caption", "annotator", "text", "by", "at", "acknowledged_at")

    def get_annotator(self, feedback: Feedback) -> str | None:
        return name_of(feedback.person_id, self.context)


def key_of(caption: Caption, context: Mapping[str, Any]) -> str | None:
    """Return the key of the image; None if it has left the collection since."""
    key: str | None = context["keys"].get((context["collections"][caption.round_id], caption.image_id))
    return key


def name_of(person_id: int | None, context: Mapping[str, Any]) -> str | None:
    name: str | None = None if person_id is None else context["name_of"](person_id)
    return name
