"""Finding images in a collection: words, licence, import, further filters, and by what files call them."""

from __future__ import annotations

import sqlite3
import unicodedata
from typing import Any

import pytest
from django.db import connection
from django.urls import reverse

from core.images.models import Collection, CollectionImage, Image, ImportJob, ImportOutcome, ImportRow
from core.images.selectors.filters import ImageSearch, entries_page, images_named
from core.images.services.collections import duplicate_collection
from crosslens_metrics.formats.names import spellings
from research.inference.models import CaptioningModel, ModelCaption
from research.selection.services.places import locate_images
from tests.clients import client_of
from tests.factories import (
    NOW,
    make_captioner,
    make_collection,
    make_image,
    make_keyed_collection,
    make_project,
    make_user,
)
from tests.images.image_files import image_file, outcomes, report, run_path, zipped
from tests.memory import peak_of
from tests.queries import queries_of

pytestmark = pytest.mark.django_db

KEYS = ("harbour", "market", "stairs", "tower")


@pytest.fixture
def collection(manager):
    made = make_collection(0, project=manager.project, is_shared=False)
    about: dict[str, dict[str, Any]] = {
        "harbour": {
            "title": "Boats at dawn",
            "author": "Ada",
            "licence": "CC BY 4.0",
            "latitude": 45.43,
            "longitude": 12.33,
        },
        "market": {"title": "Fruit", "author": "", "licence": "CC BY 4.0", "latitude": 22.57, "longitude": 88.36},
        "stairs": {"title": "", "author": "", "licence": "CC0 1.0"},
        "tower": {"title": "Tall", "author": "Bob", "licence": ""},
    }
    for position, (key, fields) in enumerate(about.items(), start=1):
        CollectionImage.objects.create(
            collection=made,
            image=make_image(key, **fields),
            key=key,
            file_name=f"IMG_{position}.JPG",
            position=position,
        )
    locate_images()
    return made


def answer_to(manager, collection, **asked):
    return client_of(manager).get(reverse("images:collection-show", args=[collection.slug]), asked)


def found(manager, collection, **asked):
    answer = answer_to(manager, collection, **asked)
    assert answer.status_code == 200
    return [item.key for item in answer.context["shown"]]


@pytest.mark.parametrize(
    ("asked", "keys"),
    [
        ({}, KEYS),
        ({"find": "BOATS ada"}, ["harbour"]),
        ({"find": "boats bob"}, []),
        ({"find": "img_3"}, ["stairs"]),
        ({"find": "%"}, []),
        ({"licence": "none"}, ["tower"]),
        ({"licence": "no-author"}, ["market"]),
        ({"licence": "is:CC BY 4.0"}, ["harbour", "market"]),
        ({"place": "in:IN-WB"}, ["market"]),
        ({"place": "on:EU"}, ["harbour"]),
        ({"place": "unknown", "licence": "none"}, ["tower"]),
    ],
)
def test_images_are_found(manager, collection, asked, keys):
    assert found(manager, collection, **asked) == list(keys)


def test_regions_are_offered_of_the_country_asked_for(manager, collection):
    offered = dict(answer_to(manager, collection, place="in:IN").context["form"].fields["place"].choices)
    assert ("in:IN-WB", "West Bengal") in offered["Regions"]
    assert dict(offered["Countries"]) == {"in:IN": "India", "in:IT": "Italy"}
    assert "Regions" not in dict(answer_to(manager, collection).context["form"].fields["place"].choices)


def test_images_without_an_english_caption_are_found_of_any_model_or_of_one(manager, collection):
    alpha = make_captioner(collection, "Alpha")
    beta = CaptioningModel.objects.create(name="Beta", is_shared=True)
    ModelCaption.objects.filter(model=alpha, image__entries__key="tower").delete()
    ModelCaption.objects.create(model=beta, image=collection.entries.get(key="tower").image, language_id="en", text="x")
    german = collection.entries.get(key="market").image
    ModelCaption.objects.create(model=beta, image=german, language_id="de", text="x")

    assert found(manager, collection, captions="missing") == []
    assert found(manager, collection, captions=f"missing:{alpha.pk}") == ["tower"]
    assert found(manager, collection, captions=f"missing:{beta.pk}") == ["harbour", "market", "stairs"]


def test_captions_of_models_that_others_keep_for_themselves_do_not_count(manager, collection):
    make_captioner(collection, "Alpha", is_shared=False, project=make_project())
    assert found(manager, collection, captions="missing") == list(KEYS)


