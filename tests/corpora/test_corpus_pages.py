"""Managers' pages of corpora: create one, add its files, build it, follow it, download and delete it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from corpora.models import CorpusBuild
from people.models import Project
from tests.clients import client_of
from tests.corpora.building import made_aligner, made_files, work_off
from tests.factories import make_project, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return make_project("zoo", manager=make_user("mia"))


@pytest.fixture
def mia(project: Project) -> Client:
    return client_of(project.memberships.get().user)


def address(name: str, *args: object) -> str:
    return reverse(f"corpora:corpus-{name}", args=["zoo", *args])


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
