"""How long a page of a long list takes through the API: `python -m benchmarks.api`, in an empty database.

    python -m benchmarks.api [--captions 1000000]

Run in the environment of the database to measure. The first page of the captions of a project, one in the
middle and the last but one are asked for as a program does, in one process, from the address to the last byte; so are
the images. Beside them, in the same run and turn by turn, the same rows in the same shape found by counting over
them, as offset pagination does, without the count of all rows that it mostly shows besides.
"""

from __future__ import annotations

import base64
import json
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import django

django.setup()

from django.core.management import call_command
from django.db import connection
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from annotation.api import shapes
from annotation.models import Caption
from benchmarks.exports import NAME, seed_captions
from benchmarks.harness import arguments, in_turns, tell
from images.models import CollectionImage
from people.models import Membership, Project, Role
from people.services import tokens

LIMIT, TIMES = 100, 15
PLACES = {"first": 0.0, "middle": 0.5, "last": 1.0}
BATCH, LANGUAGES = 15, 36


def main() -> None:
    options = arguments(__doc__, captions=1_000_000)
    call_command("migrate", verbosity=0)
    seed_captions(max(BATCH, round(options.captions / LANGUAGES / 2)))
    project = Project.objects.select_related("created_by").get(slug=NAME)
    Membership.objects.get_or_create(project=project, user=project.created_by, role=Role.MANAGER)
    ask = _asker(project)
    captions = Caption.objects.filter(round__project=project).order_by("round_id", "image_id", "pk")
    result: dict[str, Any] = {"database": connection.vendor, "captions": captions.count(), "limit": LIMIT}
    by_offset = captions.select_related("round", "guidelines")
    for place, share in PLACES.items():
        offset = max(0, int((result["captions"] - 2 * LIMIT) * share))
        cursor = _cursor(captions.values_list("round_id", "image_id", "pk")[offset - 1]) if offset else ""
        address = reverse("api:caption-list", args=[NAME])
        rows, counted = ask(address, cursor), _by_offset(project, by_offset, offset)
        assert rows() == counted(), place
        result[place] = _medians({"cursor_ms": rows, "offset_ms": counted})
    result["images"] = {}
    entries = CollectionImage.objects.filter(collection=project.rounds.first().collection_id)  # type: ignore[union-attr]
    total = entries.count()
    for place, share in PLACES.items():
        offset = max(0, int((total - 2 * LIMIT) * share))
        row = entries.order_by("position").values_list("collection", "position", "pk")[offset - 1] if offset else None
        images = ask(reverse("api:image-list", args=[NAME]), _cursor(row) if row else "")
        result["images"][place] = _medians({"cursor_ms": images})["cursor_ms"]
    tell(result)


def _asker(project: Project) -> Callable[[str, str], Callable[[], Any]]:
    now = timezone.now()
    about = {"user": project.created_by, "name": NAME, "may_write": False, "expires_at": now + tokens.LONGEST}
    headers = {"Authorization": f"Bearer {tokens.make_token(**about, now=now).token}"}  # type: ignore[arg-type]
    client = Client()

    def ask(address: str, cursor: str) -> Callable[[], Any]:
        query = {"limit": LIMIT} | ({"cursor": cursor} if cursor else {})

        def answer() -> Any:
            with override_settings(ALLOWED_HOSTS=["testserver"], SECURE_SSL_REDIRECT=False):
                response = client.get(address, query, headers=headers)
            assert response.status_code == 200, response.content
            return response.json()["results"]

        return answer

    return ask


def _by_offset(project: Project, captions: Any, offset: int) -> Callable[[], Any]:
    def answer() -> Any:
        rows = list(captions[offset : offset + LIMIT])
        shown = shapes.CaptionSerializer(rows, many=True, context=shapes.context_of(project, rows)).data
        return json.loads(json.dumps(shown))

    return answer


def _cursor(values: Sequence[int]) -> str:
    return base64.urlsafe_b64encode(json.dumps(list(values)).encode()).decode()


def _medians(ways: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Milliseconds."""
    times = in_turns(ways, TIMES)
    return {way: round(1000 * statistics.median(one.wall_s for one in taken), 1) for way, taken in times.items()}


if __name__ == "__main__":
    main()