def test_images_of_one_import_are_found(manager, collection):
    job = ImportJob.objects.create(collection=collection, kind="images", source_name="a.zip")
    for number, key in enumerate(("market", "tower"), start=1):
        image = collection.entries.get(key=key).image
        ImportRow.objects.create(job=job, number=number, name=key, outcome=ImportOutcome.ADDED, image=image)
    elsewhere = ImportJob.objects.create(collection=make_collection(0), kind="images", source_name="b.zip")
    ImportRow.objects.create(job=elsewhere, number=1, name="x", outcome=ImportOutcome.ADDED, image=image)

    assert found(manager, collection, **{"import": job.pk}) == ["market", "tower"]
    assert found(manager, collection, **{"import": job.pk, "licence": "none"}) == ["tower"]
    assert found(manager, collection, **{"import": elsewhere.pk}) == []


@pytest.mark.parametrize(
    "asked",
    [
        {"licence": "MIT"},
        {"find": "a\0"},
        {"place": "in:XX"},
        {"place": "in:IT,on:EU"},
        {"captions": "missing:999"},
        {"import": "9" * 30},
        {"find": "x" * 201},
    ],
)
def test_a_filter_that_cannot_be_applied_is_refused_with_the_reason(manager, collection, asked):
    answer = answer_to(manager, collection, **asked)
    assert answer.status_code == 422
    assert answer.context["form"].errors
    assert answer.context["shown"] == []


def test_pages_keep_the_search_and_the_order(manager, collection, monkeypatch):
    monkeypatch.setattr("core.images.views.collections.IMAGES_PER_PAGE", 2)
    assert found(manager, collection, page=2) == ["stairs", "tower"]
    first = answer_to(manager, collection, licence="is:CC BY 4.0")
    assert "2 images found" in first.text
    assert entries_page(collection.entries.all(), number="99", per_page=3).object_list[0].key == "tower"


def test_the_number_of_queries_does_not_grow_with_the_images(manager, collection, django_assert_num_queries):
    make_captioner(collection, "Alpha")
    client = client_of(manager)
    address = reverse("images:collection-show", args=[collection.slug])
    few = queries_of(lambda: client.get(address, {"licence": "is:CC BY 4.0"}))
    for number in range(30):
        image = make_image(f"more {number}", licence="CC BY 4.0")
        CollectionImage.objects.create(collection=collection, image=image, key=f"more-{number}", position=10 + number)
    with django_assert_num_queries(len(few)):
        answer = client.get(address, {"licence": "is:CC BY 4.0"})
    assert len(answer.context["shown"]) == 32


NFC, NFD = (unicodedata.normalize(form, "Café/Zoë.jpg") for form in ("NFC", "NFD"))


@pytest.fixture
def filled(folder):
    """A way to fill the folder with a different image under each name."""

    def fill(*names: str) -> None:
        for shade, name in enumerate(names):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(image_file(shade=shade * 10))

    return fill


def keys_named(collection, *names):
    named = images_named(names, collection)
    return [[collection.entries.get(image=image).key for image in named[name].images] for name in names]


@pytest.mark.parametrize("packed", [True, False], ids=["zip", "folder"])
def test_a_manifest_names_files_in_another_form_of_unicode(folder, filled, packed):
    manifest = f"file,author\n{NFC},Ann\n".encode()
    if packed:
        (folder / "all.zip").write_bytes(zipped({NFD: image_file(), "manifest.csv": manifest}))
        job = run_path(folder / "all.zip")
    else:
        filled(NFD)
        (folder / "list.csv").write_bytes(manifest)
        job = run_path(folder / "list.csv")
    assert outcomes(job) == {NFC: "added"}
    assert Image.objects.get().author == "Ann"
    assert keys_named(job.collection, NFD, NFC, NFD.partition("/")[2]) == [[NFC[5:-4]]] * 3


def test_files_of_one_name_in_different_folders_are_different_images(folder, filled):
    filled("001.jpg", "dogs/001.jpg", "cats/001.jpg", "cats/002.jpg")

    job = run_path(folder)

    assert set(job.collection.entries.values_list("key", flat=True)) == {"001", "dogs/001", "cats/001", "002"}
    asked = ["001", "dogs/001.jpg", "data/cats/001", "birds/001", "002.jpg", "cats/002"]
    assert keys_named(job.collection, *asked) == [["001"], ["dogs/001"], ["cats/001"], [], ["002"], ["002"]]
    copy = duplicate_collection(collection=job.collection, name="Copy", by=make_user(), now=NOW)
    assert keys_named(copy, *asked) == keys_named(job.collection, *asked)


