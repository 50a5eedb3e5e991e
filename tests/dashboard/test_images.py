"""The table of all images of a project: who described which, in which languages, and what there is of each."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from django.urls import reverse

from annotation.services.campaign import LanguageBeginning
from core.images.models import Image
from core.people.models import Project, Role
from core.people.rules.pseudonyms import pseudonym
from office.dashboard.pages.images import initials_of
from tests.annotation.submitting import begin_language, submit_captions
from tests.api.seeded import Program
from tests.clients import client_of
from tests.factories import (
    NOW,
    join_project,
    make_annotator,
    make_captioner,
    make_collection,
    make_comparison,
    make_project,
    make_user,
)
from tests.kept import kept

pytestmark = pytest.mark.django_db


@kept
def project() -> Project:
    """Two of four images are described in German by Ann; one model describes all, and two are compared."""
    project = make_project("herons")
    collection = make_collection(4)
    skipped = LanguageBeginning(why_no_pilot="Known people.")
    german = begin_language(project, collection, batch_size=2, beginning=skipped)
    begin_language(project, collection, "cs", beginning=skipped, captioners=[make_captioner(collection)])
    submit_captions(german, make_annotator(german, "ann-lee"), now=NOW)
    make_comparison(project=project, collection=collection, subset=2)
    of_third = Image.objects.filter(entries=collection.entries.order_by("pk")[2])
    of_third.update(title="The pond", author="Ann Lee", licence="", source="https://museum.example/3")
    return project


def table(project: Project, who: Any = None, **query: str) -> Any:
    client = client_of(who or project.created_by)
    return client.get(reverse("dashboard:image-list", args=["herons"]), query).context["page"]["table"]


def test_one_look_says_who_described_an_image_and_in_which_languages(project):
    rows = list(table(project, sort="-captions"))
    assert [(row.captions, row.languages) for row in rows] == [(1, 1), (1, 1), (0, 0), (0, 0)]
    heads = {column.name: column for column in table(project).columns}
    assert "AL" in heads["people"].shown(rows[0])
    assert "de" in heads["people"].shown(rows[0])
    assert [row.models for row in rows] == [4, 4, 4, 4]
    assert sum(row.comparisons for row in rows) == 2


def test_filters_narrow_it_down(project):
    ann = project.memberships.get(role=Role.ANNOTATOR).user
    assert len(table(project, state="none")) == 2
    assert len(table(project, state="lacking")) == 4
    assert len(table(project, state="all", language="de")) == 2
    assert len(table(project, person=str(ann.pk))) == 2
    assert len(table(project, language="cs", person=str(ann.pk))) == 0
    assert len(table(project, find="-00001")) == 1
    assert len(table(project, licence="none")) == len(table(project, author="ann lee")) == 1
    assert len(table(project, licence="CC BY 4.0")) == 3
    assert len(table(project, source="museum")) == 1


@pytest.mark.parametrize(
    "query",
    [
        {"state": "none"},
        {"state": "lacking"},
        {"state": "all", "language": "de"},
        {"person": "ann"},
        {"language": "cs", "person": "ann"},
        {"find": "-00001"},
        {"find": "-00001", "state": "some"},
        {"find": "pond", "licence": "none", "author": "lee", "source": "museum"},
        {},
    ],
)
def test_programs_filter_as_the_page_does(project, query):
    ann = project.memberships.get(role=Role.ANNOTATOR).user
    on_page = query | ({"person": str(ann.pk)} if "person" in query else {})
    sent = query | ({"person": pseudonym(project, ann.pk)} if "person" in query else {})
    found = Program(project.created_by).all_of(reverse("api:image-list", args=["herons"]), limit=2, **sent)
    assert {image["key"] for image in found} == {row.key for row in table(project, **on_page)}


def test_programs_are_told_which_filters_there_are(project):
    program, images = Program(project.created_by), reverse("api:image-list", args=["herons"])
    for name, value, status in (("state", "x", 422), ("language", "x", 422), ("person", "x", 404), ("stat", "x", 422)):
        assert program.get(images, **{name: value}).status_code == status
    assert program.get(images, find="\0").status_code == 422


@pytest.mark.parametrize("name", ["title", "author", "source"])
def test_it_shows_and_sorts_what_is_known_of_images_and_those_without_come_last(project, name):
    image = Image.objects.get(title="The pond")
    Image.objects.exclude(pk=image.pk).update(**{name: ""})
    for sort in (name, f"-{name}"):
        shown = table(project, sort=sort)
        column = next(column for column in shown.columns if column.name == name)
        assert [getattr(image, name) in str(column.shown(row)) for row in shown] == [True, False, False, False]


def test_collections_of_its_own_are_in_it_before_anything_uses_them_and_those_of_others_are_not(project):
    own = make_collection(2, project=project, is_shared=False)
    make_collection(1)
    assert len(table(project)) == 6
    rows = [row for row in table(project) if row.entry.collection == own]
    link = reverse("images:collection-image-show", args=[own.slug, rows[0].entry.image.public_id])
    assert link in str(table(project).columns[0].shown(rows[0]))
    assert client_of(project.created_by).get(link).status_code == 200


@pytest.mark.parametrize(
    "query", [{}, {"find": "pond", "licence": "none"}, {"state": "some", "language": "de"}, {"person": "ann"}]
)
def test_its_link_exports_the_rows_that_are_shown_with_people_under_pseudonyms(project, query):
    ann = project.memberships.get(role=Role.ANNOTATOR).user
    client, asked = client_of(project.created_by), query | ({"person": str(ann.pk)} if "person" in query else {})
    page = client.get(reverse("dashboard:image-list", args=["herons"]), asked | {"sort": "title"})
    link = unescape(re.search(r'href="([^"]*/export/[^"]*what=images[^"]*)"', page.content.decode())[1])
    assert client.get(link).status_code == 200
    rows = [json.loads(line) for line in client.get(f"{link}&format=jsonl").getvalue().splitlines()]
    program = Program(project.created_by).get(
        reverse("api:export-show", args=["herons"]), what="images", format="jsonl",
        **query | ({"person": pseudonym(project, ann.pk)} if "person" in query else {}),
    )  # fmt: skip
    assert [json.loads(line) for line in program.getvalue().splitlines()] == rows
    shown = {row.key: row for row in table(project, **asked)}
    assert {row["key"]: (row["captions"], row["comparisons"], row["title"], row["source"]) for row in rows} == {
        key: (row.captions, row.comparisons, row.title, row.source) for key, row in shown.items()
    }
    assert {name for row in rows for name in row["people"]} <= {pseudonym(project, ann.pk)}
    assert {tuple(row["languages"]) for row in rows if row["captions"]} <= {("de",)}


def test_researchers_do_not_see_who_wrote(project):
    researcher = join_project(project, make_user("rae"), Role.RESEARCHER)
    assert "people" not in [column.name for column in table(project, researcher).columns]


def test_initials_come_from_the_name_or_else_the_user_name():
    assert initials_of(make_user("x", first_name="Ann", last_name="Lee")) == "AL"
    assert initials_of(make_user("bernd-de", first_name="Bernd")) == "BD"


def test_its_queries_do_not_grow_with_images(project, django_assert_max_num_queries):
    client = client_of(project.created_by)
    with django_assert_max_num_queries(24):
        client.get(reverse("dashboard:image-list", args=["herons"]))
