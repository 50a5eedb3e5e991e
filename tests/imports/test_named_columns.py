"""Columns that somebody names, whatever the table holds: judgements, images, sentences of the game."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from core.images.models import Collection, ImportJob
from core.people.models import Project
from gapgame.models import GapItem
from research.inference.models import CaptioningModel, ModelCaption
from sxs_eval.models import Comparison, Judgement
from tests.clients import client_of
from tests.factories import make_collection, make_language, make_project
from tests.images.image_files import image_file
from tests.imports.sent import confirmed, run
from tests.imports.test_import_command import looked_at
from tests.imports.test_import_command import run as imported
from tests.imports.test_import_pages import show, upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]
WINNERS = """foto;wer;links;rechts;besser
{key};ann;small;large;large
{key};bob;large;small;links
{key};cem;small;large;tie
"""
NAMED = {"image": "foto", "rater": "wer", "left": "links", "right": "rechts", "winner": "besser"}


@pytest.fixture
def project() -> Project:
    return make_project("lions")


@pytest.fixture
def collection(project: Project) -> Collection:
    collection = make_collection(images=1, project=project, is_shared=False)
    for name in ("small", "large"):
        model = CaptioningModel.objects.create(name=name, project=project)
        image, tag = collection.entries.get().image, make_language("de").pk
        ModelCaption.objects.create(model=model, image=image, language_id=tag, text=name)
    return collection


def winners(collection: Collection) -> str:
    return WINNERS.format(key=collection.entries.get().key).replace(";links\n", ";left\n")


def scores() -> list[tuple[Any, ...]]:
    rows = Judgement.objects.order_by("pk").values_list("score", "test_is_left")
    return sorted(rows)


def test_judgements_that_say_who_won_come_in_on_the_page_with_their_columns_named(project, collection):
    client = client_of(project.created_by)
    file = SimpleUploadedFile("w.csv", winners(collection).encode())
    job = upload(client, file, collection=collection.slug)
    assert [part for part, _text in job.options["gaps"]] == ["map"]
    assert "column_rater" not in client.get(show(job)).context["form"].fields
    about = {"collection": collection.slug, "language": "de"}
    client.post(show(job), {**about, "table": "judgements"})
    page = client.get(show(run(job)))
    assert {"table", "column_winner"} <= {field.name for field in page.context["form"].asked}
    assert "ann</td>" in page.text
    named = about | {"table": "judgements"} | {f"column_{part}": name for part, name in NAMED.items()}
    client.post(show(job), named)
    (seen,) = run(job).options["preview"][0]["comparisons"]
    assert (seen["base_model"], seen["test_model"], seen["judgements"], job.options["gaps"]) == (
        "large",
        "small",
        3,
        [],
    )
    assert "ann" in str(job.options)
    client.post(show(job), named)
    assert run(job).stage == "import"
    assert "ann" not in str(job.options)
    # The base model's name comes first; large won on the right, and on the left, and was as good.
    assert scores() == [(-2, False), (-2, True), (0, True)]
    assert Comparison.objects.get().scale == 5


@pytest.mark.parametrize("winner", ["huge", "0", "1", "2"])
def test_judgements_by_the_command_and_a_winner_that_is_neither(tmp_path, project, collection, winner):
    file = tmp_path / "w.csv"
    file.write_text(winners(collection))
    said = ["--map", *(f"{part}={name}" for part, name in NAMED.items()), "--language", "de"]
    imported(file, "--project", "lions", "--collection", collection.slug, *said)
    assert len(scores()) == 3
    file.write_text(winners(collection).replace(";tie", f";{winner}"))
    (seen,), status = looked_at(file, *said)
    (problem,) = seen["problems"]
    assert (status, problem["example"]) == (1, "line 4")
    assert f"winner is “{winner}”. Give one of: left, right, tie, small, large" in problem["kind"]
    (seen,), _status = looked_at(file, "--map", "winner=besser", "rater=wer", "image=foto")
    assert seen["problems"][0]["kind"].startswith("The file has no column “left”, “right”. It has: foto")


def test_own_columns_of_judgements_are_named_one_by_one(project, collection):
    key = collection.entries.get().key
    line = {"picture": key, "rater": "ann", "score": 1, "base_model": "small", "test_model": "large"}
    wish = {"collection": collection.slug, "language": "de", "said": {"image": "picture"}}
    run(confirmed(json.dumps(line).encode(), "j.jsonl", project=project, **wish))
    assert Judgement.objects.get().score == 1


@pytest.mark.parametrize("form", ["folder", "alone"])
def test_columns_of_a_manifest(tmp_path: Path, form: str) -> None:
    (tmp_path / "b1.jpg").write_bytes(image_file())
    (tmp_path / "fotos.csv").write_text("Datei;Lizenz;Wer;key\nb1.jpg;CC BY 4.0;Ann;hill\n")
    path = tmp_path if form == "folder" else tmp_path / "fotos.csv"
    said = ["--map", "file=Datei", "licence=Lizenz", "author=Wer"]
    (seen,), status = looked_at(path, *said)
    assert (status, seen["kind"], seen["images"]["matched"], seen["licences"]) == (0, "images", 1, {"CC BY 4.0": 1})
    imported(path, "--collection", "C", *said)
    entry = Collection.objects.get(name="C").entries.get()
    assert (entry.key, entry.image.licence, entry.image.author) == ("hill", "CC BY 4.0", "Ann")


@pytest.mark.parametrize("said", [["image=file_name"], []])
def test_a_licence_in_a_column_of_another_name_beside_captions(tmp_path: Path, said: list[str]) -> None:
    (tmp_path / "b1.jpg").write_bytes(image_file())
    (tmp_path / "metadata.csv").write_text("file_name,text,Lizenz\nb1.jpg,A hill.,CC BY 4.0\n")
    wish = ["--map", "licence=Lizenz", *said, "--language", "en", "--model", "m"]
    seen, _status = looked_at(tmp_path, *wish)
    assert [(one["kind"], one["licences"]) for one in seen] == [
        ("images", {"CC BY 4.0": 1}),
        ("model captions", {"CC BY 4.0": 1}),
    ]
    imported(tmp_path, "--collection", "C", *wish)
    assert Collection.objects.get(name="C").entries.get().image.licence == "CC BY 4.0"
    (tmp_path / "c.csv").write_text("image,text,Lizenz\nb1.jpg,A hill.,CC BY 4.0\n")
    assert looked_at(tmp_path / "c.csv", *wish)[0][0]["kind"] == "model captions"


def test_columns_of_sentences_of_the_game_by_the_api(project):
    client, address = client_of(project.created_by), reverse("api:import-list", args=["lions"])
    table = "Satz,Wort,Bilder,language,split\nA ____ sleeps.,cat,c1.png; c2.png,en,1\n"
    pictures = [SimpleUploadedFile(f"c{n}.png", image_file("PNG", size=(60 + n, 48))) for n in (1, 2)]
    files = [SimpleUploadedFile("s.csv", table.encode()), *pictures]
    said = {"map.sentence": "Satz", "map.word": "Wort", "map.images": "Bilder"}
    make_language("en")
    number = client.post(address, {"files": files, **said}).json()["id"]
    job = run(ImportJob.objects.get(pk=number))
    assert (job.options["gaps"], job.options["wish"]["said"]["word"]) == ([], "Wort")
    client.post(f"{address}{number}/confirm/")
    run(job)
    item = GapItem.objects.get()
    assert (item.word, item.images.count()) == ("cat", 2)


def test_several_tables_each_have_the_columns_that_are_named(tmp_path, project, collection):
    key = collection.entries.get().key
    (tmp_path / "j.csv").write_text(winners(collection))
    (tmp_path / "c.csv").write_text(f"foto,Text\n{key},Ein Hund\n")
    said = ["--map", *(f"{part}={name}" for part, name in NAMED.items()), "caption=Text", "--language", "de"]
    seen, _status = looked_at(tmp_path / "j.csv", tmp_path / "c.csv", *said)
    assert [one["kind"] for one in seen] == ["judgements", "captions"]


def test_a_table_that_names_images_which_are_not_here_may_hold_something_else(project, collection):
    client = client_of(project.created_by)
    key = collection.entries.get().key
    job = upload(client, SimpleUploadedFile("t.csv", f"file,lang,system,txt\n{key},de,m,Ein Hund\n".encode()))
    assert [part for part, _text in job.options["gaps"]] == ["map"]
    about = {"collection": collection.slug, "table": "captions"}
    client.post(show(job), about)
    columns = {"image": "file", "caption": "txt", "language": "lang", "model": "system"}
    client.post(show(run(job)), about | {f"column_{part}": name for part, name in columns.items()})
    (seen,) = run(job).options["preview"]
    assert (seen["by_model"], job.options["gaps"]) == ({"m": {"de": 1}}, [])
    assert seen["images"] == {"matched": 1, "unknown": 0}
