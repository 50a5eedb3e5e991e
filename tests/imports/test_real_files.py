"""Files that others published, or that their own programs write, come in by the import and go out by the export."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from django.core.management import call_command
from django.utils import timezone

from core.images.models import Collection, CollectionImage, Image
from core.images.tasks import make_sizes
from core.people.models import Project
from crosslens_metrics.formats.recognised_files import CAPTIONS_BY_PEOPLE
from research.scoring.models import Reference
from tests.exported import exported_text
from tests.factories import make_keyed_collection, make_project
from tests.published import published

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media"), pytest.mark.filterwarnings("ignore")]

Captions = dict[str, list[str]]
"""The captions of each image in one language, in the order of the alphabet."""


def grouped(pairs: list[tuple[str, str]]) -> Captions:
    found = defaultdict[str, list[str]](list)
    for name, text in pairs:
        found[Path(name).stem].append(text)
    return {key: sorted(texts) for key, texts in sorted(found.items())}


def bring(path: Path, collection: Collection | str, project: Project, *more: str) -> None:
    slug = collection if isinstance(collection, str) else collection.slug
    into = ("--project", project.slug, "--collection", slug, "--as", CAPTIONS_BY_PEOPLE, "--source", "Published")
    call_command("import", str(path), *into, *more, stdout=io.StringIO(), stderr=io.StringIO())


def said(project: Project, language: str = "en") -> Captions:
    text = exported_text(project, "captions", "xm3600", until=timezone.now(), languages=[language])
    lines = map(json.loads, text.splitlines())
    return {key: sorted(line[language]["caption"]) for line in lines if (key := Path(line["image/key"]).stem)}


def exported(project: Project, format: str, path: Path) -> Path:
    about = ("--what", "captions", "--format", format, "--output", str(path))
    call_command("export", project.slug, *about, stderr=io.StringIO())
    return path


def goes_in_and_out(path: Path, expected: Captions, format: str, out: Path, *more: str) -> Path:
    """Import a file, export what it brought, and import that as well: nothing is lost on the way."""
    collection, first, second = make_keyed_collection([*expected]), make_project("first"), make_project("second")
    bring(path, collection, first, "--language", "en", *more)
    assert said(first) == expected
    bring(exported(first, format, out), collection, second, "--language", "en")
    assert said(second) == expected
    return out


def karpathy(path: Path) -> Captions:
    images = json.loads(path.read_text("utf-8"))["images"]
    return grouped([(image["filename"], one["raw"]) for image in images for one in image["sentences"]])


def flickr30k(path: Path) -> Captions:
    rows = csv.reader(path.read_text("utf-8").splitlines()[1:], delimiter="|")
    return grouped([(name, text.strip()) for name, _number, text in rows])


@pytest.mark.parametrize(
    ("name", "read", "format", "suffix"),
    [
        ("06-karpathy.json", karpathy, "label-studio", "json"),
        ("06-flickr30k.csv", flickr30k, "csv", "csv"),
    ],
)
def test_a_file_that_somebody_reported(name, read: Callable[[Path], Captions], format, suffix, tmp_path):
    path = published("reported") / name
    expected = read(path)
    assert [len(texts) for texts in expected.values()] == [2, 2]
    goes_in_and_out(path, expected, format, tmp_path / f"out.{suffix}")


@pytest.mark.parametrize("name", ["07-excel-sep-line.zip", "07-header-capitals-spaces.zip"])
def test_a_zip_whose_manifest_a_spreadsheet_wrote(name):
    path = published("reported") / name
    call_command("import", str(path), "--collection", "Sheets", "--strict", stdout=io.StringIO())
    entry = CollectionImage.objects.select_related("image").get()
    assert (entry.key, entry.image.licence) != ("a", "")


def test_what_pycocotools_writes_of_results_and_reads_of_ours(tmp_path, capsys):
    from pycocotools.coco import COCO

    folder = published("coco_example")
    results = json.loads((folder / "candidates.json").read_text("utf-8"))[:40]
    written = COCO(str(folder / "references.json")).loadRes(results).dataset
    path = tmp_path / "results.json"
    path.write_text(json.dumps(written), encoding="utf-8")

    out = goes_in_and_out(path, grouped([(str(one["image_id"]), one["caption"]) for one in results]), "coco",
                          tmp_path / "out.json")  # fmt: skip
    coco = COCO(str(out))
    names = {number: image["file_name"] for number, image in coco.imgs.items()}
    read = grouped([(names[one["image_id"]], one["caption"]) for one in coco.anns.values()])
    assert read == grouped([(str(one["image_id"]), one["caption"]) for one in results])


@pytest.fixture
def stamps(tmp_path) -> tuple[Path, list[dict[str, Any]]]:
    """A folder with four pictures of Tux Paint, and what is said of each in English and German."""
    folder = published("tux")
    listed = json.loads((folder / "manifest.json").read_text("utf-8"))
    chosen = [one for one in listed if {"en", "de"} <= one["captions"].keys()][:4]
    home = tmp_path / "stamps"
    home.mkdir()
    for one in chosen:
        shutil.copy(folder / one["file"], home)
    return home, chosen


def test_tables_that_pandas_writes_and_reads(stamps, tmp_path):
    _home, listed = stamps
    rows = [{"image": one["file"], "en": one["captions"]["en"], "de": one["captions"]["de"]} for one in listed]
    pd.DataFrame(rows).to_excel(tmp_path / "stamps.xlsx", index=False)

    english = grouped([(row["image"], row["en"]) for row in rows])
    out = goes_in_and_out(tmp_path / "stamps.xlsx", english, "xlsx", tmp_path / "out.xlsx")
    assert said(Project.objects.get(slug="second"), "de") == grouped([(row["image"], row["de"]) for row in rows])
    assert sorted(pd.read_excel(out)["caption"]) == sorted(row[tag] for row in rows for tag in ("en", "de"))


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_metadata_that_datasets_writes_beside_images(stamps, suffix):
    from datasets import Dataset

    home, listed = stamps
    texts: list[Any] = [one["captions"]["en"] if suffix == "csv" else [*one["captions"].values()][:2] for one in listed]
    rows = Dataset.from_dict({"file_name": [one["file"] for one in listed], "text": texts})
    write = {"csv": rows.to_csv, "jsonl": rows.to_json, "parquet": rows.to_parquet}
    write[suffix](str(home / f"metadata.{suffix}"))
    project = make_project("lions")
    options = ("--project", "lions", "--collection", "Stamps", "--language", "en", "--as", "references", "--strict")
    call_command("import", str(home), *options, stdout=io.StringIO(), stderr=io.StringIO())

    keys = dict(CollectionImage.objects.filter(collection__project=project).values_list("image", "key"))
    found = grouped([(keys[image], text) for image, text in Reference.objects.values_list("image", "text")])
    pairs = zip(listed, texts, strict=True)
    assert found == grouped([(one["file"], text) for one, of in pairs for text in ([of] if suffix == "csv" else of)])


@pytest.mark.parametrize(
    ("format", "suffix", "builder"), [("huggingface-images", "zip", "imagefolder"), ("webdataset", "tar", "webdataset")]
)
def test_real_images_go_out_to_datasets_and_come_in_again(format, suffix, builder, tmp_path, monkeypatch):
    from datasets import load_dataset

    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    folder, home = published("photos"), tmp_path / "photos"
    free = [one for one in json.loads((folder / "manifest.json").read_text("utf-8")) if one["license"] == "CC0-1.0"]
    home.mkdir()
    for one in (listed := sorted(free, key=lambda one: one["bytes"])[:3]):
        shutil.copy(folder / one["file"], home)
    lines = [{"file_name": one["file"], "text": f"Picture of {one['file']}", "licence": "CC0 1.0"} for one in listed]
    (home / "metadata.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    first, second = make_project("first"), make_project("second")
    bring(home, "Photographs", first, "--language", "en")
    for image in Image.objects.all():
        make_sizes(image.pk)
    expected = grouped([(line["file_name"], line["text"]) for line in lines])
    assert said(first) == expected

    out = exported(first, format, tmp_path / f"out.{suffix}")
    rows = load_dataset(builder, data_files=str(out), split="train")
    sizes = {(entry.image.width, entry.image.height) for entry in CollectionImage.objects.select_related("image")}
    assert {row["image" if builder == "imagefolder" else "webp"].size for row in rows} == sizes
    bring(out, "Again", second)
    assert sorted(said(second).values()) == sorted(expected.values())
