"""Where the images of a collection were taken: counts, and looking up places again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.images.models import Collection
from core.images.permissions import collection_for, collection_to_change
from core.jobs.models import JobState
from core.people.api.jobs import JobReport, job_kind, started
from core.people.api.operations import ApiOperations, one_address
from core.people.api.views import person_asking
from research.selection.selectors.image_places import place_summary
from research.selection.tasks import ask_for_places

api = ApiOperations("collections")


class PlacesSerializer(serializers.Serializer[Any]):
    """How many images of the collection are so."""

    located = serializers.IntegerField(help_text="In a country.")
    at_sea = serializers.IntegerField()
    problems = serializers.IntegerField(help_text="With coordinates that cannot be right.")
    waiting = serializers.IntegerField(help_text="Not looked up yet.")
    without = serializers.IntegerField(help_text="Without coordinates.")


@api.get("places", "Where the images of a collection were taken, in numbers", PlacesSerializer)
def places_show(request: Request, slug: str) -> Response:
    return Response(_counts(collection_for(person_asking(request), slug)))


@api.post("places_look_up", "Look up the places of a collection's images", {202: PlacesSerializer})
def places_look_up(request: Request, slug: str) -> Response:
    collection = collection_to_change(person_asking(request), slug)
    ask_for_places(collection.pk)
    return started(_counts(collection), "places", collection.pk)


@job_kind("places")
def places_jobs(request: Request, pks: Sequence[int]) -> Iterator[JobReport]:
    for slug in Collection.objects.filter(pk__in=pks).values_list("slug", flat=True):
        counts = place_summary(collection_for(person_asking(request), slug))
        done = counts["located"] + counts["at_sea"] + counts["problems"]
        state = JobState.RUNNING if counts["waiting"] else JobState.DONE
        address = reverse("api:places-show", args=[slug])
        yield JobReport(state, address, done=done, total=done + counts["waiting"])


def _counts(collection: Collection) -> Any:
    return PlacesSerializer(place_summary(collection)).data


places_show_or_look_up = one_address(places_show, places_look_up)
