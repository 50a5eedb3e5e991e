"""Search finds what its asker may see, and nothing else."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from core.images.models import Image
from core.people.models import Project, Role, User
from office.dashboard.selectors.search import PER_GROUP, search
from office.dashboard.services.project_deletion import ask_for_deletion
from office.dashboard.services.projects import archive_project
from research.inference.models import CaptioningModel
from tests.clients import client_of
from tests.factories import (
    NOW,
    join_project,
    make_annotator,
    make_captioner,
    make_collection,
    make_project,
    make_round,
    make_user,
)
from tests.kept import kept
from tests.queries import queries_of

pytestmark = pytest.mark.django_db


def found(user: User, words: str, here: str = "") -> dict[str, list[str]]:
    return {group["label"]: [hit.label for hit in group["hits"]] for group in search(user, words, here=here)}


def links(user: User, words: str, here: str = "") -> list[str]:
    return [hit.url for group in search(user, words, here=here) for hit in group["hits"]]


@kept
def project() -> Project:
    """Herons: German, an annotator called henry-heron, a collection and a model of its own, a titled image."""
    project = make_project("herons")
    collection = make_collection(3, project=project, is_shared=False)
    collection.name = "Heron photographs"
    collection.save()
    entry = collection.entries.order_by("position").first()
    entry.key = "heron-00001"
    entry.save()
    Image.objects.filter(pk=entry.image_id).update(title="Grey heron at dawn")
    captioner = make_captioner(collection, "Heron captioner", project=project, is_shared=False)
    round = make_round(project=project, collection=collection, captioners=[captioner])
    make_annotator(round, "henry-heron")
    return project


def test_it_finds_each_kind_by_name(project):
    assert found(project.created_by, "heron") == {
        "Projects": ["Herons"],
        "People": ["henry-heron", "manager-of-herons"],
        "Collections": ["Heron photographs"],
        "Images": ["Grey heron at dawn (heron-00001)"],
        "Models": ["Heron captioner"],
    }
    assert found(project.created_by, "german") == {"Languages": ["German"]}
    assert found(project.created_by, "deutsch") == {"Languages": ["German"]}
    assert found(project.created_by, "DAWN grey")["Images"] == ["Grey heron at dawn (heron-00001)"]
    assert found(project.created_by, "zebra") == found(project.created_by, "  ") == {}


def test_every_link_opens(project):
    client = client_of(project.created_by)
    addresses = [*links(project.created_by, "heron"), *links(project.created_by, "german")]
    addresses += links(project.created_by, "e", here="herons")
    assert len(addresses) > 10
    for address in addresses:
        assert client.get(address).status_code == 200, address


def test_pages_are_those_of_the_project_where_one_is(project):
    assert found(project.created_by, "invite", here="herons") == {"Pages of this project": ["Invite people"]}
    assert "Guidelines" in found(project.created_by, "guide", here="herons")["Pages of this project"]
    assert found(project.created_by, "guide") == {}
    assert found(make_project().created_by, "guide", here="herons") == {}
    researcher = join_project(project, make_user(), Role.RESEARCHER)
    pages = found(researcher, "e", here="herons")["Pages of this project"]
    assert "Members" not in pages
    assert "Guidelines" in pages


def test_another_manager_finds_nothing_of_it(project):
    assert found(make_project().created_by, "heron") == {}
    assert found(make_project().created_by, "german") == {}


def test_researchers_find_everything_but_people(project):
    researcher, manager = join_project(project, make_user(), Role.RESEARCHER), project.created_by
    for words in ("heron", "german"):
        expected = {kind: hits for kind, hits in found(manager, words).items() if kind != "People"}
        assert found(researcher, words) == expected != {}


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.RATER, Role.PLAYER])
def test_people_who_work_have_no_search(project, role):
    client = client_of(join_project(project, make_user(), role))
    assert "palette.js" not in client.get(reverse("people:profile-show")).content.decode()


def test_a_few_of_each_kind_in_a_fixed_number_of_queries(project):
    manager = project.created_by
    few = queries_of(lambda: search(manager, "heron", here="herons"))
    for number in range(PER_GROUP + 3):
        CaptioningModel.objects.create(name=f"Heron {number}", is_shared=True)
        join_project(project, make_user(f"heron-{number}"))
    with CaptureQueriesContext(connection) as many:
        groups = search(manager, "heron", here="herons")
    assert len(many) == len(few)
    assert all(len(group["hits"]) <= PER_GROUP for group in groups)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_page_works_without_a_script(project):
    client, page = client_of(project.created_by), reverse("dashboard:search-show")
    assert 'href="/projects/herons/"' in client.get(page, {"q": "herons"}).content.decode()
    assert "Nothing has “&lt;zebra&gt;” in its name." in client.get(page, {"q": "<zebra>"}).content.decode()
    part = client.get(page, {"q": "herons"}, headers={"HX-Request": "true"}).content.decode()
    assert "Herons" in part
    assert "<html" not in part


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("words", ["\0", "%", "_", "'; drop", "x" * 5000, "\ud7ff"])
def test_odd_questions_find_nothing_and_fail_nothing(project, words):
    answer = client_of(project.created_by).get(reverse("dashboard:search-show"), {"q": words, "project": words})
    assert answer.status_code == 200


def test_a_deleted_project_is_not_found(project):
    about = {"project": project, "by": project.created_by, "now": NOW}
    archive_project(**about)
    assert "Herons" in found(project.created_by, "herons")["Projects"]
    ask_for_deletion(**about)
    assert "Projects" not in found(project.created_by, "herons")
