"""Bodies and addresses that no program sends by mistake: each is refused as all else is, and none breaks anything."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from core.people.models import User
from tests.api.seeded import Program, Seeded, make_seeded
from tests.tiers import some

DEEP, LONG = 50_000, "x" * 5_000
BODIES = [
    b"[" * DEEP,
    b'{"a":' * DEEP,
    b"[" * DEEP + b"]" * DEEP,
    b'{"text": ' + b"[" * 900 + b"]" * 900 + b', "revision": 0}',
    b"",
    b"\x00",
    b"\xff\xfe{\x00}\x00",
    b"\xc0\xaf",
    b"null",
    b"1",
    b'"text"',
    b"[]",
    b"NaN",
    b'{"rating": "GOOD", "active_ms": 1e400}',
    b'{"rating": "GOOD", "active_ms": 1' + b"0" * 5_000 + b"}",
    b'{"rating": ["GOOD"], "active_ms": {"a": 1}}',
    b'{"rating": "GO\\u0000OD"}',
    b'{"text": "\\ud800", "revision": 0}',
    b'{"text": "a\\u0000b", "revision": 0}',
    b'{"text": "' + b"x" * 200_000 + b'", "revision": 0}',
    b'{"text": "a", "revision": 1e308}',
    b'{"text": "a", "revision": -9223372036854775809}',
    b'{"text": "a", "revision": true}',
    b'{"title": "\\ud800", "licence": "\\u0000", "authors": [], "salt": {}, "until": "9999-99-99"}',
    b'{"title": "a", "licence": "CC-BY-4.0", "authors": "a", "until": "0001-01-01T00:00:00+23:59"}',
    b'{"title": "a", "licence": "CC-BY-4.0", "authors": "a", "until": 1e400, "note": 1}',
    b'{"\\ud800": "\\udfff"}',
]
PLACES = [
    "projects/\n/",
    "projects/a%0Ab/",
    "nowhere/%0A/",
    "nowhere/%0D%0ASet-Cookie:%20a=b/",
    "projects/%00/",
    "projects/%C0%AF/",
    "projects/%ED%A0%80/",
    "projects/%FF/",
    "projects/%E2%80%A8/",
    "projects/%25/",
    "projects/lions/releases/1/files/%00/",
    "projects/lions/releases/1/files/a%0Ab/",
    "projects/lions/releases/1/files/" + "x" * 300 + "/",
    "projects/lions/releases/1/files/%2e%2e%2f%2e%2e%2fetc%2fpasswd/",
    "projects/lions/releases/99999999999999999999/",
    "projects/lions/rounds/" + "9" * 5_000 + "/",
    "work/batches/%00/",
    "x" * 10_000 + "/",
]


@pytest.fixture
def seeded(made_once) -> Seeded:
    return made_once(make_seeded)


def told(answer: Any) -> int:
    """The status of an answer in the shape of the API."""
    status: int = answer.status_code
    kind = answer["Content-Type"]
    if status >= 400:
        assert kind == "application/problem+json", (status, kind, answer.content[:200])
        assert json.loads(answer.content)["status"] == status
    assert status < 500, answer.content[:300]
    return status


def ask(program: Program, method: str, path: str, body: bytes = b"", kind: str = "application/json") -> Any:
    client = Client(raise_request_exception=False)
    return client.generic(method, path, body, content_type=kind, headers=program.headers)


@pytest.mark.django_db
@pytest.mark.parametrize("each", some([6, 1], short=1, reason="every body to every operation"))
def test_no_body_is_too_odd_to_be_refused_in_the_shape_of_all_refusals(seeded, each):
    writing, rating = seeded.writing.pk, seeded.rating.pk
    asked: list[tuple[User, str, str, tuple[object, ...]]] = [
        (seeded.ann, "PUT", "draft-save", (writing, 1)),
        (seeded.ann, "PUT", "rating-save", (rating, 1)),
        (seeded.rae, "PUT", "verdict-save", (seeded.to_rate.pk, 1)),
        (seeded.manager, "POST", "release-list", (seeded.project.slug,)),
        (seeded.ann, "POST", "batch-return", (rating,)),
        (seeded.ann, "POST", "batch-submit", (writing,)),
    ]
    for number, body in enumerate(BODIES):
        as_before = transaction.savepoint()
        for user, method, name, args in asked[number % each :: each]:
            told(ask(Program(user), method, reverse(f"api:{name}", args=args), body))
        transaction.savepoint_rollback(as_before)


@pytest.mark.django_db
def test_a_body_nested_too_deeply_is_malformed(seeded):
    address = reverse("api:draft-save", args=(seeded.writing.pk, 1))
    answer = ask(Program(seeded.ann), "PUT", address, b"[" * DEEP)
    assert (told(answer), answer.json()["code"]) == (400, "malformed")
    assert "nested" in answer.json()["detail"]


@pytest.mark.django_db
@pytest.mark.parametrize("body", [rb'{"rating": "\ud800"}', rb'{"rating": ["\udfff"], "\uD83D": 1}', rb'"\ud800"'])
def test_half_of_a_character_is_malformed(seeded, body):
    address = reverse("api:rating-save", args=(seeded.rating.pk, 1))
    answer = ask(Program(seeded.ann), "PUT", address, body)
    assert (told(answer), answer.json()["code"]) == (400, "malformed")
    assert "half of a surrogate pair" in answer.json()["detail"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"rating": ' + b"9" * 6000 + b"}", "too many digits"),
        (b'{"rating": NaN}', "NaN"),
        (b'{"rating": -Infinity}', "infinite"),
        (b'{"rating": "caf\xe9"}', "not valid UTF-8"),
        ('{"rating": "1"}'.encode("utf-16"), "not valid UTF-8"),
        (b'{"rating": ', "JSON parse error"),
    ],
)
def test_what_is_no_json_is_told_in_words_of_json(seeded, body, why):
    address = reverse("api:rating-save", args=(seeded.rating.pk, 1))
    answer = ask(Program(seeded.ann), "PUT", address, body)
    assert (told(answer), answer.json()["code"]) == (400, "malformed")
    assert why in answer.json()["detail"]
    assert not any(word in answer.json()["detail"] for word in ("codec", "sys.", "float values"))


@pytest.mark.django_db
@pytest.mark.parametrize(
    "method", some(["GET", "PUT", "OPTIONS", "POST", "DELETE"], short=1, reason="more methods of the same addresses")
)
def test_no_address_is_too_odd_to_be_answered_in_the_shape_of_all_refusals(seeded, method):
    program = Program(seeded.manager)
    for place in PLACES:
        status = told(ask(program, method, f"/api/v1/{place}", b"{}"))
        assert status in {"GET": [404], "OPTIONS": [200, 404]}.get(method, [404, 405]), place


@pytest.mark.parametrize("place", ["/api/", "/api/v2/projects/", "/api/v1/no\nwhere", "/api/v1\n/"])
def test_outside_of_the_version_there_is_is_nothing_and_said_so(db, place):
    assert told(Client().get(place, follow=True)) == 404


@pytest.mark.django_db
def test_no_content_type_breaks_the_answer(seeded):
    address, program = reverse("api:draft-save", args=(seeded.writing.pk, 1)), Program(seeded.ann)
    for kind in ("", "text/html", "application/json; charset=no-such", "multipart/form-data; boundary=\n", "a/b/c"):
        told(ask(program, "PUT", address, b'{"text": "a", "revision": 0}', kind))


@pytest.mark.django_db
def test_no_query_breaks_a_list(seeded):
    queries = ("cursor=%00", "cursor=%FF", "limit=%D9%A1", "limit=1e400", "limit=-1", "round=%00", "language=%00", LONG)
    program = Program(seeded.manager)
    for query, name in product(queries, ("caption-list", "image-list")):
        told(ask(program, "GET", f"{reverse(f'api:{name}', args=['lions'])}?{query}"))


@pytest.mark.django_db
def test_a_fault_of_the_program_is_told_in_the_same_shape(seeded, monkeypatch):
    monkeypatch.setattr("core.people.api.views.MeSerializer", lambda *arguments: 1 / 0)
    answer = ask(Program(seeded.ann), "GET", reverse("api:me"))
    assert (answer.status_code, answer["Content-Type"]) == (500, "application/problem+json")
    assert answer.json()["code"] == "fault"
