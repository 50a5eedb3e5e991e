"""Managers' pages of corpora: create one, add its files, build it, follow it, download and delete it."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from corpora.models import CorpusBuild
from people.models import Project, Role
from tests.clients import client_of
from tests.corpora.building import work_off
from tests.factories import join_project, make_project, make_user
from tests.parallel_text.animals import made_aligner, made_files

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return make_project("zoo", manager=make_user("mia"))


@pytest.fixture
def mia(project: Project) -> Client:
    return client_of(project.memberships.get().user)


def address(name: str, *args: object) -> str:
    return reverse(f"corpora:corpus-{name}", args=["zoo", *args])


@pytest.mark.long(reason="a corpus is built")
def test_a_manager_builds_a_corpus_from_the_first_page_to_its_files(
    mia: Client, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSLENS_ALIGNER", str(made_aligner(tmp_path)))
    assert mia.post(address("create"), {"name": "Animals"})["Location"] == address("show", "animals")
    assert "Add ratings of imageability." in mia.get(address("show", "animals")).content.decode()
    files = [SimpleUploadedFile(name, path.read_bytes()) for name, path in made_files(tmp_path).items()]

    mia.post(address("upload", "animals"), {"uploads": files})
    mia.post(address("start", "animals"))

    build = CorpusBuild.objects.get()
    guessed = build.files.values_list("name", "role", "language", "format")
    assert sorted(guessed) == [
        ("imageability.csv", "ratings", "", ""),
        ("images.jsonl", "manifest", "", ""),
        ("senses.en.tsv", "inventory", "en", ""),
        ("senses.es.tsv", "inventory", "es", ""),
        ("text.es.tsv", "text", "es", "tsv"),
    ]
    work_off(build)
    page = mia.get(address("show", "animals")).content.decode()
    assert "The corpus is up to date." in page
    file = mia.get(address("download", "animals", "instances.jsonl"))
    lines = b"".join(file.streaming_content).splitlines()  # type: ignore[attr-defined]
    assert len(lines) == 60
    assert json.loads(lines[0])["n"] == 1


def test_what_is_wrong_with_uploaded_files_is_said_and_the_others_are_added(mia: Client, project: Project) -> None:
    mia.post(address("create"), {"name": "Animals"})
    files = [
        SimpleUploadedFile("text.es.tsv", b"only one column\n"),
        SimpleUploadedFile("imageability.csv", b"word,imageability\ndog,600\n"),
    ]

    page = mia.post(address("upload", "animals"), {"uploads": files}, follow=True).content.decode()

    assert "text.es.tsv: no pair of English and “es” can be used." in page
    assert "1 file was added." in page
    assert [file.name for file in CorpusBuild.objects.get().files.all()] == ["imageability.csv"]
    assert "Add parallel text" in mia.post(address("start", "animals"), follow=True).content.decode()


def test_a_manager_says_what_a_file_is_and_deletes_it(mia: Client, project: Project) -> None:
    mia.post(address("create"), {"name": "Animals"})
    about = {"role": "inventory", "language": "en", "format": "tsv"}
    words = SimpleUploadedFile("words.txt", b"02084071-n\tdog\n")
    mia.post(address("upload", "animals"), {"uploads": [words]} | about)
    file = CorpusBuild.objects.get().files.get()

    refused = mia.post(address("file-edit", "animals", file.pk), {"role": "text", "language": "en", "format": "tsv"})
    mia.post(address("file-edit", "animals", file.pk), about | {"language": "es"})

    assert refused.status_code == 422
    assert "choose the other language" in refused.content.decode()
    assert CorpusBuild.objects.get().files.get().language == "es"
    mia.post(address("file-delete", "animals", file.pk))
    assert not CorpusBuild.objects.get().files.exists()


def test_settings_are_kept_and_wrong_ones_refused(mia: Client, project: Project) -> None:
    mia.post(address("create"), {"name": "Animals"})
    settings = {"threshold": "450", "occurrences": "3", "share": "0.02", "seed": "7", "program": "eflomal"}

    assert mia.post(address("configure", "animals"), settings | {"threshold": "5"}).status_code == 422
    mia.post(address("configure", "animals"), settings)

    assert CorpusBuild.objects.get().configuration == {
        "seed": 7,
        "candidates": {"threshold": 450.0, "occurrences": 3},
        "dictionary": {"share": 0.02},
        "align": {"program": "eflomal"},
    }


@pytest.mark.long(reason="at least three others run each of its lines")
def test_researchers_see_a_corpus_and_nobody_but_managers_changes_it(mia: Client, project: Project) -> None:
    mia.post(address("create"), {"name": "Animals"})
    researcher = client_of(join_project(project, make_user("rae"), Role.RESEARCHER))

    for name in ("show", "progress"):
        assert researcher.get(address(name, "animals")).status_code == (200 if name == "show" else 302)
    for name in ("start", "stop", "delete", "upload", "configure"):
        assert researcher.post(address(name, "animals")).status_code == 404


def test_commands_put_a_configuration_on_the_platform_and_do_its_steps(project: Project, tmp_path: Path) -> None:
    made_files(tmp_path)
    (tmp_path / "animals.toml").write_text(f"""
name = "Animals"
texts = [{{language = "es", file = "text.es.tsv"}}]
inventories = [{{language = "en", file = "senses.en.tsv"}}, {{language = "es", file = "senses.es.tsv"}}]
candidates.ratings = "imageability.csv"
images.manifest = "images.jsonl"
align.program = "{made_aligner(tmp_path)}"
exclude.words = ["dog"]
""")

    call_command("build_corpus", tmp_path / "animals.toml", project="zoo")
    build = CorpusBuild.objects.get()
    assert build.exclusions.get().word == "dog"
    assert build.files.count() == 5
    said = StringIO()
    call_command("corpus_step", "animals", "ingest", project="zoo", stdout=said)

    assert said.getvalue().startswith("ingest: done in")
    with pytest.raises(CommandError, match="no corpus"):
        call_command("corpus_step", "plants", "ingest", project="zoo")
