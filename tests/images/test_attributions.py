"""Titles, authors and licences: changed for one image or many, by whom, and what an import fills in."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.urls import reverse

from core.images.models import AttributionChange, CollectionImage, Image
from core.images.rules.attributions import LICENCE_URLS, with_address
from core.images.selectors.attributions import ImageEdit, as_of, missing_in, planned_edit
from core.images.services import attributions
from core.images.services.attributions import AttributionChangedError, EditOutdatedError, edit_image, edit_images
from core.people.models import AuditEntry
from tests.clients import client_of
from tests.concurrency import together_with_errors
from tests.factories import NOW, images_of, make_collection, make_project, make_user
from tests.images.image_files import image_file, run_path

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
CC_BY = LICENCE_URLS["CC BY 4.0"]


@pytest.fixture
def collection(manager):
    """Four images: the first two without a licence, the third with another one."""
    made = make_collection(4, project=manager.project, is_shared=False)
    ids = images_of(made)
    Image.objects.filter(pk__in=ids[:2]).update(licence="", author="")
    Image.objects.filter(pk=ids[2]).update(licence="CC BY-SA 3.0")
    return made


def licences(collection):
    return list(collection.entries.order_by("position").values_list("image__licence", flat=True))


def all_of(collection):
    return Image.objects.filter(entries__collection=collection)


def edit_many(collection, by, values, *, only_blank=False, confirmed=None, clock=lambda: NOW):
    edit = ImageEdit(values, only_blank=only_blank)
    images = Image.objects.filter(pk__in=collection.entries.values("image"))
    number = planned_edit(images, edit, by=by).changing.count() if confirmed is None else confirmed
    about = {"collection": collection, "images": images, "edit": edit, "by": by, "clock": clock}
    return edit_images(confirmed=number, **about)


class TestMany:
    def test_only_what_is_missing_is_filled_in_unless_all_are_meant(self, manager, collection):
        assert edit_many(collection, manager, {"licence": "CC0 1.0"}, only_blank=True) == 2
        assert licences(collection) == ["CC0 1.0", "CC0 1.0", "CC BY-SA 3.0", "CC BY 4.0"]
        assert edit_many(collection, manager, {"licence": "CC BY 4.0"}) == 3
        assert set(licences(collection)) == {"CC BY 4.0"}

    def test_a_licence_that_stays_does_not_get_the_address_of_another(self, manager, collection):
        values = {"licence": "CC BY 4.0", "licence_url": CC_BY}
        edit_many(collection, manager, values, only_blank=True)
        addresses = list(collection.entries.order_by("position").values_list("image__licence_url", flat=True))
        assert addresses == [CC_BY, CC_BY, "", ""]

    def test_every_change_stays_on_record_and_the_log_says_how_many(self, manager, collection):
        edit_many(collection, manager, {"author": "Ada", "licence": "CC0 1.0"}, only_blank=True)

        first = AttributionChange.objects.filter(image=images_of(collection)[0]).get()
        assert (first.by, first.at) == (manager, NOW)
        assert first.before == {"author": "", "licence": ""}
        assert first.after == {"author": "Ada", "licence": "CC0 1.0"}
        entry = AuditEntry.objects.get(project=manager.project, action="images.edited")
        assert (entry.about, entry.by) == (collection.name, manager)
        assert entry.details == {"fields": "author, licence", "images": 2}

    def test_other_numbers_than_confirmed_change_nothing(self, manager, collection):
        with pytest.raises(EditOutdatedError) as outdated:
            edit_many(collection, manager, {"licence": "CC0 1.0"}, only_blank=True, confirmed=3)
        assert outdated.value.args == (2,)
        assert not AttributionChange.objects.exists()

    def test_many_are_changed_some_at_a_time(self, manager, collection, monkeypatch):
        monkeypatch.setattr(attributions, "AT_ONCE", 1)
        assert edit_many(collection, manager, {"source": "the archive"}) == 4
        assert set(collection.entries.values_list("image__source", flat=True)) == {"the archive"}

    def test_what_is_also_in_a_collection_of_others_is_only_filled_in(self, manager, collection):
        theirs = make_collection(0, project=make_project(), is_shared=False)
        for image in images_of(collection)[1:3]:
            CollectionImage.objects.create(collection=theirs, image_id=image, key=f"k{image}", position=image)

        plan = planned_edit(all_of(collection), ImageEdit({"licence": "CC0 1.0"}), by=manager)
        counts = plan.counts()

        assert counts == {"changing": 3, "refused": 1, "unchanged": 0}
        assert edit_many(collection, manager, {"licence": "CC0 1.0"}) == 3
        assert licences(collection) == ["CC0 1.0", "CC0 1.0", "CC BY-SA 3.0", "CC0 1.0"]
        entry = AuditEntry.objects.get(project=theirs.project)
        assert (entry.about, entry.details["images"]) == ("images: 1", 1)


class TestOne:
    def edit(self, entry, by, seen=0, **values):
        return edit_image(entry=entry, values=values, seen=seen, by=by, now=NOW)

    def test_the_second_of_two_editors_is_told(self, manager, collection):
        entry = collection.entries.first()
        first = self.edit(entry, manager, title="One")
        with pytest.raises(AttributionChangedError):
            self.edit(entry, manager, title="Two")
        self.edit(entry, manager, seen=first.pk, title="Two")
        assert Image.objects.get(pk=entry.image_id).title == "Two"

    def test_the_same_again_is_no_change(self, manager, collection):
        entry = collection.entries.first()
        assert self.edit(entry, manager, title="", licence="") is None
        assert not AuditEntry.objects.filter(action="images.edited").exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_two_who_save_at_once_one_is_told(manager, collection):
    entry = collection.entries.select_related("collection").first()

    def save(title):
        return edit_image(entry=entry, values={"title": title}, seen=0, by=manager, now=NOW)

    outcomes = together_with_errors(save, ["One", "Two"])

    assert sum(isinstance(outcome, AttributionChangedError) for outcome in outcomes) == 1
    (change,) = AttributionChange.objects.all()
    assert Image.objects.get(pk=entry.image_id).title == change.after["title"]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_edits_of_many_at_once_leave_a_record_of_what_each_replaced(manager, collection):
    def save(author):
        return edit_many(collection, manager, {"author": author}, confirmed=4)

    together_with_errors(save, ["Ada", "Bob"])

    for image in images_of(collection):
        changes = AttributionChange.objects.filter(image=image).order_by("pk")
        last = changes.last()
        assert Image.objects.get(pk=image).author == last.after["author"]
        if changes.count() == 2:
            assert last.before == changes.first().after


def test_what_was_stored_at_a_time_can_be_read(manager, collection):
    image = images_of(collection)[0]
    for day, licence in enumerate(("CC0 1.0", "CC BY 4.0", "CC BY 3.0")):
        edit_many(collection, manager, {"licence": licence}, clock=lambda day=day: NOW + day * DAY)

    def at(when):
        images = Image.objects.in_bulk([image])
        as_of(images, when)
        return images[image].licence

    assert [at(NOW + hours) for hours in (-DAY, DAY / 2, 1.5 * DAY, 9 * DAY)] == [
        "",
        "CC0 1.0",
        "CC BY 4.0",
        "CC BY 3.0",
    ]


def test_addresses_of_known_licences_are_added():
    assert with_address({"licence": "CC BY 4.0", "licence_url": ""})["licence_url"] == CC_BY
    assert with_address({"licence": "CC BY 4.0", "licence_url": "https://x.org/"})["licence_url"] == "https://x.org/"
    assert with_address({"licence": "Mine", "licence_url": ""})["licence_url"] == ""
    assert with_address({"licence": "CC0 1.0", "licence_url": CC_BY})["licence_url"] == LICENCE_URLS["CC0 1.0"]
    assert with_address({"licence": "Mine", "licence_url": CC_BY})["licence_url"] == CC_BY
    assert with_address({"author": "Ada"}) == {"author": "Ada"}


class TestImports:
    def manifest(self, folder, **values):
        lines = [json.dumps({"file": name, **values}) for name in ("a.jpg", "b.jpg")]
        (folder / "manifest.jsonl").write_text("\n".join(lines))

    @pytest.fixture
    def imported(self, folder):
        for shade, name in enumerate(("a.jpg", "b.jpg")):
            (folder / name).write_bytes(image_file(shade=10 + shade))
        return run_path(folder)

    @pytest.mark.postgres
    def test_an_import_says_what_releases_will_refuse(self, imported):
        assert missing_in(imported.collection).licences == 2
        page = client_of(make_user(is_staff=True, is_superuser=True)).get(
            reverse("images:import-show", args=[imported.pk])
        )
        assert "2 images have no licence: releases will refuse them." in page.text
        address = reverse("images:collection-show", args=[imported.collection.slug])
        assert f"{address}?licence=none&amp;import={imported.pk}" in page.text

    def test_a_second_import_says_what_it_filled_in(self, imported, folder):
        self.manifest(folder, licence="CC BY 4.0", author="Ada", latitude=1.5, longitude=2.5, region="west")
        again = run_path(folder)

        page = client_of(make_user(is_staff=True, is_superuser=True)).get(
            reverse("images:import-show", args=[again.pk])
        )
        text = " ".join(page.text.split())
        assert "Filled in: 2 authors, 2 licences, other columns of 2 images, 2 places." in text
        assert [row.filled_in for row in again.rows.all()] == ["author licence extra place"] * 2
        assert "releases will refuse" not in text
        change = AttributionChange.objects.first()
        assert (change.job, change.before["licence"], change.after["licence"]) == (again, "", "CC BY 4.0")
        assert "latitude" not in change.after

        assert {row.filled_in for row in run_path(folder).rows.all()} == {""}

    def test_the_command_says_it_too(self, imported, folder, capsys):
        self.manifest(folder, licence="CC BY 4.0")
        call_command("import", str(folder), "--collection", "Harbour")
        said = capsys.readouterr().out
        assert "Filled in: 2 licences." in said
        assert "2 images have no author, but their licences require one: releases will refuse them." in said
