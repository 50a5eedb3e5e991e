"""Imports by the API: the same service, preview and permissions as the page's and the command's."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from core.images.models import Collection, ImportJob
from core.people.models import Project
from research.inference.models import CaptioningModel, ModelCaption
from research.scoring.models import ReferenceSet
from tests.clients import client_of
from tests.factories import make_collection, make_language, make_project
from tests.imports.sent import run
from tests.scoring.scored import make_references, make_scoring

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]

IMPORTS = "/api/v1/projects/lions/imports/"


@pytest.fixture
def project() -> Project:
    return make_project("lions")


@pytest.fixture
def client(project: Project) -> Client:
    return client_of(project.created_by)


def sent(client: Client, content: bytes, **about: Any) -> dict[str, Any]:
    files = {"files": [SimpleUploadedFile("blip.jsonl", content)]}
    response = client.post(IMPORTS, files | about)
    assert response.status_code == 202, response.json()
    assert response["Location"] == f"/api/v1/jobs/import-{response.json()['id']}/"
    run(ImportJob.objects.get(pk=response.json()["id"]))
    return got(client, response.json()["id"])


def got(client: Client, number: int) -> dict[str, Any]:
    job: dict[str, Any] = client.get(f"{IMPORTS}{number}/").json()
    return job


def test_a_file_goes_in_by_the_api_as_the_command_previews_it_and_is_taken_out_again(client, project, tmp_path):
    collection = make_collection(images=1, project=project, is_shared=False)
    line = b'{"image": "%s", "caption": "a", "model": "blip"}\n' % collection.entries.get().key.encode()
    job = sent(client, line, collection=collection.slug)
    assert [one["answer"] for one in job["missing"]] == ["language"]
    assert client.post(f"{IMPORTS}{job['id']}/confirm/").json()["code"] == "import-refused"
    answers = json.dumps({"collection": collection.slug, "language": "de"})
    assert client.put(f"{IMPORTS}{job['id']}/", answers, content_type="application/json").status_code == 202
    run(ImportJob.objects.get())
    job = got(client, job["id"])
    file, output = tmp_path / "blip.jsonl", io.StringIO()
    file.write_bytes(line)
    about = ("--project", "lions", "--collection", collection.slug, "--language", "de")
    with pytest.raises(SystemExit):
        call_command("import", file, *about, "--preview", "--json", stdout=output)
    assert job["preview"] == json.loads(output.getvalue().replace(str(file), "blip.jsonl"))

    assert client.post(f"{IMPORTS}{job['id']}/confirm/").status_code == 202
    run(ImportJob.objects.get())
    (part,) = got(client, job["id"])["parts"]
    assert (part["added"], part["state"], ModelCaption.objects.count()) == (1, "done", 1)
    assert b"added" in client.get(f"{IMPORTS}{job['id']}/report/").getvalue()
    assert [row["id"] for row in client.get(IMPORTS).json()["results"]] == [job["id"]]
    assert client.post(f"{IMPORTS}{job['id']}/undo/").status_code == 202
    run(ImportJob.objects.get(part_of=None))
    assert (got(client, job["id"])["stage"], ModelCaption.objects.count()) == ("undo", 0)


def test_what_scores_build_on_is_not_undone(client, project):
    collection = make_collection(images=1, project=project, is_shared=False)
    line = b'{"image": "%s", "caption": "a", "model": "blip"}\n' % collection.entries.get().key.encode()
    job = sent(client, line, language="de", collection=collection.slug)
    client.post(f"{IMPORTS}{job['id']}/confirm/")
    run(ImportJob.objects.get())
    references = make_references(project=project, collection=collection, language="de")
    make_scoring(references, model=ModelCaption.objects.exclude(import_job=None).get().model)
    answer = client.post(f"{IMPORTS}{job['id']}/undo/")
    assert (answer.status_code, answer.json()["code"]) == (409, "undo-refused")
    assert "scores" in answer.json()["detail"]


def test_what_was_refused_or_stopped_in_the_background_has_failed(client, project, tmp_path):
    """And can be asked for again."""
    collection = make_collection(images=1, project=project, is_shared=False)
    line = b'{"image": "%s", "captions": ["a", "b"]}\n' % collection.entries.get().key.encode()
    number = sent(client, line, language="de", collection=collection.slug)["id"]
    client.post(f"{IMPORTS}{number}/confirm/")
    Collection.objects.update(project=make_project("other"))
    run(ImportJob.objects.get())
    job = got(client, number)
    assert (job["stage"], job["state"], [one["answer"] for one in job["missing"]]) == (
        "preview",
        "failed",
        ["collection"],
    )
    assert "nothing was imported" in job["error"]
    assert client.get(f"/api/v1/jobs/import-{number}/").json()["state"] == "failed"
    page = client.get(reverse("imports:import-show", args=["lions", number]))
    assert "nothing was imported" in page.text
    assert page.context["form"].asked_parts == {"collection", "new_collection"}

    Collection.objects.update(project=project)
    answers = json.dumps({"collection": collection.slug, "language": "de", "name": "R"})
    assert client.put(f"{IMPORTS}{number}/", answers, content_type="application/json").status_code == 202
    run(ImportJob.objects.get())
    assert (got(client, number)["state"], got(client, number)["error"]) == ("done", "")
    client.post(f"{IMPORTS}{number}/confirm/")
    run(ImportJob.objects.get())
    client.post(f"{IMPORTS}{number}/undo/")
    make_scoring(ReferenceSet.objects.get())
    run(ImportJob.objects.get(part_of=None))
    job = got(client, number)
    assert (job["stage"], job["state"], len(job["parts"])) == ("undo", "failed", 1)
    assert "scores" in client.get(f"/api/v1/jobs/import-{number}/").json()["error"]
    page = client.get(reverse("imports:import-show", args=["lions", number])).text
    assert "scores" in page
    assert "was taken out" not in page
    assert "Undo the import" in page


def test_why_no_language_was_begun_is_a_notice_of_an_import_that_is_done(client, project, monkeypatch):
    monkeypatch.setattr("office.imports.services.taking.begin_languages", lambda *_, **__: "No language was begun.")
    collection = make_collection(images=1, project=project, is_shared=False)
    line = b'{"image": "%s", "caption": "a", "model": "blip"}\n' % collection.entries.get().key.encode()
    number = sent(client, line, language="en", collection=collection.slug, languages=["de"])["id"]
    client.post(f"{IMPORTS}{number}/confirm/")
    run(ImportJob.objects.get())
    job = got(client, number)
    assert (job["state"], job["error"], job["notice"]) == ("done", "", "No language was begun.")
    assert "No language was begun." in client.get(reverse("imports:import-show", args=["lions", number])).text


def test_wrong_answers_are_refused_by_their_field(client):
    wrong = {"language": "xx", "collection": "none", "kind": "x", "paths": '["../a"]', "map.x": "a"}
    for field, value in wrong.items():
        answer = client.post(IMPORTS, {"files": [SimpleUploadedFile("a.jsonl", b"{}")], field: value})
        assert (answer.status_code, list(answer.json()["errors"])) == (422, [field.partition(".")[0]])
    assert client.post(IMPORTS, {}).json()["errors"].keys() == {"files"}
    assert not ImportJob.objects.exists()


def test_a_preview_is_discarded(client):
    job = sent(client, b"{}")
    assert client.delete(f"{IMPORTS}{job['id']}/").status_code == 204
    assert not ImportJob.objects.exists()


def test_languages_and_people_are_said_with_the_files(client, project):
    line = b'{"image": "b1", "caption": "a", "model": "blip"}\n'
    job = sent(client, line, language="de", languages=["sw", "te"], places=3, new_collection="New")
    assert ImportJob.objects.get().options["wish"] == {
        "language": "de", "languages": ["sw", "te"], "places": 3, "new_collection": "New"
    }  # fmt: skip
    assert [one["answer"] for one in job["missing"]] == ["collection"]
    unknown = json.dumps({"languages": ["xx"]})
    assert client.put(f"{IMPORTS}{job['id']}/", unknown, content_type="application/json").status_code == 422


def test_judgements_come_in_and_say_where_they_are_from(client, project):
    collection = make_collection(images=1, project=project, is_shared=False)
    for name in ("small", "large"):
        model = CaptioningModel.objects.create(name=name, project=project)
        ModelCaption.objects.create(
            model=model, image=collection.entries.get().image, language_id=make_language("de").pk, text=name
        )
    about = {"base_model": "small", "test_model": "large", "language": "de", "rater": "ann", "score": 1}
    line = json.dumps({"image": collection.entries.get().key, **about}).encode()
    job = sent(client, line, collection=collection.slug, source="An older study")
    (one,) = job["preview"]["files"][0]["comparisons"]
    assert (one["test_model"], one["judgements"], one["raters"]) == ("large", 1, 1)
    client.post(f"{IMPORTS}{job['id']}/confirm/")
    run(ImportJob.objects.get())
    (comparison,) = client.get("/api/v1/projects/lions/comparisons/").json()["results"]
    assert (comparison["source"], comparison["progress"]["done"]) == ("An older study", 1)
    pairs = client.post(f"/api/v1/projects/lions/comparisons/{comparison['id']}/pairs/")
    assert (pairs.status_code, pairs.json()["code"]) == (409, "comparison-refused")
    client.post(f"{IMPORTS}{job['id']}/undo/")
    run(ImportJob.objects.get(part_of=None))
    assert got(client, job["id"])["parts"] == []
    assert client.get("/api/v1/projects/lions/comparisons/").json()["results"] == []
