"""Tables about images: what the preview takes for one, the import reads, in any form and under any name."""

from __future__ import annotations

import gzip
import io
import unicodedata
import zipfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow
import pytest
from django.core.management import CommandError
from pyarrow import parquet

from core.images.models import Collection, ImportOutcome, ImportRow
from research.inference.models import ModelCaption
from tests.images.image_files import image_file
from tests.imports.test_import_command import looked_at, run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]
ROW = {"license": "CC BY 4.0", "author": "Ann", "key": "hill", "taken": date(2026, 1, 2)}


def table(column: str, separator: str = ",") -> bytes:
    rows = ([column, *ROW], ["b1.jpg", *map(str, ROW.values())])
    return "".join(separator.join(row) + "\n" for row in rows).encode()


def workbook(column: str) -> bytes:
    book, content = openpyxl.Workbook(), io.BytesIO()
    for row in ([column, *ROW], ["b1.jpg", *ROW.values()]):
        book.active.append(row)
    book.save(content)
    return content.getvalue()


def columns(column: str) -> bytes:
    content = io.BytesIO()
    parquet.write_table(pyarrow.table({name: [value] for name, value in {column: "b1.jpg", **ROW}.items()}), content)
    return content.getvalue()


FORMS: dict[str, Callable[[str], bytes]] = {
    "photos.csv": table,
    "photos.tsv": lambda column: table(column, "\t"),
    "photos.csv.gz": lambda column: gzip.compress(table(column)),
    "photos.xlsx": workbook,
    "photos.parquet": columns,
    "photos.txt": lambda column: table(column, ";"),
}


def stored() -> list[tuple[Any, ...]]:
    about = ("key", "image__licence", "image__author")
    return list(Collection.objects.get(name="C").entries.values_list(*about))


@pytest.mark.parametrize("column", ["file", "file_name"])
@pytest.mark.parametrize("name", FORMS)
def test_what_the_preview_takes_for_a_manifest_is_imported(tmp_path: Path, name: str, column: str) -> None:
    (tmp_path / "b1.jpg").write_bytes(image_file())
    (tmp_path / name).write_bytes(FORMS[name](column))
    files, status = looked_at(tmp_path / name)
    assert (status, [(file["kind"], file["format"]) for file in files]) == (0, [("images", "manifest of images")])
    run(tmp_path / name, "--collection", "C")
    assert stored() == [("hill", "CC BY 4.0", "Ann")]
    assert str(Collection.objects.get(name="C").entries.get().image.extra["taken"]).startswith("2026-01-02")


@pytest.mark.parametrize("folder", ["", "boats/"])
@pytest.mark.parametrize("name", ["metadata.csv", "photos.xlsx", "manifest.csv"])
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_table_about_the_images_beside_it_is_their_manifest(
    tmp_path: Path, is_packed: bool, name: str, folder: str
) -> None:
    content = workbook("file_name") if name.endswith("xlsx") else table("file_name")
    home = tmp_path / "data"
    (home / folder).mkdir(parents=True)
    (home / folder / "b1.jpg").write_bytes(image_file())
    (home / folder / name).write_bytes(content)
    if is_packed:
        with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
            for one in ("b1.jpg", name):
                archive.write(home / folder / one, f"{folder}{one}")
        home = tmp_path / "data.zip"
    [file], status = looked_at(home)
    assert (status, file["images"]["matched"], file["problems"]) == (0, 1, [])
    assert "Not imported: 0" in run(home, "--collection", "C")
    assert stored() == [("hill", "CC BY 4.0", "Ann")]


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("folder", ["", "Fotos é/"])
def test_names_from_macos_match_the_manifest_and_the_captions_beside_them(
    tmp_path: Path, folder: str, is_packed: bool
) -> None:
    captions = "image,caption,model\nZoë.jpg,Ein roter Hügel.,m\n"
    files = {
        "Zoë.jpg": image_file(),
        "manifest.csv": "file,licence\nZoë.jpg,CC BY 4.0\n".encode(),
        "Sätze.de.csv": captions.encode(),
    }
    home = tmp_path / "data"
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        for name, content in files.items():
            inside = unicodedata.normalize("NFD", folder + name)
            (home / inside).parent.mkdir(parents=True, exist_ok=True)
            (home / inside).write_bytes(content)
            archive.writestr(inside, content)
    path = tmp_path / "data.zip" if is_packed else home
    (images, model), status = looked_at(path, "--collection", "C")
    assert (status, images["problems"], model["problems"]) == (0, [], [])
    assert images["images"] == model["images"] == {"matched": 1, "unknown": 0}
    assert images["licences"] == model["licences"] == {"CC BY 4.0": 1}
    assert run(path, "--collection", "C").count("Not imported: 0") == 2
    assert ModelCaption.objects.get().image.entries.get().file_name == "Zoë.jpg"


