"""Background work of all kinds at one address: jobs/ID/.

It answers people who may read what the work makes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import Http404
from django.urls import reverse
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.jobs.models import OPEN_STATES, JobState
from core.people.api.operations import ApiOperations

api = ApiOperations("jobs")
STATES = ("queued", "running", "paused", "done", "failed", "cancelled")
MAX_JOBS = 500
"""(ours) Rows that one job stands for: servers refuse much longer addresses."""


@dataclass(frozen=True)
class JobReport:
    """How far a row with background work is.

    `result` is the address of what it makes.
    """

    state: str
    result: str
    error: str = ""
    done: int = 0
    total: int = 0
    finished_at: datetime | None = None


Find = Callable[[Request, Sequence[int]], Iterable[JobReport]]
_kinds: dict[str, Find] = {}


def job_kind(kind: str) -> Callable[[Find], Find]:
    """Register what reports on rows of a kind, by their primary keys.

    The function raises Http404 or ApiError if the person asking may not read what the rows make.
    """

    def registered(find: Find) -> Find:
        _kinds[kind] = find
        return find

    return registered


def started(body: Any, kind: str, *pks: int) -> Response:
    """Answer that work has begun; `Location` is the job of all of `pks`."""
    job_id = f"{kind}-{','.join(map(str, pks))}"
    return Response(body, status=202, headers={"Location": reverse("api:job-show", args=[job_id])})


class JobSerializer(serializers.Serializer[Any]):
    """Poll it until its state is done, failed or cancelled."""

    id = serializers.CharField()
    kind = serializers.CharField()
    state = serializers.ChoiceField(STATES)
    error = serializers.CharField(allow_blank=True)
    done = serializers.IntegerField(help_text="How much is done, of total.")
    total = serializers.IntegerField(help_text="0 while that is not known.")
    results = serializers.ListField(child=serializers.CharField(), help_text="The addresses of what it makes.")
    finished_at = serializers.DateTimeField(allow_null=True)


@api.get(
    "job",
    "How far something is that was started",
    JobSerializer,
    description="Every operation that answers 202 gives the address of its job in the header Location.",
    parameters=[OpenApiParameter("job", str, OpenApiParameter.PATH, description="As in Location, such as release-12.")],
)
def job_show(request: Request, job: str) -> Response:
    kind, _hyphen, numbers = job.partition("-")
    is_one = re.fullmatch(r"[1-9][0-9]{0,17}(,[1-9][0-9]{0,17})*", numbers, re.ASCII)
    pks = list(dict.fromkeys(map(int, numbers.split(",")))) if is_one else []
    reports = list(_kinds[kind](request, pks)) if kind in _kinds and len(pks) <= MAX_JOBS else []
    if not reports or len(reports) != len(pks):
        raise Http404(_("There is no such job."))
    ended = [report.finished_at for report in reports]
    return Response(
        JobSerializer(
            {
                "id": job,
                "kind": kind,
                "state": _overall([report.state for report in reports]),
                "error": "\n".join(dict.fromkeys(report.error for report in reports if report.error)),
                "done": sum(report.done for report in reports),
                "total": sum(report.total for report in reports),
                "results": [report.result for report in reports],
                "finished_at": None if None in ended else max(filter(None, ended)),
            }
        ).data
    )


def _overall(states: Sequence[str]) -> str:
    if len(set(states)) == 1:
        return states[0]
    if set(states) & {*OPEN_STATES}:
        return JobState.RUNNING
    return next(state for state in ("failed", "paused", "cancelled") if state in states)
