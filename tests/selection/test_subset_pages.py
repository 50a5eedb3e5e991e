"""Pages of named subsets: they are made in four ways, renamed, deleted and downloaded; outsiders find none."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from core.images.models import Collection
from core.people.models import AuditEntry, Role
from research.selection.forms import subsets as forms
from research.selection.models import PlaceLevelChoice, Subset
from research.selection.selectors.subsets import keys_of
from tests.clients import client_of
from tests.factories import (
    join_project,
    make_comparison,
    make_keyed_collection,
    make_language,
    make_user,
)
from tests.selection.placing import choose, make_subset, place

pytestmark = pytest.mark.django_db

NEW, LIST = "/projects/lions/new-subset/", "/projects/lions/subsets/"
KEYS = ["ant", "bee", "cat", "dog", "eel"]


@pytest.fixture
def collection(project) -> Collection:
    made = make_keyed_collection(KEYS)
    made.project, made.is_shared = project, False
    made.save()
    for entry in made.entries.select_related("image"):
        place(entry.image, "IN" if entry.key in ("bee", "eel") else "FR")
    return made


@pytest.fixture
def subset(collection) -> Subset:
    return make_subset(collection.project, "few", [entry.image for entry in collection.entries.all()[:3]])


def sent(**changes: Any) -> dict[str, Any]:
    return {"name": "XM600", "keys": "", "only": "", "sample": "", "seed": "7"} | changes


def upload(text: str | bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile("keys.csv", text if isinstance(text, bytes) else text.encode())


class TestCreate:
    @pytest.mark.parametrize(
        ("given", "keys"),
        [
            ({"keys": "dog\r\n\r\n ant \r\n"}, ["ant", "dog"]),
            ({"file": lambda: upload("dog\nant")}, ["ant", "dog"]),
            ({"file": lambda: upload("\ufeffkey\r\ndog\r\nant\r\n")}, ["ant", "dog"]),
            ({"only": "in:in"}, ["bee", "eel"]),
        ],
    )
    def test_it_has_the_images_that_were_named(self, manager, collection, given, keys):
        answer = manager.post(
            NEW, sent(**{name: value() if callable(value) else value for name, value in given.items()})
        )
        assert answer.url == "/projects/lions/subsets/xm600/"
        made = Subset.objects.get()
        assert (made.slug, made.name, keys_of(made)) == ("xm600", "XM600", keys)
        assert AuditEntry.objects.get(action="subset.made").details == {"images": 2}

    def test_as_many_are_drawn_for_each_language_of_the_selection_and_the_seed_decides_which(self, manager, collection):
        images = {entry.key: entry.image for entry in collection.entries.select_related("image")}
        for tag, keys in (("bn", ("bee", "eel")), ("fr", ("ant", "cat"))):
            make_language(tag)
            choose(collection.project, tag, {images[key]: PlaceLevelChoice.REGION for key in keys})
        for slug in ("one", "two"):
            manager.post(NEW, sent(slug=slug, only="on:AS", sample="1", per_language="on"))
        drawn, again = (keys_of(made) for made in Subset.objects.order_by("slug"))
        assert drawn == again
        assert (len(drawn), len({"bee", "eel"} & set(drawn))) == (2, 1)

    @pytest.mark.parametrize(
        ("given", "field", "says"),
        [
            ({}, "__all__", "Say which images: give keys, a filter or the size of a sample."),
            ({"keys": "dog\nfox\ndog"}, "keys", "Line 2: there is no image fox."),
            ({"keys": "dog\nfox\ndog"}, "keys", "Line 3: dog is in line 1, too."),
            ({"keys": "dog", "sample": "1"}, "keys", "Give keys, or a filter and a sample, not both."),
            ({"keys": "dog", "file": upload("dog")}, "file", "Paste keys or choose a file, not both."),
            ({"file": upload(b"caf\xe9")}, "file", "This is not a text file in UTF-8."),
            ({"file": upload('key\n"' + "x" * 200_000)}, "file", "Line 2: The row has more than"),
            ({"file": upload('key\n"dog\nant')}, "file", "In the row that begins on line 2 a quotation mark"),
            ({"file": upload("")}, "__all__", "No image is in this subset."),
            ({"only": "in:Atlantis"}, "only", "there is no country or region ATLANTIS"),
            ({"only": "nowhere"}, "only", "is not a term of an image filter"),
            ({"only": "region"}, "__all__", "another set of images for each language"),
            ({"only": "in:IN", "sample": "3"}, "__all__", "There are 2 images to draw from, not 3."),
            ({"keys": "dog", "slug": "few"}, "__all__", "This project has a subset “few” already."),
            ({"keys": "dog", "slug": "a b"}, "slug", "valid “slug”"),
            ({"keys": "dog", "name": "तोता"}, "slug", "Enter a short name"),
        ],
    )
    def test_a_fault_is_named_and_nothing_is_made(self, manager, subset, given, field, says):
        answer = manager.post(NEW, sent(**given))
        assert answer.status_code == 422
        assert any(says in error for error in answer.context["form"].errors[field])
        assert Subset.objects.count() == 1

    @pytest.mark.usefixtures("collection")
    @pytest.mark.parametrize("field", ["keys", "file"])
    def test_more_keys_than_a_page_can_wait_for_are_refused(self, manager, monkeypatch, field):
        monkeypatch.setattr(forms, "MAX_LINES", 2)
        for keys, status in (("dog\nant\nbee", 422), ("dog\nant", 302)):
            answer = manager.post(NEW, sent(**{field: keys if field == "keys" else upload(keys)}))
            assert answer.status_code == status
            said = ["The list has more than 2 lines. Use an image filter, or the command image_subset."]
            assert status == 302 or answer.context["form"].errors[field] == said


def test_the_list_says_how_many_images_and_what_uses_them(manager, subset):
    comparison = make_comparison(project=subset.project)
    type(comparison).objects.update(images="subset:few")
    page = manager.get(LIST).content.decode()
    assert "subset:few" in page
    assert "1 comparison" in page
    assert "XM600" not in page


def test_its_page_shows_its_images_and_leads_to_figures_over_them(manager, subset):
    page = manager.get(f"{LIST}few/").content.decode()
    assert page.count("<figure>") == 3
    assert "/projects/lions/statistics/?images=subset:few" in page


def test_it_is_renamed(manager, subset):
    refused = manager.post(f"{LIST}few/rename/", {"name": " "})
    assert refused.status_code == 422
    manager.post(f"{LIST}few/rename/", {"name": "Raters’ images", "description": "For comparisons."})
    subset.refresh_from_db()
    assert (subset.slug, subset.name, subset.description) == ("few", "Raters’ images", "For comparisons.")


def test_it_is_deleted_only_while_nothing_uses_it(manager, subset):
    comparison = make_comparison(project=subset.project)
    type(comparison).objects.update(images="subset:few")
    page = manager.post(f"{LIST}few/delete/", follow=True).content.decode()
    assert f"because it is used by: comparison {comparison.pk} in" in page
    assert "A subset in use cannot be deleted." in page
    comparison.delete()
    manager.post(f"{LIST}few/delete/")
    assert not Subset.objects.exists()
    assert AuditEntry.objects.filter(action="subset.deleted", about="few").exists()


def test_its_keys_are_downloaded_and_make_the_same_subset(manager, subset):
    answer = manager.get(f"{LIST}few/keys.csv")
    content = answer.getvalue()
    assert content.decode("utf-8-sig").split() == ['"key"', '"ant"', '"bee"', '"cat"']
    assert answer["Content-Disposition"] == 'attachment; filename="lions-few.csv"'
    manager.post(NEW, sent(slug="same", file=upload(content)))
    assert keys_of(Subset.objects.get(slug="same")) == keys_of(subset)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_researcher_is_not_led_to_what_managers_change(project, subset):
    researcher = client_of(join_project(project, make_user(), Role.RESEARCHER))
    for address in (LIST, f"{LIST}few/"):
        assert NEW not in researcher.get(address).getvalue().decode()
