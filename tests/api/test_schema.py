"""The OpenAPI document is whole and valid, its page needs no other host, and every refusal has its meaning there."""

from __future__ import annotations

from functools import cache
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from core.people.api.problems import ALL_CODES
from tests.api.test_work import code
from tests.clients import client_of
from tests.factories import make_user
from tests.leaks.addresses import routes

UNTOLD = {"api:schema", "api:docs", "api:nothing"}
"""Addresses that are no operations."""


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_schema_is_valid_and_made_without_a_warning():
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=StringIO())


@cache
def schema() -> dict[str, dict[str, dict[str, Any]]]:
    answer = Client().get(reverse("api:schema"), headers={"Accept": "application/json"})
    paths: dict[str, dict[str, dict[str, Any]]] = answer.json()["paths"]
    return paths


@pytest.mark.django_db
def test_every_address_is_in_the_schema():
    there = {route.name for route in routes() if route.name.startswith("api:")} - UNTOLD
    assert len(there) == len(schema()) >= 30


@pytest.mark.django_db
def test_every_operation_says_what_it_does_and_how_it_refuses():
    for path, operations in schema().items():
        for method, operation in operations.items():
            assert operation["summary"], (method, path)
            assert {"401", "403", "404"} <= set(operation["responses"]), (method, path)
            assert operation["security"] == [{"token": []}, {"cookieAuth": []}], (method, path)


@pytest.mark.django_db
def test_the_page_shows_the_schema_and_explains_every_refusal():
    client = client_of(make_user())
    page = client.get(reverse("api:docs")).content.decode()
    assert f'data-schema="{reverse("api:schema")}"' in page
    assert all(f'id="{name}"' in page for name in ALL_CODES)


@pytest.mark.django_db
def test_the_page_needs_no_other_host_and_no_inline_script():
    client = client_of(make_user())
    page = client.get(reverse("api:docs")).content.decode()
    assert page.count("<script") == page.count('src="/static/') - page.count('<img src="/static/') == 3
    assert "https://" not in page
    assert "cdn" not in page


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["nowhere/", "projects/a b/", "work/batches/x/"])
def test_where_nothing_is_a_problem_says_so(path):
    for method in ("get", "post", "put", "delete"):
        assert code(getattr(Client(), method)(f"/api/v1/{path}")) == (404, "not-found")