def test_a_changed_file_does_not_come_in_under_a_longer_name(folder, filled):
    filled("dogs/001.jpg")
    run_path(folder)
    filled("other.jpg", "dogs/001.jpg")
    outcome, reason = report(run_path(folder))["dogs/001.jpg"]
    assert (outcome, "another key" in reason) == ("rejected", True)


def test_two_files_with_the_same_bytes_are_one_image_with_two_names(folder):
    manifest = "file,key,author\nb1.jpg,,Ann\nb7.jpg,,Bob\nc.jpg,seven,\n"
    (folder / "manifest.csv").write_text(manifest, encoding="utf-8")
    for name in ("b1.jpg", "b7.jpg", "c.jpg"):
        (folder / name).write_bytes(image_file())

    job = run_path(folder)

    assert outcomes(job) == {"b1.jpg": "added", "b7.jpg": "already", "c.jpg": "already"}
    assert keys_named(job.collection, "b1", "b7", "b7.jpg", "seven", "c.jpg") == [["b1"]] * 5
    reason = report(job)["b7.jpg"][1]
    assert "as “b1”. It is now also called “b7”" in reason
    assert "were kept: Author" in reason
    assert "kept" not in report(job)["c.jpg"][1]
    # A name that an image has cannot become another image's.
    (folder / "b7.jpg").write_bytes(image_file(shade=10))
    assert outcomes(run_path(folder))["b7.jpg"] == "rejected"


@pytest.mark.sqlite
def test_many_names_are_asked_for_within_what_sqlite_takes_as_it_is_built():
    connection.ensure_connection()
    before = connection.connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 32_766)
    try:
        collection = make_collection(images=1)
        named = images_named((f"{number:06d}.png" if number % 2 else str(number) for number in range(1100)), collection)
        deep = images_named(("ä/ö/" * 20 + f"{number}.jpg" for number in range(200)), collection)
    finally:
        connection.connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, before)
    assert (len(named), len(deep)) == (1100, 200)


def test_numbers_of_many_images_are_found_in_few_queries(django_assert_max_num_queries):
    keys = [f"COCO_train2014_{number:012d}" for number in range(1500)]
    collection = make_keyed_collection(keys)
    times = []

    with django_assert_max_num_queries(8):
        named = ImageSearch(collection, after_each=lambda: times.append(1)).named(map(str, range(1500)))

    of_key = dict(collection.entries.values_list("key", "image"))
    assert {name: found.only and found.only.pk for name, found in named.items()} == {
        str(number): of_key[key] for number, key in enumerate(keys)
    }
    assert times


def test_names_are_the_same_among_entries_that_were_read_as_in_queries(folder, filled, monkeypatch):
    files = ["001.jpg", "dogs/001.jpg", "cats/001.jpg", "cats/002.JPG", NFD, "b1.tiff", "photo.v2.png", "same.jpg"]
    filled(*files)
    (folder / "again.jpg").write_bytes((folder / "same.jpg").read_bytes())
    entries = run_path(folder).collection.entries
    digest, address = entries.get(key="001").image.sha256, "https://example.org/p/7.jpg"
    Image.objects.filter(sha256=digest).update(source=address)
    numbers = make_keyed_collection(["COCO_val2014_000000000002", "000000000003", "dogs/002", "7", "Zoë"])
    make_keyed_collection(["001", "COCO_train2014_000000000002"])
    names = {name for file in files for name in spellings(file)} | {"2", "3", "3.0", "0007.jpg", "dogs/2", "birds/001"}
    names |= {"data/cats/001", "b1.png", "photo", "Zoe", "again", "", digest, digest.upper(), f"{digest}.jpg"}
    names |= {address.replace("://", ":/"), "deep/" * 20 + "dogs/001.jpg"}
    every = Collection.objects.all()
    wheres: list[Any] = [(entries.first().collection, None), (numbers, None), (None, every), (None, None)]

    by_queries = [ImageSearch(collection, among=among).named(names) for collection, among in wheres]
    monkeypatch.setattr("core.images.selectors.filters.MANY_NAMES", 1)
    for (collection, among), expected in zip(wheres, by_queries, strict=True):
        search = ImageSearch(collection, among=among)
        assert search.named(names) == expected
        assert search.all is not None
        assert any(found.only for found in expected.values())
        assert any(not found.images for found in expected.values())


