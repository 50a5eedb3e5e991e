"""How a batch is taken, read and goes on as operations, whatever the work is, and what services of work refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from random import SystemRandom
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.http import Http404
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.allocation.refusals import refusal_of
from core.people.api.operations import ApiOperations, View
from core.people.api.problems import ApiError, explain
from core.people.api.requested import validated_data
from core.people.api.views import person_asking
from core.people.models import User

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

MS_PER_DAY = 24 * 3600 * 1000
Shape = type[serializers.Serializer[Any]]
explain(
    {
        "not-qualified": "You do not meet the requirements of this round; errors says which.",
        "pool-closed": "The round is closed for now.",
        "pool-busy": "Other people are taking the last tasks right now. Try again in a few seconds.",
        "no-tasks-left": "Nothing is left for you in this round.",
        "lease-expired": "The batch has expired. Drafts are kept; you can resume the batch.",
        "batch-returned": "The batch was returned. You can resume it.",
        "no-tasks-available": "Other people have taken everything in the batch since then.",
        "task-gone": "The image is no longer assigned to you: you reported it, or other people have taken it.",
        "open-batch-exists": "Another batch of the round is assigned to you; batch says which.",
    }
)


class MissingRequirementSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()


@contextmanager
def refusals_as_problems() -> Iterator[None]:
    """Answer with a problem if a service refuses."""
    try:
        yield
    except Exception as error:
        refusal = refusal_of(error)
        if refusal.status == 404:
            raise Http404(refusal.message) from None
        raise ApiError(refusal.status, refusal.code, refusal.message, refusal.errors, **refusal.stored) from None


@dataclass(frozen=True)
class BatchSteps:
    """The views by which a batch of one kind is taken and read, and takes its steps as a whole.

    None has an Idempotency-Key: a kept answer would show English captions after writing was opened.
    """

    api: ApiOperations
    shown_as: Shape
    find: Callable[[User, UUID], object]
    answer: Callable[[Request, UUID], Response]

    def take(
        self,
        id: str,
        summary: str,
        service: Callable[..., Any],
        *,
        of: str,
        find: Callable[[User, int], object],
        nothing_left: StrPromise,
    ) -> View:
        """`of` is what `service` calls the work that `find` returns, if the person may do it."""

        @self.api.post(
            id, summary, self.shown_as, description="Returns your open batch if you have one.", has_key=False
        )
        def view(request: Request, **about: int) -> Response:
            person = person_asking(request)
            work = find(person, about[f"{of}_id"])
            with refusals_as_problems():
                batch = service(**{of: work}, person=person, now=timezone.now(), rng=SystemRandom())
            if batch is None:
                raise ApiError(409, "no-tasks-left", nothing_left)
            return self.answer(request, batch.pk)

        return view

    def show(self, id: str, summary: str) -> View:
        @self.api.get(id, summary, self.shown_as)
        def view(request: Request, batch_id: UUID) -> Response:
            return self.answer(request, batch_id)

        return view

    def step(
        self,
        id: str,
        summary: str,
        description: str,
        service: Callable[..., object],
        *,
        shape: Shape | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> View:
        """`shape` is of what is sent with the step."""

        @self.api.post(id, summary, self.shown_as, description=description, request=shape, has_key=False)
        def view(request: Request, batch_id: UUID) -> Response:
            self.find(person_asking(request), batch_id)
            sent = validated_data(shape, request) if shape else {}
            with refusals_as_problems():
                service(batch_id=batch_id, person=person_asking(request), now=timezone.now(), **sent)
            response = self.answer(request, batch_id)
            for name, value in (headers or {}).items():
                response[name] = value
            return response

        return view
