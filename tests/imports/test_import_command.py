"""`manage.py import`: files of several kinds, models and languages at once, looked through before they go in."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from core.images.models import Collection, Image, ImportJob
from office.imports.services.previews import ImportWish, preview
from research.inference.models import CaptioningModel, ModelCaption
from research.scoring.models import Reference, ReferenceSet
from tests.factories import make_collection, make_project
from tests.images.image_files import image_file
from tests.published import published

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


def run(*arguments: Any) -> str:
    output = io.StringIO()
    call_command("import", *map(str, arguments), stdout=output, stderr=output)
    return output.getvalue()


def looked_at(*arguments: Any) -> tuple[list[Any], int]:
    """What a preview says as JSON, and the command's status."""
    output = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("import", *map(str, arguments), "--preview", "--json", stdout=output)
    return json.loads(output.getvalue())["files"], int(ended.value.code or 0)


def write(file: Path, *values: Any) -> Path:
    file.write_text("".join(json.dumps(value) + "\n" for value in values))
    return file


def test_a_job_keeps_its_lease_while_images_are_matched(tmp_path):
    collection, renewed = make_collection(images=1), list[None]()
    wish = ImportWish(collection=collection, language="en", model="blip", is_command=True)
    [one] = preview(
        [write(tmp_path / "a.jsonl", {"image": "a", "caption": "b"})], wish, after_each=lambda: renewed.append(None)
    )
    before = len(renewed)
    assert one.images.number == 0
    assert len(renewed) > before


def test_preview_tells_what_files_are_and_stores_nothing(tmp_path):
    collection = make_collection(images=1)
    key = collection.entries.get().key
    captions = write(
        tmp_path / "blip.de.jsonl",
        {"image": key, "caption": "Ein Hügel", "model": "blip"},
        {"image": "gone", "caption": "", "model": "blip"},
    )
    boxes = write(tmp_path / "boxes.jsonl", {"filename": "b1.jpg", "bbox": []})

    files, status = looked_at(captions, "--collection", collection.slug)
    assert status == 0
    assert files == [
        {
            "path": str(captions),
            "kind": "model captions",
            "format": "JSON Lines",
            "models": ["blip"],
            "by_model": {"blip": {"de": 1}},
            "languages": {"de": 1},
            "images": {"matched": 1, "unknown": 1},
            "licences": {"CC BY 4.0": 1},
            "without_licence": 0,
            "problems": [{"kind": "The caption is empty.", "count": 1, "example": "line 2: gone"}],
        }
    ]
    files, status = looked_at(captions, boxes)
    assert (status, [file["kind"] for file in files]) == (1, ["model captions", "unknown"])
    assert files[0]["images"] == {"matched": 0, "unknown": 2}
    assert not ImportJob.objects.exists()


def test_models_and_languages_come_in_together(tmp_path):
    collection = make_collection(images=2)
    one, two = collection.entries.values_list("key", flat=True)
    both = write(
        tmp_path / "both.jsonl",
        {"image": one, "caption": "a", "language": "en", "model": "x"},
        {"image": two, "caption": "b", "language": "en", "model": "x"},
        {"image": one, "de": {"caption": "c"}, "model": "y"},
    )
    french = write(tmp_path / "captions_val_z_results.fr.json", *[[{"image_id": one, "caption": "d"}]])
    run(both, french, "--collection", collection.slug)

    by = ModelCaption.objects.values_list("model__name", "language", "image__entries__key", "text")
    assert set(by) == {("x", "en", one, "a"), ("x", "en", two, "b"), ("y", "de", one, "c"), ("z", "fr", one, "d")}
    assert CaptioningModel.objects.count() == 3
    assert "Already there: 3" in run(both, "--collection", collection.slug)


def test_line_without_a_model_is_not_the_files_and_does_not_stop_other_files(tmp_path):
    collection = make_collection(images=2)
    one, two = collection.entries.values_list("key", flat=True)
    some = tmp_path / "mixed.csv"
    some.write_text(f"image,caption,model,language\n{one},a,x,de\n{two},b,,\n")
    lost = write(tmp_path / "lost.jsonl", {"image": "gone", "caption": "c", "model": "y", "language": "en"})
    report = tmp_path / "report.csv"
    with pytest.raises(CommandError, match=r"lost.jsonl: Nothing was imported\."):
        run(lost, some, "--collection", collection.slug, "--language", "en", "--report", report)
    assert list(ModelCaption.objects.values_list("model__name", "language", "text")) == [("x", "de", "a")]
    lines = report.read_text(encoding="utf-8").splitlines()
    assert [lines[0].split(",")[0], len(lines)] == ["source", 4]
    assert "No model is named" in lines[3]


