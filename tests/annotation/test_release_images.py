"""A release with images, and its description in Croissant, as the packages that others read it with find them."""

from __future__ import annotations

import json
from io import BytesIO

import pytest
from PIL import Image as PillowImage

from annotation.models import Release
from annotation.services.release_contents import ReleaseNotPossibleError
from core.images.models import Image
from core.images.rules.attributions import may_be_copied
from core.images.services import file_storage
from core.jobs.models import JobState
from tests.annotation.released import KEYS, Campaign, images_of, lines, written

pytestmark = pytest.mark.django_db


@pytest.fixture
def drawn(campaign, media) -> Campaign:
    """With a stored image of another colour for each; the last may not be passed on."""
    for number, image in enumerate(images_of(campaign)):
        content = BytesIO()
        PillowImage.new("RGB", (image.width, image.height), (50 * number, 0, 0)).save(content, "WEBP", lossless=True)
        file_storage.put(file_storage.size_name(image.public_id, 800), content.getvalue())
    Image.objects.filter(pk=image.pk).update(licence="All rights reserved")
    return campaign


@pytest.fixture
def _cache(monkeypatch, tmp_path):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.mark.usefixtures("_cache")
@pytest.mark.filterwarnings("ignore")
def test_datasets_opens_the_images_that_may_be_passed_on_with_their_captions(drawn, tmp_path):
    from datasets import get_dataset_config_names, load_dataset

    folder = str(tmp_path / "release")
    counts = written(drawn.start(include_images=True), tmp_path / "release").counts
    assert get_dataset_config_names(folder) == ["captions", "verdicts", "english_ratings", "images", "with_images"]
    rows = load_dataset(folder, "with_images", split="train")
    assert rows["key"][:] == list(KEYS[:3])
    assert counts["with_images"] == 3
    assert [row["image"].getpixel((0, 0)) for row in rows] == [(0, 0, 0), (50, 0, 0), (100, 0, 0)]
    assert {"language": "ar", "caption": "ميناء صغير 1"} in rows[0]["captions"]
    assert (rows[0]["author"], rows[0]["licence"]) == ("An Author", "CC BY 4.0")
    captions = load_dataset(folder, split="train")
    assert captions["caption"][:] == [row["caption"] for row in lines(tmp_path / "release" / "captions.jsonl")]
    assert "3 images are in with_images.parquet" in (tmp_path / "release" / "DATASHEET.md").read_text()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("include_images", [True, False])
def test_croissant_is_valid_and_leads_to_every_row(drawn, tmp_path, include_images):
    from mlcroissant import Dataset

    folder = tmp_path / "release"
    facts = {file.name: file.sha256 for file in written(drawn.start(include_images=include_images), folder).files}
    described = Dataset(str(folder / "croissant.json"))
    assert not described.metadata.issues.errors
    assert not described.metadata.issues.warnings
    files = json.loads((folder / "croissant.json").read_text())["distribution"]
    assert {file["name"]: file["sha256"] for file in files} | {
        name: facts[name] for name in ("croissant.json", "manifest.json")
    } == facts
    rows = {each.id: list(described.records(each.id)) for each in described.metadata.record_sets}
    assert {name: len(found) for name, found in rows.items()} == {
        "captions": 20,
        "verdicts": 8,
        "english_ratings": 16,
        "images": 4,
        **({"with_images": 3} if include_images else {}),
    }
    assert rows["captions"][0]["captions/caption"].decode() == "ميناء صغير 1"
    if include_images:
        assert rows["with_images"][1]["with_images/image"].getpixel((0, 0)) == (50, 0, 0)


def test_the_form_includes_the_images_again_as_the_release_before(client, drawn):
    client.force_login(drawn.manager)
    address = f"/projects/{drawn.project.slug}/releases/new/"
    sent = {"title": "Harbours", "licence": "CC-BY-4.0", "authors": "Doe, Jo", "include_images": "on"}
    client.post(address, sent)
    assert Release.objects.get().has_images
    Release.objects.update(state=JobState.FAILED)
    assert client.get(address).context["form"]["include_images"].value() is True


def test_a_release_with_images_gives_the_same_bytes_again(drawn, tmp_path):
    release = drawn.start(include_images=True)
    assert written(release, tmp_path / "one") == written(release, tmp_path / "two")


def test_an_image_whose_file_is_gone_is_named(drawn, tmp_path):
    file_storage.remove_all(file_storage.size_name(images_of(drawn)[1].public_id, 800))
    with pytest.raises(ReleaseNotPossibleError, match="The file of image market is not in storage"):
        written(drawn.start(include_images=True), tmp_path / "release")


@pytest.mark.parametrize(
    ("licence", "may"),
    [
        *[(name, True) for name in ("CC BY-NC-ND 4.0", "cc-by-sa-3.0", "CC0 1.0", "Public Domain Mark 1.0")],
        *[(name, False) for name in ("", "All rights reserved", "Flickr terms", "CCC")],
    ],
)
def test_only_creative_commons_and_the_public_domain_may_be_passed_on(licence, may):
    assert may_be_copied(licence) is may
