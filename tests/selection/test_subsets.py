"""Named subsets: made from keys, samples and filters; and through the API."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest
from django.core.management.base import CommandError

from core.images.models import Collection
from core.people.models import AuditEntry
from research.selection.models import PlaceLevelChoice, Subset
from research.selection.services.subsets import SubsetError, rename_subset
from tests.api.seeded import Program
from tests.commands import output_of
from tests.factories import NOW, make_collection, make_comparison, make_keyed_collection, make_language, make_project
from tests.selection.placing import choose, make_subset, place

pytestmark = pytest.mark.django_db

KEYS = ["ant", "bee", "cat", "dog", "eel"]


@pytest.fixture
def lions() -> Collection:
    """A project whose own collection has five images."""
    project = make_project("lions")
    collection = make_keyed_collection(KEYS)
    collection.project, collection.is_shared = project, False
    collection.save()
    for entry in collection.entries.select_related("image"):
        place(entry.image, "IN" if entry.key in ("bee", "eel") else "FR")
    return collection


def keys_file(folder: Path, text: str) -> str:
    path = folder / "keys.txt"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.usefixtures("lions")
class TestCommand:
    def test_keys_are_read_a_line_each(self, tmp_path):
        said = output_of("image_subset", "lions", "two", "--keys", keys_file(tmp_path, "./dog.JPG\n\n ant \n"))
        assert said == "two: 2 images. Use it with --images subset:two.\n"
        assert output_of("image_subset", "lions", "two", "--export").split() == ["ant", "dog"]

    def test_unknown_and_repeated_keys_are_named_by_line_and_nothing_is_made(self, tmp_path):
        with pytest.raises(CommandError) as refused:
            output_of("image_subset", "lions", "two", "--keys", keys_file(tmp_path, "dog\nfox\ndog\ndog.jpg\n"))
        assert str(refused.value).split("\n") == [
            "Line 2: there is no image fox.",
            "Line 3: dog is in line 1, too.",
            "Line 4: dog.jpg is in line 1, too.",
        ]
        assert not Subset.objects.exists()

    def test_the_seed_alone_decides_the_sample(self):
        for slug in ("one", "other"):
            output_of("image_subset", "lions", slug, "--sample", "3", "--seed", "7")
        one, other = (output_of("image_subset", "lions", slug, "--export") for slug in ("one", "other"))
        assert one == other
        assert len(one.split()) == 3

    def test_a_filter_and_a_sample_of_it(self):
        output_of("image_subset", "lions", "india", "--images", "in:IN")
        assert output_of("image_subset", "lions", "india", "--export").split() == ["bee", "eel"]
        with pytest.raises(CommandError, match="There are 2 images to draw from, not 3"):
            output_of("image_subset", "lions", "three", "--images", "in:IN", "--sample", "3")

    def test_keys_may_be_a_column_of_a_csv_file_and_faults_are_named_by_its_lines(self, tmp_path):
        text = '\ufeffnote,key\r\n"two\r\nlines",dog\r\nx,fox\r\n'
        with pytest.raises(CommandError, match=r"^Line 4: there is no image fox\.$"):
            output_of("image_subset", "lions", "two", "--keys", keys_file(tmp_path, text))
        output_of("image_subset", "lions", "two", "--keys", keys_file(tmp_path, text.replace("fox", "bee")))
        assert output_of("image_subset", "lions", "two", "--export").split() == ["bee", "dog"]

    def test_keys_are_read_from_any_form_of_table(self, tmp_path):
        (tmp_path / "keys.csv").write_bytes("note;Key\nx;dog\n".encode("utf-16"))
        book = openpyxl.Workbook()
        for row in (["note", "key"], ["x", "bee"]):
            book.active.append(row)
        book.save(tmp_path / "keys.xlsx")
        for name, key in (("keys.csv", "dog"), ("keys.xlsx", "bee")):
            output_of("image_subset", "lions", key, "--keys", str(tmp_path / name))
            assert output_of("image_subset", "lions", key, "--export").split() == [key]

    def test_a_sample_for_each_language_is_of_the_images_chosen_for_it(self, lions):
        images = {entry.key: entry.image for entry in lions.entries.select_related("image")}
        make_language("bn")
        make_language("fr")
        choose(lions.project, "bn", {images["bee"]: PlaceLevelChoice.REGION, images["eel"]: PlaceLevelChoice.REGION})
        choose(lions.project, "fr", {images[key]: PlaceLevelChoice.REGION for key in ("ant", "cat", "dog")})
        output_of("image_subset", "lions", "four", "--sample", "2", "--per-language", "--seed", "7")
        drawn = set(output_of("image_subset", "lions", "four", "--export").split())
        assert len(drawn) == 4
        assert drawn >= {"bee", "eel"}
        with pytest.raises(CommandError) as refused:
            output_of("image_subset", "lions", "six", "--sample", "3", "--per-language")
        assert str(refused.value) == "There are 2 images chosen for bn to draw from, not 3."

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ([], "Say which images"),
            (["--per-language"], "Say which images"),
            (["--images", "in:IN", "--per-language"], "how many images to draw for each language"),
            (["--sample", "1", "--per-language"], "No image has been chosen for a language yet"),
            (["--images", "region"], "another set of images for each language"),
            (["--images", "in:PL"], "No image is in this subset"),
            (["--collection", "nowhere", "--sample", "1"], "no collection nowhere"),
        ],
    )
    def test_what_cannot_be_a_subset_is_refused(self, options, said):
        with pytest.raises(CommandError, match=said):
            output_of("image_subset", "lions", "new", *options)

    def test_a_name_is_taken_once_and_free_again_once_deleted(self):
        output_of("image_subset", "lions", "one", "--sample", "1")
        with pytest.raises(CommandError, match="has a subset “one” already"):
            output_of("image_subset", "lions", "one", "--sample", "1")
        output_of("image_subset", "lions", "one", "--delete")
        output_of("image_subset", "lions", "one", "--sample", "2")
        with pytest.raises(CommandError, match="is not letters"):
            output_of("image_subset", "lions", "Not a slug", "--sample", "1")

    def test_images_of_other_projects_are_not_there(self, tmp_path):
        other = make_collection(1, is_shared=False, project=make_project("tigers"))
        with pytest.raises(CommandError, match="there is no image"):
            output_of("image_subset", "lions", "new", "--keys", keys_file(tmp_path, other.entries.get().key))


def test_a_new_name_is_in_the_audit_log_and_the_short_name_stays(lions):
    subset, by = make_subset(lions.project, "two", []), lions.project.created_by
    for _ in range(2):
        rename_subset(subset=subset, name=" XM  600 ", description="For raters.", by=by, now=NOW)
    subset.refresh_from_db()
    assert (subset.slug, subset.name, subset.description) == ("two", "XM 600", "For raters.")
    entry = AuditEntry.objects.get(action="subset.renamed")
    assert (entry.details["before"]["name"], entry.details["after"]["name"]) == ("TWO", "XM 600")
    with pytest.raises(SubsetError, match="Enter a name"):
        rename_subset(subset=subset, name=" ", description="", by=by, now=NOW)


LIST = "/api/v1/projects/lions/subsets/"


@pytest.fixture
def collection() -> Collection:
    return make_keyed_collection(["ant", "bee", "cat", "dog"])


@pytest.fixture
def program(project, collection) -> Program:
    return Program(project.created_by)


def test_a_subset_is_made_read_renamed_and_deleted(program):
    made = program.post(LIST, slug="two", name="Two", keys=["dog", "ant"])
    assert made.status_code == 201
    told = made.json()
    assert (told["slug"], told["images"], told["image_filter"], told["used_by"]) == ("two", 2, "subset:two", [])
    assert [one["slug"] for one in program.get(LIST).json()["results"]] == ["two"]
    assert program.get(f"{LIST}two/").json() == told
    assert {one["key"] for one in program.get(f"{LIST}two/images/").json()["results"]} == {"ant", "dog"}
    renamed = program.put(f"{LIST}two/", name="Pair", description="Of animals.").json()
    assert program.put(f"{LIST}two/", name=" ").status_code == 409
    assert (renamed["slug"], renamed["name"], renamed["description"]) == ("two", "Pair", "Of animals.")
    assert program.delete(f"{LIST}two/").status_code == 204
    assert program.get(f"{LIST}two/").status_code == 404


@pytest.mark.parametrize(
    ("given", "kept"), [("\u200b", "two"), ("a\u202eb\u200b  c", "ab c"), ("Jose\u0301", "Jos\u00e9")]
)
def test_a_name_is_kept_as_whoever_reads_it_would_spell_it(program, given, kept):
    assert program.post(LIST, slug="two", name=given, keys=["dog"]).json()["name"] == kept
    assert program.put(f"{LIST}two/", name="\u200b \u202e").json()["detail"] == "Enter a name."


def test_the_seed_alone_decides_a_sample(program, collection):
    answers = [
        program.post(LIST, slug=slug, name=slug, sample=2, seed=7, collection=collection.slug)
        for slug in ("one", "two")
    ]
    assert [answer.json()["images"] for answer in answers] == [2, 2]
    one, two = (set(subset.images.all()) for subset in Subset.objects.all())
    assert one == two


@pytest.mark.parametrize(
    ("given", "status", "says"),
    [
        ({"keys": ["dog", "fox"]}, 409, "Line 2: there is no image fox."),
        ({"keys": ["dog", "dog"]}, 409, "Line 2: dog is in line 1, too."),
        ({"keys": []}, 409, "No image is in this subset."),
        ({}, 409, "Say which images"),
        ({"keys": ["dog"], "sample": 1}, 409, "not both"),
        ({"images": "nowhere"}, 409, "is not a term of an image filter"),
        ({"images": "subset:none"}, 409, "has no subset “none”"),
        ({"images": "region"}, 409, "another set of images for each language"),
        ({"sample": 5}, 409, "There are 4 images to draw from, not 5."),
        ({"sample": 1, "per_language": True}, 409, "Confirm a selection first"),
        ({"sample": 1, "collection": "none"}, 409, "no such collection"),
        ({"keys": ["dog"], "slug": "few"}, 409, "has a subset “few” already"),
        ({"keys": ["dog"], "slug": "Few"}, 409, "is not letters"),
        ({"keys": ["dog"], "slug": ""}, 422, ""),
        ({"sample": 0}, 422, ""),
    ],
)
def test_what_cannot_be_a_subset_is_refused_with_a_reason(program, project, given, status, says):
    make_subset(project, "few", [])
    answer = program.post(LIST, **({"slug": "new", "name": "New"} | given))
    assert answer.status_code == status
    assert says in answer.json()["detail"]
    assert Subset.objects.count() == 1


def test_one_in_use_is_not_deleted(program, project):
    make_subset(project, "few", [])
    comparison = make_comparison(project=project)
    type(comparison).objects.update(images="subset:few")
    answer = program.delete(f"{LIST}few/")
    assert (answer.status_code, answer.json()["code"]) == (409, "subset-in-use")
    assert f"comparison {comparison.pk} in" in answer.json()["detail"]
    assert program.get(f"{LIST}few/").json()["used_by"] != []