def test_two_files_of_one_set_are_refused_because_one_would_replace_the_other(tmp_path):
    project, collection = make_project(), make_collection(images=1)
    key = collection.entries.get().key
    files = [write(tmp_path / f"{name}.de.jsonl", {"image": key, "captions": ["a", "b"]}) for name in ("x", "y")]
    about = ("--project", project.slug, "--collection", collection.slug)
    with pytest.raises(CommandError, match="the second would replace the first"):
        run(*files, *about, "--name", "R")
    run(*files, *about)
    assert set(ReferenceSet.objects.values_list("name", flat=True)) == {"x", "y"}


def test_pictures_and_their_captions_come_out_of_one_archive(tmp_path):
    project = make_project()
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.writestr("b1.jpg", image_file())
        archive.writestr("captions.csv", 'file_name,en,sw\nb1.jpg,"A red, small hill.",Kilima\n')
    run(tmp_path / "data.zip", "--project", project.slug, "--collection", "New", "--as", "references", "--name", "R")

    assert Collection.objects.get(name="New").entries.get().file_name == "b1.jpg"
    assert set(ReferenceSet.objects.values_list("name", "language")) == {("R", "en"), ("R", "sw")}
    assert set(Reference.objects.values_list("text", flat=True)) == {"A red, small hill.", "Kilima"}


def test_sentences_beside_a_list_of_images_are_references(tmp_path):
    project, collection = make_project(), make_collection(images=2)
    (tmp_path / "val.de").write_text("Ein Hügel.\nZwei Hunde, ein Zelt.\n")
    names = [f"{key}.jpg\n" for key in collection.entries.values_list("key", flat=True)]
    (tmp_path / "images.txt").write_text("".join(names))
    run(tmp_path / "val.de", tmp_path / "images.txt", "--project", project.slug, "--collection", collection.slug)
    assert list(Reference.objects.order_by("pk").values_list("text", flat=True)) == [
        "Ein Hügel.",
        "Zwei Hunde, ein Zelt.",
    ]


@pytest.mark.parametrize(
    ("line", "options", "says"),
    [
        ({"image": "b", "caption": "x"}, {}, "does not say who wrote its captions"),
        ({"image": "b", "caption": "x", "model": "m"}, {}, "does not say which language"),
        ({"image": "b", "captions": ["x", "y"]}, {"language": "de"}, "Name it by --collection"),
        ({"image": "b", "captions": ["x", "y"]}, {"language": "de", "collection": "c"}, "belong to a project"),
        ({"filename": "b", "bbox": []}, {}, "This is a doccano export of bounding boxes"),
        ({"image": "b", "rater": "r", "score": 1}, {}, "has judgements"),
        ({"sentence": "a", "word": "b", "images": []}, {}, "has sentences for the game, which belong to a project"),
        ({"foto": "b", "caption": "x"}, {"map": "image"}, "--map needs PART=COLUMN"),
    ],
)
def test_what_is_missing_is_told_before_anything_is_stored(
    tmp_path: Path, line: Any, options: Mapping[str, str], says: str
) -> None:
    fine = write(tmp_path / "fine.jsonl", {"image": "b", "caption": "x", "model": "m", "language": "en"})
    given = [text for name, value in options.items() for text in (f"--{name}", value)]
    with pytest.raises(CommandError, match=says):
        run(fine, write(tmp_path / "file.jsonl", line), *given)
    assert not ImportJob.objects.exists()
    assert not Collection.objects.exists()


def test_columns_that_somebody_named(tmp_path):
    collection = make_collection(images=1)
    (tmp_path / "t.csv").write_text(f"foto;wort\n{collection.entries.get().key};Hügel\n")
    options = ("--map", "image=foto", "caption=wort", "--as", "model captions", "--model", "m", "--language", "de")
    run(tmp_path / "t.csv", "--collection", collection.slug, *options)
    assert ModelCaption.objects.get().text == "Hügel"


def test_every_input_that_somebody_reported_is_recognised_or_refused_with_a_reason():
    refused = []
    for path in sorted(published("reported").glob("*")):
        files, _status = looked_at(path)
        refused += [path.name for file in files if file["kind"] == "unknown"]
        assert all(file["problems"] for file in files if file["kind"] == "unknown")
    assert refused == ["08-panel-placeholder.txt", "10-secret-in-error.env", "README.md", "gpu"]
    ((of_macos,), _status) = looked_at(published("reported/01-nfd-names-macos.zip"))
    assert (of_macos["images"], of_macos["problems"]) == ({"matched": 2, "unknown": 0}, [])


