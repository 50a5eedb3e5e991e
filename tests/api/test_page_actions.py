"""What people do on pages, programs can do too: page_actions.txt names the operation of each action, or why none.

Whoever adds an action to a page is told here that the table lacks it; whoever adds a field, that the operation does.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.forms import BaseForm
from django.test import Client
from django.urls import resolve, reverse

from tests.api.test_schema import schema
from tests.clients import client_of
from tests.doors.asking import ask, ours, signed_in
from tests.doors.conftest import world as world
from tests.doors.world import World
from tests.factories import make_captioner, make_user
from tests.leaks.addresses import GUESSED, Route

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

TABLE = Path(__file__).with_name("page_actions.txt")
OTHERWISE = Path(__file__).with_name("page_fields.txt")
ANY = {
    **GUESSED,
    **dict.fromkeys(("slug", "layout", "size", "person_id", "rater_id"), ("1",)),
    **dict.fromkeys(("public_id", "batch_id", "turn_id"), ("00000000-0000-0000-0000-000000000000",)),
    "dashboard:guide-show name": ["api"],
}
MAIN = "main-images"
LEAST_CHARACTERS = 15
"""Of a reason."""


def table(text: str) -> dict[str, tuple[set[str], str]]:
    """Operations, or a reason, by the name of the page."""
    found: dict[str, tuple[set[str], str]] = {}
    app, reason = "", ""
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if not line.startswith(" "):
            app, _colon, reason = line.partition(":")
            continue
        name, *operations = line.split()
        assert f"{app}:{name}" not in found, f"page_actions.txt names {name} of {app} twice"
        found[f"{app}:{name}"] = (set(operations), reason.strip())
    return found


def pages() -> list[Route]:
    """List the pages of our apps; those of accounts are allauth's."""
    return [route for route in ours() if ":" in route.name and not route.template.startswith("api/")]


def page_actions() -> set[str]:
    """List the pages that take POST."""
    outsider = client_of(make_user())
    return {route.name for route in pages() if outsider.post(route.addresses(ANY)[0]).status_code != 405}


def test_every_action_of_a_page_has_an_operation_or_a_reason() -> None:
    named = table(TABLE.read_text(encoding="utf-8"))
    assert set(named) == page_actions(), "page_actions.txt lacks an action, or names one that is gone"
    for name, (operations, reason) in named.items():
        assert operations or len(reason) >= LEAST_CHARACTERS, name
        assert not (operations and reason), name


def test_every_operation_that_is_named_is_there() -> None:
    there = {one["operationId"] for methods in schema().values() for one in methods.values()}
    named = table(TABLE.read_text(encoding="utf-8"))
    assert {name: gone for name, (operations, _reason) in named.items() if (gone := operations - there)} == {}
    assert len(named) > 100


@contextmanager
def forms_made() -> Iterator[list[BaseForm]]:
    found: list[BaseForm] = []
    make = BaseForm.__init__

    def note(form: BaseForm, *about: Any, **more: Any) -> None:
        found.append(form)
        make(form, *about, **more)

    with patch.object(BaseForm, "__init__", note):
        yield found


def go_on(client: Client, address: str, forms: list[BaseForm]) -> None:
    """Take what each form offers, until that brings no field that was not there: some pages ask step by step."""
    known: dict[str, Any] = {}
    while fields := {name: field for form in forms for name, field in form.fields.items() if name not in known}:
        for place, (name, field) in enumerate(fields.items()):
            offered = [value for one, _label in getattr(field, "choices", ()) if (value := str(one))]
            # A model is not compared with itself: each field takes another one, and the collection that has captions.
            known[name] = MAIN if MAIN in offered else offered[place % len(offered)] if offered else field.initial or ""
        client.get(address, known)


def have_models_to_choose(world: World) -> None:
    """Give the project's collection two models, which may be compared, and may be run."""
    collection = world.seeded.main.collection
    type(collection).objects.filter(pk=collection.pk).update(slug=MAIN)
    for name in ("one", "other"):
        make_captioner(collection, name, project=world.seeded.project, is_shared=False, backend="fake")


def fields_of_pages(world: World) -> dict[str, set[str]]:
    """The fields of each page that takes POST: of its forms, for whoever of the project has them, and read by its view.

    Hidden fields say what a browser has seen, which an operation says otherwise.
    """
    found: dict[str, set[str]] = {}
    actions = page_actions()
    clients = [signed_in(world.seeded.manager), *map(signed_in, world.insiders)]
    for route in (one for one in ours() if one.name in actions):
        (address, *_more) = route.addresses(world.known)
        with forms_made() as forms:
            for client in clients:
                if not forms:
                    list(ask(client, address))
                    go_on(client, address, forms)
        shown = {
            LANGUAGE.sub("-TAG", name)
            for form in forms
            for name, field in form.fields.items()
            if not field.widget.is_hidden
        }
        found[route.name] = shown | set(READ.findall(inspect.getsource(inspect.unwrap(resolve(address).func))))
    return found


LANGUAGE = re.compile(r"-[a-z]{2,3}$")
READ = re.compile(r'POST(?:\.get|\.getlist)?[\[(]"(\w+)"')


def fields_of_operations() -> dict[str, set[str]]:
    """What each operation takes: parameters, and fields of its body."""
    document = json.loads(Client().get(reverse("api:schema"), headers={"Accept": "application/json"}).content)
    found: dict[str, set[str]] = {}
    for methods in document["paths"].values():
        for one in methods.values():
            names = {parameter["name"] for parameter in one.get("parameters", ())}
            for body in one.get("requestBody", {}).get("content", {}).values():
                shape = body["schema"].get("$ref", "").rpartition("/")[2]
                names |= set(document["components"]["schemas"].get(shape, body["schema"]).get("properties", ()))
            found[one["operationId"]] = names
    return found


def had_otherwise(path: Path = OTHERWISE) -> dict[str, set[str]]:
    """Fields by page, each with how the operations have them."""
    found: dict[str, set[str]] = {}
    how = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            page, *fields = line.split()
            assert len(how) >= LEAST_CHARACTERS, line
            found.setdefault(page, set()).update(fields)
        else:
            how = line.removeprefix("#")
    return found


@pytest.mark.long(reason="it asks for every page, which takes as long as all else in this folder")
def test_every_field_of_a_page_is_one_of_its_operations(world: World) -> None:
    have_models_to_choose(world)
    named, taken = table(TABLE.read_text(encoding="utf-8")), fields_of_operations()
    lacking = {
        page: fields - set().union(*(taken[one] for one in named[page][0]))
        for page, fields in fields_of_pages(world).items()
        if named[page][0]
    }
    assert {page: fields for page, fields in lacking.items() if fields} == had_otherwise(), (
        "an operation of page_actions.txt lacks a field, or page_fields.txt names one that it has"
    )