@pytest.mark.parametrize("name", ["b1.jpg", "b1", "hill"])
def test_captions_name_images_that_come_by_their_files_or_by_the_keys_of_a_manifest(tmp_path: Path, name: str) -> None:
    (tmp_path / "b1.jpg").write_bytes(image_file())
    (tmp_path / "manifest.csv").write_bytes(table("file"))
    (tmp_path / "m.de.csv").write_text(f"image,caption,model\n{name},Ein roter Hügel.,m\n", encoding="utf-8")
    (_images, model), _status = looked_at(tmp_path, "--collection", "C")
    assert (model["images"], model["licences"]) == ({"matched": 1, "unknown": 0}, {"CC BY 4.0": 1})
    run(tmp_path, "--collection", "C")
    assert ModelCaption.objects.get().image.entries.get().key == "hill"


@pytest.mark.parametrize("is_alone", [False, True])
def test_lines_that_the_import_refuses_are_problems_of_the_preview(tmp_path: Path, is_alone: bool) -> None:
    for number in range(4):
        (tmp_path / f"b{number}.jpg").write_bytes(image_file(size=(64, 48 + number)))
    lines = ("b0.jpg,95,3,", "b1.jpg,1,2,ftp:x", ",1,2,", "b3.jpg,1,2,,x", "b2.jpg,1,2,")
    (tmp_path / "manifest.csv").write_text("\n".join(["file,latitude,longitude,licence_url", *lines]))
    path = tmp_path / "manifest.csv" if is_alone else tmp_path
    ([seen], _status) = looked_at(path)
    run(path, "--collection", "C")
    refused = ImportRow.objects.filter(outcome=ImportOutcome.REJECTED, reason__startswith="line ")
    reasons = {reason.partition(" of the manifest: ")[2] for reason in refused.values_list("reason", flat=True)}
    assert len(reasons) == 4
    assert sum(one["count"] for one in seen["problems"] if one["kind"] in reasons) == 4
    assert seen["images"]["matched"] == 1


def test_two_manifests_are_refused_by_the_preview_as_by_the_import(tmp_path):
    (tmp_path / "b1.jpg").write_bytes(image_file())
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_bytes(table("file"))
    [file], status = looked_at(tmp_path)
    assert (status, file["kind"], file["problems"][0]["kind"]) == (
        1,
        "unknown",
        "There are 2 manifests: a.csv, b.csv. Keep one.",
    )
    with pytest.raises(CommandError, match="There are 2 manifests"):
        run(tmp_path, "--collection", "C")


def test_a_manifest_that_lies_deeper_is_left_out_by_both(tmp_path):
    for split in ("train", "test"):
        (tmp_path / split).mkdir()
        (tmp_path / split / "b1.jpg").write_bytes(image_file())
    (tmp_path / "train" / "photos.csv").write_bytes(table("file_name"))
    [file], _status = looked_at(tmp_path)
    assert [(one["kind"].split(",")[0], one["example"]) for one in file["problems"]] == [
        ("This is neither an image nor a file of captions", "train/photos.csv")
    ]
    run(tmp_path, "--collection", "C")
    assert {licence for _key, licence, _author in stored()} == {""}


def test_metadata_in_the_folders_of_splits_say_whose_the_images_there_are(tmp_path):
    for number, split in enumerate(("train", "test")):
        (tmp_path / split).mkdir()
        (tmp_path / split / "b1.jpg").write_bytes(image_file(size=(60 + number, 48)))
        lines = f"file_name,text,licence\nb1.jpg,a hill,{['CC BY 4.0', 'CC0 1.0'][number]}\n"
        (tmp_path / split / "metadata.csv").write_text(lines)
    run(tmp_path, "--collection", "C", "--language", "en", "--model", "m")
    assert sorted(stored()) == [("test/b1", "CC0 1.0", ""), ("train/b1", "CC BY 4.0", "")]


def beside_a_picture(folder: Path, **files: str) -> list[str]:
    """Put files beside a picture; return what keeps the preview from an import, which says the same."""
    folder.mkdir()
    (folder / "b1.jpg").write_bytes(image_file())
    for name, text in files.items():
        (folder / name).write_text(text)
    [images, *_others], status = looked_at(folder)
    if not status:
        run(folder, "--collection", "C")
        return []
    with pytest.raises(CommandError):
        run(folder, "--collection", "C")
    return [one["kind"] for one in images["problems"][:1]]


@pytest.mark.parametrize("name", ["photos.txt", "photos.token", "photos.txt.gz", "photos"])
def test_a_table_under_a_name_that_no_manifest_has_is_left_out_by_both(tmp_path: Path, name: str) -> None:
    (tmp_path / "b1.jpg").write_bytes(image_file())
    (tmp_path / name).write_bytes(gzip.compress(table("file")) if name.endswith("gz") else table("file"))
    [file], _status = looked_at(tmp_path)
    assert [(one["kind"].split(",")[0], one["example"]) for one in file["problems"]] == [
        ("This is neither an image nor a file of captions", name)
    ]
    run(tmp_path, "--collection", "C")
    assert {licence for _key, licence, _author in stored()} == {""}