def test_an_image_that_went_after_entries_were_read_is_unknown(collection, monkeypatch):
    monkeypatch.setattr("core.images.selectors.filters.MANY_NAMES", 1)
    search = ImageSearch(collection)
    assert search.named(["harbour"])["harbour"].only is not None
    image = collection.entries.get(key="harbour").image
    collection.entries.filter(image=image).delete()
    image.delete()
    assert not search.named(["harbour"])["harbour"].images


def test_names_that_changed_after_entries_were_read_mean_what_they_do_now(monkeypatch):
    monkeypatch.setattr("core.images.selectors.filters.MANY_NAMES", 4)
    collection = make_keyed_collection([f"k{number}" for number in range(7)])
    search = ImageSearch(collection)
    names = ["k0", "k1", "k2", "renamed", "fresh", "nowhere"]
    assert not search.named(names)["renamed"].images
    assert search.all is not None
    entries, image = collection.entries, make_image()
    image_of = dict(entries.values_list("key", "image"))

    entries.get(key="k0").delete()
    entries.filter(key="k1").update(key="renamed")
    entries.filter(key="k3").update(key="k1")
    # A few unknown names are asked of the database, and for more all entries are read again.
    for number, some in enumerate((names[:3], names[3:])):
        CollectionImage.objects.create(
            collection=collection, image=image if number else make_image(), key=("other", "fresh")[number], position=9
        )
        found = {name: named.only and named.only.pk for name, named in search.named(some).items()}
        expected = {"k1": image_of["k3"], "k2": image_of["k2"], "renamed": image_of["k1"], "fresh": image.pk}
        assert found == {name: expected.get(name) for name in some}


def test_many_unknown_names_do_not_each_read_all_entries_again(monkeypatch, django_assert_max_num_queries):
    monkeypatch.setattr("core.images.selectors.filters.MANY_NAMES", 4)
    search = ImageSearch(make_keyed_collection(["k0"]))
    search.named(["k0", "k1", "k2", "k3"])
    with django_assert_max_num_queries(18):
        assert not any(search.named([f"x{number}"])[f"x{number}"].images for number in range(5, 15))


def test_further_names_count_where_all_entries_would_be_read(collection, monkeypatch):
    monkeypatch.setattr("core.images.selectors.filters.MANY_NAMES", 1)
    monkeypatch.setattr("core.images.selectors.filters.MAX_KEPT", collection.entries.count())
    are_read = []
    for name in ("a/harbour.jpg", "b/harbour.jpg"):
        search = ImageSearch(collection)
        assert search.named(["harbour"])["harbour"].only is not None
        are_read.append(search.all is not None)
        collection.entries.get(key="harbour").names.create(name=name)
    search = ImageSearch(collection)
    assert search.named(["b/harbour"])["b/harbour"].only is not None
    assert (are_read, search.all) == ([True, True], None)


def test_a_name_in_very_many_folders_takes_little_and_means_the_image_in_fewer_of_them(folder, filled):
    filled("a/001.jpg")
    run_path(folder)
    name = "x/" * 20_000 + "a/001.jpg"
    named, peak = peak_of(lambda: images_named([name], None)[name])
    assert named.only is not None
    assert peak < 20 * 10**6


def test_a_name_of_several_images_is_told_with_all_of_them(folder, filled):
    filled("dogs/001.jpg", "cats/001.jpg")
    job = run_path(folder)
    problem = images_named(["001"], job.collection)["001"].problem
    assert "“cats/001” (Harbour), “dogs/001” (Harbour)" in problem


def test_of_two_files_of_a_folder_whose_names_are_equal_one_is_reported(folder, filled):
    filled("é.jpg", unicodedata.normalize("NFD", "é.jpg"), "z.jpg", "z\u200b.jpg", "a .jpg", "a.jpg")
    job = run_path(folder)
    left_out = job.rows.filter(outcome="rejected").values_list("name", "reason")
    assert {name for name, reason in left_out if "another file with the same name" in reason} == {"é.jpg", "z.jpg"}
    assert set(job.collection.entries.values_list("key", flat=True)) == {"é", "z", "a .jpg", "a.jpg"}


def test_an_extension_in_capitals_is_the_same_and_leaves_a_name_ambiguous(folder, filled):
    filled("x.jpeg", "x.JPG", "y.JPG")
    asked = ["x.jpg", "x.JPEG", "y.jpeg", "x", "x.gif"]
    assert keys_named(run_path(folder).collection, *asked) == [["x.JPG"], ["x.jpeg"], ["y"], ["x.JPG", "x.jpeg"], []]
