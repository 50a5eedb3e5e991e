"""Second readers: asking one about a caption, and answering."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.refusals import check_no_assigned_images
from annotation.models import ReadingAnswer, SecondReading
from annotation.permissions import caption_managed_by, reading_of, second_readers
from annotation.services import readings
from annotation.services.feedback import MAX_NOTE_CHARACTERS, FeedbackError
from core.images.api.shapes import ServedImageSerializer, served_fields
from core.images.selectors import served_image
from core.people.api.operations import ApiOperations, one_address
from core.people.api.problems import explain, refused_as
from core.people.api.pseudonyms import person_called
from core.people.api.requested import validated_data
from core.people.api.views import person_asking

projects, api = ApiOperations("projects"), ApiOperations("work")
explain({"reader-refused": "The person cannot be asked about this caption; detail says why."})


class NewReaderSerializer(serializers.Serializer[Any]):
    reader = serializers.CharField(help_text="The pseudonym of an annotator or rater who knows the language.")


class ReadingAnswerSerializer(serializers.Serializer[Any]):
    answer = serializers.ChoiceField(ReadingAnswer.choices)
    comment = serializers.CharField(required=False, allow_blank=True, max_length=MAX_NOTE_CHARACTERS)


class ReadingSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    language = serializers.CharField(source="caption.round.language_id")
    image = ServedImageSerializer()
    text = serializers.CharField(source="caption.text", help_text="The caption that somebody else wrote.")
    answer = serializers.ChoiceField(ReadingAnswer.choices, allow_blank=True, help_text="Empty until you answer.")
    comment = serializers.CharField(allow_blank=True)


@projects.post(
    "reader_ask",
    "Ask a second reader about a caption",
    {204: None},
    request=NewReaderSerializer,
    description="Advice: it counts for no rating. The reader gets the image no more to write about.",
)
def reader_ask(request: Request, slug: str, caption_id: int) -> Response:
    by = person_asking(request)
    caption = caption_managed_by(by, slug, caption_id)
    check_no_assigned_images(by, caption.round.project)
    name = validated_data(NewReaderSerializer, request)["reader"]
    reader = person_called(name, caption.round.project, second_readers(caption.round))
    with refused_as("reader-refused", readings.ReaderRefusedError):
        readings.ask_reader(caption_id=caption.pk, reader=reader, by=by, now=timezone.now())
    return Response(status=204)


@api.get("reading", "A caption that a manager asks you about", ReadingSerializer)
def reading_show(request: Request, reading_id: int) -> Response:
    return _shown(request, reading_of(person_asking(request), reading_id))


@api.put("reading_answer", "Say whether a caption is right", ReadingSerializer, request=ReadingAnswerSerializer)
def reading_answer(request: Request, reading_id: int) -> Response:
    reading = reading_of(person_asking(request), reading_id)
    sent = {"comment": ""} | validated_data(ReadingAnswerSerializer, request)
    sent["answer"] = ReadingAnswer(sent["answer"])
    with refused_as("feedback-refused", FeedbackError):
        readings.answer_reading(reading_id=reading.pk, reader=person_asking(request), now=timezone.now(), **sent)
    return _shown(request, reading_of(person_asking(request), reading_id))


def _shown(request: Request, reading: SecondReading) -> Response:
    reading.image = served_fields(served_image(reading.caption.image, person_asking(request)))  # type: ignore[attr-defined]
    return Response(ReadingSerializer(reading).data)


reading_show_or_answer = one_address(reading_show, reading_answer)