def test_what_lies_beside_each_image_in_json_is_no_manifest(tmp_path: Path) -> None:
    for number, name in enumerate(("b1", "b2")):
        (tmp_path / f"{name}.jpg").write_bytes(image_file(size=(60 + number, 48)))
        (tmp_path / f"{name}.json").write_text(f'{{"file_name": "{name}.jpg", "license": "CC0 1.0"}}')
    [file], status = looked_at(tmp_path)
    assert (status, file["images"], file["problems"]) == (0, {"matched": 2, "unknown": 0}, [])
    run(tmp_path, "--collection", "C")
    assert [licence for _key, licence, _author in stored()] == ["CC0 1.0", "CC0 1.0"]


@pytest.mark.parametrize("text", ["licence\nCC0 1.0\n", "image,caption\nb1.jpg,A hill.\n", ""])
def test_what_is_called_manifest_and_is_none_is_a_gap(tmp_path: Path, text: str) -> None:
    [reason] = beside_a_picture(tmp_path / "data", **{"manifest.csv": text})
    assert reason.startswith("manifest.csv: ")


def test_what_is_called_manifest_names_the_images_also_where_it_has_captions(tmp_path: Path) -> None:
    manifest = {"manifest.csv": "file_name,text,key,url\nb1.jpg,A hill.,hill,https://example.org/1\n"}
    manifest["photos.csv"] = table("file").decode()
    said = ["--language", "en", "--model", "m"]
    (tmp_path / "b1.jpg").write_bytes(image_file())
    for name, text in manifest.items():
        (tmp_path / name).write_text(text)
    [images, captions], status = looked_at(tmp_path, *said)
    assert (status, images["images"]["matched"], captions["images"]["matched"]) == (0, 1, 1)
    assert [one["example"] for one in images["problems"]] == ["photos.csv"]
    run(tmp_path, "--collection", "C", *said)
    assert [key for key, _licence, _author in stored()] == ["hill"]


def problems_of(folder: Path, *said: str) -> list[tuple[str, int]]:
    """What the preview says of the images there, before the first comma."""
    images, *_others = looked_at(folder, *said)[0]
    return [(one["kind"].partition(",")[0], one["count"]) for one in images["problems"]]


def test_a_file_that_a_manifest_names_twice_is_said_to_be_named_twice(tmp_path: Path) -> None:
    (tmp_path / "b1.jpg").write_bytes(image_file())
    (tmp_path / "manifest.csv").write_text("file,text\n" + "b1.jpg,A hill.\n" * 3)
    said = ["--language", "en", "--as", "references"]
    assert problems_of(tmp_path, *said) == [("The manifest names this file more than once.", 2)]


def test_json_beside_an_image_that_a_manifest_names_is_left_out_by_both(tmp_path: Path) -> None:
    beside = {"manifest.csv": "file\nb1.jpg\n", "b1.json": '{"file_name": "b1.jpg", "license": "CC0 1.0"}'}
    assert beside_a_picture(tmp_path / "data", **beside) == []
    assert problems_of(tmp_path / "data") == [("This is neither an image nor a file of captions", 1)]
    assert {licence for _key, licence, _author in stored()} == {""}


def test_a_table_of_files_is_the_manifest_also_where_its_columns_are_named_as_captions(tmp_path: Path) -> None:
    (tmp_path / "said.csv").write_text("file,words\nb1.jpg,A hill.\n")
    for number, name in enumerate(("b1", "b2")):
        (tmp_path / f"{name}.jpg").write_bytes(image_file(size=(60 + number, 48)))
    said = ["--map", "image=file", "caption=words", "--language", "en", "--model", "m"]
    assert problems_of(tmp_path, *said)[0][0].startswith("The manifest does not name this file.")
    run(tmp_path, *said, "--collection", "C")
    assert len(stored()) == 1


def test_a_column_of_addresses_after_the_file_names_no_file(tmp_path: Path) -> None:
    manifest = {"photos.csv": "file,url\nb1.jpg,https://example.org/1\n"}
    assert beside_a_picture(tmp_path / "data", **manifest) == []
    [file], _status = looked_at(tmp_path / "data")
    assert file["problems"] == []


def test_a_manifest_is_one_for_both_where_columns_of_captions_are_named(tmp_path: Path) -> None:
    (tmp_path / "b1.jpg").write_bytes(image_file())
    (tmp_path / "photos.csv").write_bytes(table("file"))
    (tmp_path / "said.csv").write_text("picture,words\nhill,A hill.\n")
    said = ["--map", "image=picture", "caption=words", "--language", "en", "--model", "m"]
    [images, captions], _status = looked_at(tmp_path, *said)
    assert (images["images"]["matched"], captions["images"]["matched"]) == (1, 1)
