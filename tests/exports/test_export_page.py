"""The page Export, whose address with choices is the file."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from core.people.models import AuditEntry, Membership, Role
from tests.annotation.released import Campaign
from tests.api.seeded import Program
from tests.api.test_work import address
from tests.clients import client_of
from tests.factories import make_user

pytestmark = pytest.mark.django_db
PAGE = reverse("exports:export-show", args=["harbours"])


@pytest.fixture
def campaign(made_once) -> Campaign:
    return made_once(Campaign)


@pytest.fixture
def client(campaign) -> Client:
    return client_of(campaign.manager)


def rows_of(response: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in response.getvalue().decode().splitlines()]


def test_the_page_offers_what_there_is_and_gives_the_chosen_part(client, campaign):
    page = client.get(PAGE, {"what": "ratings"}).content.decode()
    assert '<option value="ratings" selected>' in page
    assert "German" in page
    response = client.get(PAGE, {"what": "captions", "format": "jsonl", "language": ["fr", "ar"]})
    assert {row["language"] for row in rows_of(response)} == {"ar", "fr"}
    assert response["Content-Disposition"].startswith('attachment; filename="harbours-captions-')
    entry = AuditEntry.objects.get(action="data.exported")
    assert (entry.by, entry.about) == (campaign.manager, "captions, jsonl")


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"what": "captions", "format": "coco"}, "one language. Choose one: ar, de, fr"),
        ({"what": "scores", "format": "coco"}, "coco is for captions"),
        ({"what": "turns", "format": "csv"}, "Choose a season"),
        ({"what": "judgements", "format": "jsonl"}, "There is nothing to export"),
        ({"what": "captions", "format": "csv", "images": "subset:none"}, "no subset"),
        ({"what": "captions", "format": "tex"}, "tex is not one of the available choices"),
    ],
)
def test_a_wrong_choice_is_said_on_the_page_and_not_recorded(client, chosen, said):
    response = client.get(PAGE, chosen)
    assert response.status_code == 422
    assert said in response.content.decode()
    assert not AuditEntry.objects.filter(action="data.exported").exists()


@pytest.mark.parametrize("is_page", [True, False])
def test_models_english_captions_are_exported_alone(campaign, is_page):
    chosen = {"what": "model-captions", "format": "jsonl", "language": "en"}
    where = PAGE if is_page else address("export-show", "harbours")
    response = (
        client_of(campaign.manager).get(where, chosen) if is_page else Program(campaign.manager).get(where, **chosen)
    )
    assert response.status_code == 200
    assert {(row["language"], row["model"]) for row in rows_of(response)} == {("en", campaign.model.name)}


def test_people_wrote_none_in_a_language_of_models_alone(client):
    response = client.get(PAGE, {"what": "captions", "format": "jsonl", "language": "en"})
    assert response.status_code == 422
    assert "There is nothing to export" in response.content.decode()


def test_hours_and_cost_are_for_managers(client, campaign):
    chosen = {"what": "time", "format": "csv"}
    assert client.get(PAGE, chosen).status_code == 200
    researcher = make_user("rose")
    Membership.objects.create(project=campaign.project, user=researcher, role=Role.RESEARCHER)
    assert client_of(researcher).get(PAGE, chosen).status_code == 422