def test_five_files_of_sentences_are_five_references_of_each_image(tmp_path):
    project, collection = make_project(), make_collection(images=2)
    keys = collection.entries.values_list("key", flat=True)
    (tmp_path / "val_images.txt").write_text("".join(f"{key}.jpg\n" for key in keys))
    for number in range(1, 6):
        (tmp_path / f"val.{number}.de").write_text(f"Hügel {number} ist rot.\nHund {number} bellt laut.\n")
    files = sorted(tmp_path.iterdir())
    run(*files, "--project", project.slug, "--collection", collection.slug)
    made = ReferenceSet.objects.get()
    assert (made.name, made.language_id, made.images, made.captions) == ("val", "de", 2, 10)
    first = Reference.objects.filter(image=collection.entries.first().image).order_by("position")
    assert list(first.values_list("text", flat=True)) == [f"Hügel {number} ist rot." for number in range(1, 6)]


def test_images_are_found_by_the_address_that_they_come_from(tmp_path):
    collection = make_collection(images=1)
    image = collection.entries.get().image
    image.source = "https://e.org/a/1.jpg"
    image.save()
    file = tmp_path / "cc.de.tsv"
    file.write_text("ein roter Hügel\thttps://e.org/a/1.jpg\nein Hund\thttps://e.org/a/2.jpg\n")
    run(file, "--collection", collection.slug, "--model", "m")
    assert ModelCaption.objects.get().image == image


def test_languages_that_the_installation_lacks_are_named_only_where_they_would_be_stored(tmp_path):
    file = write(tmp_path / "a.jsonl", {"image": "b", "caption": "x", "model": "m", "language": "xx"})
    assert looked_at(file)[0][0]["problems"] == []
    project = make_project()
    (problem,) = looked_at(file, "--project", project.slug)[0][0]["problems"]
    assert "There is no language xx" in problem["kind"]


def test_a_file_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    file = write(tmp_path / "a.jsonl", {"image": "b", "caption": "x"})

    def refuse(self: Path, *_given: Any, **_named: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    (seen,), status = looked_at(file)
    assert (status, seen["kind"]) == (1, "unknown")
    assert "Permission denied" in seen["problems"][0]["kind"]


def test_a_failed_import_leaves_no_empty_collection(tmp_path):
    (tmp_path / "b1.jpg").write_bytes(b"no image")
    with pytest.raises(CommandError, match="Nothing was imported"):
        run(tmp_path / "b1.jpg", "--collection", "New")
    assert not Collection.objects.exists()


def test_an_import_is_undone_by_its_number(tmp_path):
    collection = make_collection(images=1)
    key = collection.entries.get().key
    said = run(write(tmp_path / "a.de.jsonl", {"image": key, "caption": "x", "model": "m"}))
    run("--undo", said.rpartition("--undo ")[2].strip(".\n"))
    assert not ModelCaption.objects.exists()
    with pytest.raises(CommandError, match="There is no import 999"):
        run("--undo", 999)


def test_captions_are_crossed_by_model_and_language(tmp_path):
    lines = [("x", "en"), ("x", "de"), ("y", "de")]
    both = write(
        tmp_path / "a.jsonl", *({"image": "b", "caption": "a", "model": by, "language": tag} for by, tag in lines)
    )
    (file,), _status = looked_at(both)
    assert (file["by_model"], file["languages"]) == ({"x": {"de": 1, "en": 1}, "y": {"de": 1}}, {"de": 2, "en": 1})
    output = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("import", both, "--preview", stdout=output)
    assert "Models: x 2 (de 1, en 1), y 1\n" in output.getvalue()


def test_licences_are_said_of_images_that_come_and_of_those_that_are_there(tmp_path):
    collection = make_collection(images=2)
    one, two = collection.entries.values_list("key", flat=True)
    Image.objects.filter(entries__key=one).update(licence="CC0 1.0")
    Image.objects.filter(entries__key=two).update(licence="")
    (tmp_path / "b1.jpg").write_bytes(image_file())
    (tmp_path / "b2.jpg").write_bytes(image_file(size=(61, 48)))
    (tmp_path / "manifest.csv").write_text("file,licence\nb1.jpg,CC BY 4.0\nb2.jpg,\n")
    write(tmp_path / "m.de.jsonl", *({"image": name, "caption": "a", "model": "m"} for name in ("b1", one, two, "x")))
    (images, captions), _status = looked_at(tmp_path, "--collection", collection.slug)
    assert (images["licences"], images["without_licence"]) == ({"CC BY 4.0": 1}, 1)
    assert (captions["licences"], captions["without_licence"]) == ({"CC BY 4.0": 1, "CC0 1.0": 1}, 1)
    assert (captions["images"], captions["coming"]) == ({"matched": 3, "unknown": 1}, 1)
    (manifest,), _status = looked_at(tmp_path / "manifest.csv")
    assert (manifest["images"]["matched"], manifest["licences"]) == (2, {"CC BY 4.0": 1})
