"""Named subsets: from keys, from a sample, and from a filter."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management.base import CommandError

from core.images.models import Collection
from core.people.models import AuditEntry
from research.selection.models import PlaceLevelChoice, Subset
from research.selection.services.subsets import SubsetError, rename_subset
from tests.commands import output_of
from tests.factories import NOW, make_collection, make_keyed_collection, make_language, make_project
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
