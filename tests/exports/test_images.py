"""Captions with their images: what is copied, and that `datasets` and our import read it."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from django.core.management import call_command
from django.utils import timezone
from PIL import Image as PillowImage

from core.images.models import Image
from core.images.services import file_storage
from core.people.models import Project
from crosslens_metrics.formats.recognised_files import CAPTIONS_BY_PEOPLE
from crosslens_metrics.formats.recognition import recognise
from tests.annotation.released import KEYS, Campaign
from tests.exported import exported_text
from tests.factories import make_project

pytestmark = pytest.mark.django_db


@pytest.fixture
def drawn(made_once, media) -> Campaign:
    """Its tower may not be copied."""
    campaign = made_once(Campaign)
    for number, entry in enumerate(campaign.collection.entries.order_by("position")):
        content = io.BytesIO()
        size = (entry.image.width, entry.image.height)
        PillowImage.new("RGB", size, (50 * number, 0, 0)).save(content, "WEBP", lossless=True)
        file_storage.put(file_storage.size_name(entry.image.public_id, 800), content.getvalue())
    Image.objects.filter(entries__key="tower").update(licence="All rights reserved", source="https://example.org/t")
    return campaign


def exported(path: Path, format: str, *more: str) -> Path:
    about = ("--what", "captions", "--format", format, "--output", str(path), *more)
    call_command("export", "harbours", *about, stderr=io.StringIO())
    return path


def about_images(campaign: Campaign) -> dict[str, Image]:
    return {entry.key: entry.image for entry in campaign.collection.entries.select_related("image")}


def test_a_shard_has_each_image_that_may_be_copied_beside_what_is_known_of_it(drawn, tmp_path):
    with tarfile.open(exported(tmp_path / "a.tar", "webdataset")) as shard:
        contents = {member.name: shard.extractfile(member).read() for member in shard}
    images = about_images(drawn)
    parts = [f"{images[key].sha256}.{suffix}" for key in KEYS if key != "tower" for suffix in ("webp", "json")]
    assert list(contents) == [*parts, "not_copied"]
    harbour = json.loads(contents[f"{images['harbour'].sha256}.json"])
    assert (harbour["image_key"], harbour["licence"], len(harbour["de"]["caption"])) == ("harbour", "CC BY 4.0", 2)
    assert contents[f"{images['harbour'].sha256}.webp"] == file_storage.largest_size(images["harbour"])


@pytest.mark.filterwarnings("ignore")
def test_datasets_opens_the_folder_with_its_images(drawn, tmp_path, monkeypatch):
    from datasets import load_dataset

    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    path = exported(tmp_path / "a.zip", "huggingface-images")
    rows = load_dataset("imagefolder", data_files=str(path), split="train")
    assert rows["image_key"][:] == list(KEYS[:3])
    assert [row["image"].getpixel((0, 0)) for row in rows] == [(0, 0, 0), (50, 0, 0), (100, 0, 0)]
    assert sorted(rows[0]["ar"]["caption"]) == ["قوارب في المساء 1", "ميناء صغير 1"]
    left = json.loads(zipfile.ZipFile(path).read("not_copied.jsonl"))
    assert (left["image_key"], left["image_url"]) == ("tower", "https://example.org/t")
    images, captions, beside = recognise([path]).files
    assert (len(images.images), captions.captions, beside.captions) == (3, 16, 4)


@pytest.mark.filterwarnings("ignore")
def test_datasets_opens_a_file_with_addresses_instead_of_images(drawn, tmp_path, monkeypatch):
    from datasets import load_dataset

    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    Image.objects.filter(entries__key="market").update(source="A book")
    path = exported(tmp_path / "a.jsonl", "huggingface-addresses")
    rows = load_dataset("json", data_files=str(path), split="train")
    assert rows["image"][:] == list(KEYS)
    anywhere = "https://example.org/images"
    assert rows["image_url"][:] == [anywhere, None, anywhere, "https://example.org/t"]
    assert rows[3]["licence"] == "All rights reserved"
    assert sorted(rows[0]["ar"]["caption"]) == ["قوارب في المساء 1", "ميناء صغير 1"]


@pytest.mark.filterwarnings("ignore")
def test_datasets_opens_a_shard(drawn, tmp_path, monkeypatch):
    from datasets import load_dataset

    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    exported(tmp_path / "a.tar", "webdataset")
    rows = load_dataset("webdataset", data_files=str(tmp_path / "a.tar"), split="train")
    assert [row["json"]["image_key"] for row in rows] == list(KEYS[:3])
    assert rows[1]["webp"].getpixel((0, 0)) == (50, 0, 0)


def texts_of(project: Project, sha256_of: Mapping[str, str]) -> dict[str, dict[str, list[str]]]:
    lines = map(json.loads, exported_text(project, "captions", "xm3600", until=timezone.now()).splitlines())
    return {
        sha256_of[line["image/key"]]: {tag: sorted(of["caption"]) for tag, of in line.items() if "/" not in tag}
        for line in lines
    }


@pytest.mark.parametrize(("format", "suffix"), [("webdataset", "tar"), ("huggingface-images", "zip")])
def test_what_comes_in_again_by_the_import_is_equal(drawn, format, suffix, tmp_path):
    said = {"licence": "CC BY 4.0", "author": "Ann", "title": "A place", "source": "https://e.org/1"}
    Image.objects.update(**said)
    path, project = exported(tmp_path / f"a.{suffix}", format), make_project("again")
    into = ("--project", "again", "--collection", "again", "--as", CAPTIONS_BY_PEOPLE, "--source", "Harbours")
    call_command("import", str(path), *into, stdout=io.StringIO(), stderr=io.StringIO())
    keys = project.rounds.first().collection.entries.values_list("key", flat=True)
    before = texts_of(drawn.project, {key: image.sha256 for key, image in about_images(drawn).items()})
    assert texts_of(project, {key: key.removesuffix(".webp") for key in keys}) == before
    assert len(before) == 4
    again = Image.objects.filter(entries__collection=project.rounds.first().collection)
    assert list(again.values(*said)) == [said] * 4


@pytest.mark.filterwarnings("ignore")
def test_an_image_that_is_not_in_storage_is_named_and_the_file_is_whole(drawn, tmp_path, monkeypatch):
    from datasets import load_dataset

    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    image = about_images(drawn)["market"]
    file_storage.remove_all(file_storage.size_name(image.public_id, 800))
    archive, shard = exported(tmp_path / "a.zip", "huggingface-images"), exported(tmp_path / "a.tar", "webdataset")
    with tarfile.open(shard) as opened:
        lists = [opened.extractfile("not_copied").read(), zipfile.ZipFile(archive).read("not_copied.jsonl")]
    left = [[(line["image"], line["reason"]) for line in map(json.loads, one.splitlines())] for one in lists]
    assert left == [[("market", "not in storage"), ("tower", "licence")]] * 2
    rows = load_dataset("webdataset", data_files=str(shard), split="train")
    assert [row["json"]["image_key"] for row in rows] == ["harbour", "=stairs"]
    assert [len(file.images) for file in recognise([shard]).files if file.kind == "images"] == [2]
