"""The page Import: a preview before anything is stored, questions where a file does not say, a report, and undo."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.models import RoundState
from core.images.models import Collection, ImportJob, ImportStage
from core.jobs.models import JobState
from core.people.models import Membership, Project, Role
from office.imports import tasks
from office.imports.selectors import parts_of
from office.imports.services.file_imports import answer, confirm
from research.inference.models import CaptioningModel, ModelCaption
from research.scoring.models import Reference, ReferenceSet
from tests.clients import client_of
from tests.factories import make_collection, make_project, make_user
from tests.images.image_files import image_file
from tests.imports.sent import confirmed, run, send

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def project() -> Project:
    return make_project("lions")


@pytest.fixture
def collection(project: Project) -> Collection:
    return make_collection(images=2, project=project, is_shared=False)


@pytest.fixture
def client(project: Project) -> Client:
    return client_of(project.created_by)


def keys(collection: Collection) -> list[str]:
    return list(collection.entries.values_list("key", flat=True))


def show(job: ImportJob) -> str:
    return reverse("imports:import-show", args=["lions", job.pk])


def upload(client: Client, *files: SimpleUploadedFile, **fields: Any) -> ImportJob:
    response = client.post(reverse("imports:import-create", args=["lions"]), {"images": files, **fields})
    job = ImportJob.objects.filter(part_of=None).latest("pk")
    assert response["Location"] == show(job)
    return run(job)


def test_what_a_file_does_not_say_is_asked_and_nothing_is_stored_before(client, project, collection):
    first, second = keys(collection)
    table = f"foto;text\n{first};Ein Hund\n{second};Zwei Hunde\nx;Drei\n"
    job = upload(client, SimpleUploadedFile("c.csv", table.encode("utf-16")))

    page = client.get(show(job)).text
    assert "foto" in page
    assert "Zwei Hunde" in page
    assert [name for name, _text in job.options["gaps"]] == ["map"]
    client.post(show(job), {"column_image": "foto", "column_caption": "text", "model": "mine"})
    assert [name for name, _text in run(job).options["gaps"]] == ["language"]
    assert not ModelCaption.objects.exists()
    about = {"column_image": "foto", "column_caption": "text", "model": "mine", "language": "de"}
    client.post(show(job), about)
    (file,) = run(job).options["preview"]
    assert (file["languages"], file["images"]) == ({"de": 3}, {"matched": 2, "unknown": 1})
    page = client.get(show(job))
    assert page.context["captions"] == ([("mine", "")], [("de", [3])])
    assert "<bdi>CC BY 4.0</bdi>: 2" in " ".join(page.text.split())
    assert job.options["gaps"] == []
    client.post(show(job), about)
    assert run(job).stage == ImportStage.IMPORT

    captions = ModelCaption.objects.values_list("model__name", "language", "text")
    assert set(captions) == {("mine", "de", "Ein Hund"), ("mine", "de", "Zwei Hunde")}
    assert CaptioningModel.objects.get().project == project
    assert "c.csv" in client.get(show(job)).text
    report = client.get(reverse("images:import-export", args=[job.pk])).getvalue().decode()
    assert [line.split(",")[0] for line in report.split("\n")[:2]] == ["number", "2"]


def test_images_and_captions_sent_together_make_a_collection(client, project):
    image = SimpleUploadedFile("b1.jpg", image_file())
    captions = SimpleUploadedFile("captions.de.jsonl", b'{"image": "b1.jpg", "captions": ["Ein Rot", "Rot"]}\n')
    job = upload(client, image, captions)
    assert {name for name, _text in job.options["gaps"]} == {"collection"}
    assert [file.get("coming") for file in job.options["preview"]] == [None, 1]
    assert "1 of them from these files" in " ".join(client.get(show(job)).text.split())
    client.post(show(job), {"new_collection": "Reds"})
    run(job)
    client.post(show(job), {"new_collection": "Reds"})
    run(job)

    made = Collection.objects.get(name="Reds")
    assert (made.project, made.entries.count(), Reference.objects.count()) == (project, 1, 2)
    client.post(reverse("imports:import-undo", args=["lions", job.pk]))
    assert len(parts_of(job)) == 2
    assert (run(job).stage, job.state) == (ImportStage.UNDO, JobState.DONE)
    assert parts_of(job) == []
    left = (Collection.objects.filter(name="Reds"), ReferenceSet.objects, Reference.objects)
    assert not any(rows.exists() for rows in left)


def test_a_licence_may_be_called_anything(client, project):
    manifest = SimpleUploadedFile("manifest.csv", b"file,licence\nb1.jpg,items\n")
    page = client.get(show(upload(client, SimpleUploadedFile("b1.jpg", image_file()), manifest)))
    assert "<bdi>items</bdi>" in page.text


def test_a_file_of_nothing_known_is_refused_by_its_name_and_can_be_discarded(client, project):
    job = upload(client, SimpleUploadedFile("boxes.jsonl", b'{"filename": "b1.jpg", "bbox": []}\n'))
    assert "boxes.jsonl" in client.get(show(job)).text
    assert client.post(show(job), {}).status_code == 422
    client.post(reverse("imports:import-discard", args=["lions", job.pk]))
    assert not ImportJob.objects.exists()


def test_a_preview_is_imported_once_whoever_confirms_it_first(client, collection):
    job = send(b'{"image": "%s", "caption": "a", "model": "m"}\n' % keys(collection)[0].encode(), "m.de.jsonl")
    assert answer(job=job, wish={}) is False
    confirm(job=job)
    with pytest.raises(Exception, match="being imported already"):
        confirm(job=job)


def test_two_imports_of_one_file_store_it_once(project, collection):
    line = b'{"image": "%s", "caption": "a", "model": "m"}\n' % keys(collection)[0].encode()
    jobs = [confirmed(line, "m.de.jsonl", project=project) for _ in range(2)]
    outcomes = [run(job).parts.get().rows.get().outcome for job in jobs]
    assert outcomes == ["added", "already"]


def test_a_collection_that_is_gone_since_the_preview_stops_the_import_in_words(project, collection):
    line = b'{"image": "%s", "captions": ["a", "b"]}\n' % keys(collection)[0].encode()
    job = confirmed(line, "m.de.jsonl", project=project, collection=collection.slug)
    collection.delete()
    assert (run(job).stage, job.state) == (ImportStage.PREVIEW, JobState.FAILED)
    assert "changed since the preview" in job.error
    assert not ReferenceSet.objects.exists()


def test_researchers_see_their_own_imports_and_add_no_images(project, collection):
    person = make_user("rosa")
    Membership.objects.create(project=project, user=person, role=Role.RESEARCHER)
    client = client_of(person)
    own = upload(client, SimpleUploadedFile("b1.jpg", image_file()), collection=collection.slug)
    assert [name for name, _text in own.options["gaps"]] == ["collection"]
    other = send(b"{}\n", project=project)
    assert [client.get(show(job)).status_code for job in (own, other)] == [200, 404]


def test_the_page_leads_to_the_only_project_of_a_person(client, project, collection):
    response = client.get(reverse("imports:import-choose"), {"collection": collection.slug})
    assert response["Location"] == reverse("imports:import-create", args=["lions"]) + f"?collection={collection.slug}"
    assert f'<option value="{collection.slug}" selected>' in client.get(response["Location"]).text
    make_project("tigers", manager=project.created_by)
    assert "tigers" in client.get(reverse("imports:import-choose")).text


def test_a_form_from_elsewhere_is_refused(project):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(project.created_by)
    assert strict.post(reverse("imports:import-create", args=["lions"]), {}).status_code == 403


def test_a_message_starts_the_work(client, project, monkeypatch, django_capture_on_commit_callbacks):
    sent: list[int] = []
    monkeypatch.setattr(tasks.run_import, "delay", sent.append)
    with django_capture_on_commit_callbacks(execute=True):
        file = SimpleUploadedFile("a.jsonl", b"{}\n")
        client.post(reverse("imports:import-create", args=["lions"]), {"images": [file]})
    assert sent == [ImportJob.objects.get().pk]
    tasks.run_import(sent[0])
    assert ImportJob.objects.get().state == JobState.DONE


def new_files() -> list[SimpleUploadedFile]:
    lines = b"".join(b'{"image": "b%d.jpg", "caption": "A red hill."}\n' % number for number in (1, 2))
    images = [SimpleUploadedFile(f"b{number}.jpg", image_file(shade=number)) for number in (1, 2)]
    return [*images, SimpleUploadedFile("captions_val_blip_results.en.jsonl", lines)]


def test_a_folder_and_its_captions_become_a_project_where_people_work_in_one_form(client, project):
    """Ten actions: New project, name, Start, two choices of files, two languages, people, Preview, Import."""
    page = client.get(reverse("imports:import-create", args=["lions"]) + "?group=core").text
    assert page.count('name="languages"') == 36
    assert page.count("checked") == 4
    job = upload(client, *new_files(), languages=["de", "sw"], places=5)
    page = client.get(show(job)).text
    assert "a pilot opens in de, sw" in page
    assert job.options["gaps"] == []
    assert 'name="model" value="blip"' in page
    assert not project.rounds.exists()
    client.post(show(job), {"model": "blip", "languages": ["de", "sw"], "places": 5, "new_collection": project.name})
    assert (run(job).state, job.error) == (JobState.DONE, "")

    pilots = project.rounds.filter(state=RoundState.OPEN).order_by("language")
    assert [(one.language_id, one.kind, one.sample_size) for one in pilots] == [("de", "pilot", 2), ("sw", "pilot", 2)]
    assert {one.collection.name for one in pilots} == {project.name}
    links = project.invitations.order_by("pk")
    assert [(one.role, one.places, [*one.languages.values_list("tag", flat=True)]) for one in links] == [
        (Role.ANNOTATOR, 5, ["de"]),
        (Role.ANNOTATOR, 5, ["sw"]),
    ]
    assert "Go to the project" in client.get(show(job)).text
    assert 'name="languages"' not in client.get(reverse("imports:import-create", args=["lions"])).text


def test_only_english_captions_that_are_clearly_a_models_are_named_after_their_file(client, project):
    images, file = new_files()[:2], b'{"image": "b1.jpg", "caption": "A red hill."}\n'
    both = file + b'{"image": "b1.jpg", "caption": "A hill."}\n'
    for name, content, languages in (
        ("a.de.jsonl", file, ["de"]),
        ("a.en.jsonl", both, ["de"]),
        ("a.en.jsonl", file, []),
    ):
        job = upload(client, *images, SimpleUploadedFile(name, content), languages=languages)
        assert "model" not in job.options["wish"], name
        for image in images:
            image.seek(0)


def test_images_that_a_project_begins_with_need_no_collection_though_there_are_others(client, project):
    make_collection(images=1)
    make_collection(images=1)
    job = upload(client, *new_files(), languages=["de"])
    assert job.options["wish"]["new_collection"] == project.name
    assert job.options["gaps"] == []
    without = upload(client, new_files()[-1], languages=["de"])
    assert "in which collection the images are" in dict(without.options["gaps"])["collection"]


def test_languages_need_english_captions_by_a_model(client, project):
    job = upload(client, *new_files()[:2], languages=["de"])
    ((name, text),) = job.options["gaps"]
    assert (name, "People rate English captions" in text) == ("languages", True)
    client.post(show(job), {"new_collection": project.name})
    assert run(job).options["gaps"] == []


def test_researchers_begin_no_languages(project):
    researcher = make_user("rita")
    Membership.objects.create(project=project, user=researcher, role=Role.RESEARCHER)
    client = client_of(researcher)
    assert 'name="languages"' not in client.get(reverse("imports:import-create", args=["lions"])).text
