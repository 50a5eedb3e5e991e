"""What one project has for itself: the people of another neither reach it nor learn its name, anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client
from django.urls import reverse

from core.images.models import Collection, ImportJob
from core.people.models import User
from research.inference.models import CaptioningModel, Encoder, Run
from tests.doors.asking import ours, signed_in
from tests.doors.owned import Owning, body_of
from tests.leaks.addresses import Route, Unfillable, routes_of
from tests.tiers import some

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

THEIRS = "giraffe"
THINGS = ("images:", "inference:", "dashboard:collection-")
"""Apps whose addresses name no project: each row knows whose it is."""
CHANGING = {
    *("images:collection-owner", "inference:model-owner", "inference:run-owner"),
    *("inference:model-edit", "inference:model-retire", "inference:model-delete", "inference:model-merge"),
    "inference:caption-switch",
    *("images:images-edit", "images:collection-image-edit"),
    *("dashboard:collection-settings", "dashboard:collection-duplicate", "dashboard:collection-delete"),
}
STEERING = {f"inference:run-{name}" for name in ("pause", "resume", "cancel", "retry")}
STEERING |= {f"inference:training-{name}" for name in ("pause", "resume", "cancel")}
OF_ITS_PROJECT = {f"inference:training-{name}" for name in ("show", "progress", "card")}
"""Trainings are not shared: their samples are of images that may not be."""
ROLES = some(["manager", "researcher"], short=1, reason="what belongs to a project is kept from both by one rule")


@contextmanager
def undone() -> Iterator[None]:
    point = transaction.savepoint()
    cache.clear()
    try:
        yield
    finally:
        transaction.savepoint_rollback(point)


def addresses_of(owning: Owning, *, with_arguments: bool | None = None) -> Iterator[tuple[Route, str]]:
    """Of every route that what the project has fills."""
    for route in ours():
        if with_arguments is not None and bool(route.arguments) != with_arguments:
            continue
        try:
            yield from ((route, address) for address in route.addresses(owning.known))
        except Unfillable:
            continue


def things_of(owning: Owning) -> list[tuple[Route, str]]:
    things = {route.name for route in routes_of(*THINGS) if route.arguments}
    everywhere = addresses_of(owning, with_arguments=True)
    addresses = [(route, one) for route, one in everywhere if route.name in things]
    # Images go by addresses that are signed for each viewer: tests/images/test_pages.py.
    assert things - {route.name for route, _address in addresses} == {"images:image-show"}
    return addresses


def answers(client: Client, address: str) -> Iterator[tuple[str, int, str]]:
    for method in ("get", "post"):
        with undone():
            response = getattr(client, method)(address)
            yield method, response.status_code, body_of(response)


@pytest.mark.parametrize("role", ROLES)
def test_people_of_another_project_find_none_of_it(us: Owning, them: Owning, role: str) -> None:
    client, leaks = signed_in(getattr(us, role)), []
    for route, address in things_of(them):
        for method, status, text in answers(client, address):
            if status not in (404, 405) or THEIRS in text.replace(address, "").lower():
                leaks.append(f"{route.name}: {method} {address}: {status}")
    assert not leaks, "\n".join(leaks)


def test_its_own_people_find_all_of_it(us: Owning) -> None:
    """The control: nobody finds what is not there, or is asked for in the wrong way."""
    clients = [signed_in(us.manager), signed_in(us.researcher)]
    closed = [
        route.name
        for route, address in things_of(us)
        if all(status in (404, 405) for client in clients for _method, status, _text in answers(client, address))
    ]
    # There is no other model of that name.
    assert set(closed) == {"inference:model-merge"}


@pytest.mark.parametrize("role", ROLES)
def test_no_page_of_theirs_names_any_of_it(us: Owning, them: Owning, role: str) -> None:
    """Lists, choices of forms, and what pages put together themselves."""
    client, named, seen = signed_in(getattr(us, role)), [], 0
    for route, address in addresses_of(us):
        with undone():
            response = client.get(address)
            seen += response.status_code == 200
            if THEIRS in body_of(response).lower():
                named.append(f"{route.name}: {address}")
    assert not named, "\n".join(named)
    assert seen > 40


def asked_for_by_name(owning: Owning, asker: Owning) -> list[tuple[str, dict[str, Any]]]:
    """Pages that are told in their address what to begin with."""
    collection, model, other = owning.collection.slug, owning.model.pk, owning.other.pk
    project = asker.project.slug
    return [
        (reverse("inference:run-create"), {"model": model, "collection": collection}),
        (reverse("inference:run-create"), {"model": asker.model.pk, "collection": collection}),
        (reverse("inference:run-list"), {"model": model}),
        (reverse("inference:gallery"), {"collection": collection, "model": model, "language": "en"}),
        (reverse("inference:gallery"), {"collection": asker.collection.slug, "model": model, "language": "en"}),
        (reverse("inference:embedding-create"), {"encoder": owning.encoder.pk, "collection": collection}),
        (reverse("imports:import-create", args=[project]), {"collection": collection}),
        (reverse("inference:model-list"), {"q": owning.word[:4]}),
        (reverse("inference:model-try", args=[asker.model.pk]), {"collection": collection, "key": f"{owning.word}-1"}),
        (reverse("inference:model-stabilisers", args=[asker.model.pk]), {"collection": collection}),
        (reverse("annotation:project-create"), {"collection": collection}),
        (reverse("annotation:language-add", args=[project]), {"collection": collection}),
        (reverse("sxs_eval:comparison-create", args=[project]), {"collection": collection}),
        (reverse("sxs_eval:comparison-create", args=[project]),
         {"collection": asker.collection.slug, "base": model, "test": other}),
    ]  # fmt: skip


def test_nothing_is_told_to_who_names_it_in_an_address(us: Owning, them: Owning) -> None:
    client, told = signed_in(us.manager), []
    for address, query in asked_for_by_name(them, us):
        response = client.get(address, query)
        assert response.status_code < 500
        text = body_of(response)
        # What was asked comes back in the form, and is no news.
        for value in sorted({str(value) for value in query.values()}, key=len, reverse=True):
            text = text.replace(value, "") if not value.isdigit() else text
        if THEIRS in text.lower().replace(THEIRS[:4] + '"', ""):
            told.append(f"{address} {query}")
    assert not told, "\n".join(told)


def forms_with(them: Owning, us: Owning) -> list[tuple[str, dict[str, Any], str]]:
    """What is sent, and the field that refuses it."""
    file = SimpleUploadedFile("x.jsonl", b'{"image": "giraffe-1", "caption": "x"}\n')
    mine, theirs = us.collection.slug, them.collection.slug
    plan = {"scores": "language,model,cider\nen,zebra captioner,1\nen,zebra rival,2\n", "seed": 1, "replication": 1}
    return [
        (reverse("inference:embedding-create"),
         {"encoder": them.encoder.pk, "collection": mine, "precision": "float16"}, "encoder"),
        (reverse("inference:embedding-create"),
         {"encoder": us.encoder.pk, "collection": theirs, "precision": "float16"}, "collection"),
        (reverse("inference:embedding-create"),
         {"encoder": us.encoder.pk, "collection": mine, "captions_of": them.model.pk, "language": "en"}, "captions_of"),
        (reverse("inference:model-create") + "?kind=translated",
         {"name": "x", "english_model": them.model.pk, "translator": us.translated.translator_id}, "english_model"),
        (reverse("inference:model-create") + "?kind=translated",
         {"name": "x", "english_model": us.model.pk, "translator": them.translated.translator_id}, "translator"),
        (reverse("imports:import-create", args=[us.project.slug]), {"collection": theirs, "images": file},
         "collection"),
        (reverse("sxs_eval:plan-show", args=[us.project.slug]), plan | {"collection": theirs}, "collection"),
        (reverse("inference:model-try", args=[us.model.pk]),
         {"collection": theirs, "key": "giraffe-1", "languages": ["en"]}, "collection"),
        (reverse("inference:model-try", args=[us.model.pk]), {"key": "giraffe-1", "languages": ["en"]}, "key"),
        (reverse("images:collection-create"), {"name": "x", "project": them.project.pk}, "project"),
        (reverse("inference:model-create") + "?kind=palette", {"name": "x", "project": them.project.pk}, "project"),
        (reverse("inference:encoder-create"), {"name": "x", "backend": "mobilenet", "project": them.project.pk},
         "project"),
    ]  # fmt: skip


@pytest.mark.parametrize("number", range(12))
def test_what_is_sent_with_anything_of_theirs_is_refused(us: Owning, them: Owning, number: int) -> None:
    address, sent, field = forms_with(them, us)[number]
    before = [kind.objects.count() for kind in (Collection, CaptioningModel, Encoder, Run, ImportJob)]
    response = signed_in(us.manager).post(address, sent)
    assert response.status_code == 422
    assert field in response.context["form"].errors
    # What was asked comes back, and is no news.
    assert THEIRS not in str(response.context["form"].errors).replace(them.collection.slug, "")
    assert [kind.objects.count() for kind in (Collection, CaptioningModel, Encoder, Run, ImportJob)] == before


def make_staff(user: User) -> User:
    user.is_staff = user.is_superuser = True
    user.save()
    return user


def test_staff_reach_everything(us: Owning, them: Owning) -> None:
    client = signed_in(make_staff(us.manager))
    closed = {
        route.name
        for route, address in things_of(them)
        if all(status in (404, 405) for _method, status, _text in answers(client, address))
    }
    assert closed == {"inference:model-merge"}


@pytest.mark.parametrize("role", ROLES)
def test_what_is_shared_is_used_by_all_and_changed_by_its_own_alone(us: Owning, them: Owning, role: str) -> None:
    them.share()
    client, own = signed_in(getattr(us, role)), signed_in(getattr(them, role))
    for route, address in things_of(them):
        mine = {method: status for method, status, _text in answers(own, address)}
        for method, status, text in answers(client, address):
            if route.name in CHANGING | STEERING | OF_ITS_PROJECT or route.name.startswith("images:import-"):
                # Reports are of those who sent the files.
                assert status in (404, 405) or route.name == "images:import-list", f"{route.name}: {method} {status}"
            else:
                assert status == mine[method], f"{route.name}: {method} {status}, not {mine[method]}"
            # Whose it is, is told to its own people.
            assert them.project.name not in text, route.name


def test_what_is_shared_can_be_chosen_everywhere(us: Owning, them: Owning) -> None:
    client = signed_in(us.manager)
    them.share()
    pages = (
        reverse("inference:run-create"),
        reverse("inference:gallery"),
        reverse("inference:embedding-create"),
        reverse("annotation:project-create"),
        reverse("annotation:language-add", args=[us.project.slug]),
        reverse("sxs_eval:comparison-create", args=[us.project.slug]),
        reverse("sxs_eval:plan-show", args=[us.project.slug]),
        reverse("imports:import-create", args=[us.project.slug]),
    )
    assert [address for address in pages if them.collection.name not in client.get(address).text] == []
