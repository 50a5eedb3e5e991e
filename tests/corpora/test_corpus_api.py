"""Programs list corpora, follow their steps, read reports and download what was published; others find nothing."""

from __future__ import annotations

import json

import pytest

from corpora.selectors.corpus_folders import folder_of
from corpora.services import corpus_builds
from parallel_text.publish import PUBLISHED
from parallel_text.step_names import STEP_NAMES
from people.models import Project, Role
from tests.api.seeded import Program
from tests.corpora.building import make_corpus, work_off
from tests.factories import NOW, join_project, make_project, make_user

pytestmark = pytest.mark.django_db

LIST = "/api/v1/projects/lions/corpora/"
ONE = f"{LIST}animals/"


@pytest.fixture
def project():
    return make_project("lions")


@pytest.fixture
def program(project) -> Program:
    return Program(project.created_by)


def test_a_corpus_is_followed_from_its_files_to_what_it_published(program, project, tmp_path):
    build = make_corpus(tmp_path, project=project)
    told = program.get(ONE).json()
    assert (told["slug"], told["is_built"], told["missing"], told["published"]) == ("animals", False, [], [])
    assert {(file["name"], file["role"], file["language"]) for file in told["files"]} == {
        ("text.es.tsv", "text", "es"),
        ("imageability.csv", "ratings", ""),
        ("senses.en.tsv", "inventory", "en"),
        ("senses.es.tsv", "inventory", "es"),
        ("images.jsonl", "manifest", ""),
    }
    assert [(step["name"], step["state"], step["report"]) for step in told["steps"]] == [
        (name, "idle", None) for name in STEP_NAMES
    ]
    assert program.get(f"{ONE}reports/align/").status_code == 404
    assert program.get(f"{ONE}files/instances.jsonl/").status_code == 404

    corpus_builds.start(build=build, by=None, now=NOW)
    work_off(build)

    [row] = program.get(LIST).json()["results"]
    assert (row["slug"], row["files"], row["steps"], row["steps_done"], row["steps_failed"]) == ("animals", 5, 9, 9, 0)
    told = program.get(ONE).json()
    assert told["is_built"]
    align = told["steps"][2]
    assert (align["name"], align["state"], align["chunks"], align["chunks_done"]) == ("align", "done", 1, 1)
    report = program.get(align["report"]).json()
    assert report == json.loads(folder_of(build).read("steps/align.json").read_text())
    assert report["counts"]["pairs"] == 30

    assert [file["name"] for file in told["published"]] == list(PUBLISHED)
    for file in told["published"]:
        answer = program.get(file["address"])
        assert b"".join(answer.streaming_content) == folder_of(build).read(file["name"]).read_bytes()
        assert answer["Content-Disposition"] == f'attachment; filename="animals-{file["name"]}"'
    check_that_only_overseers_know_of_it(project)


def check_that_only_overseers_know_of_it(project: Project) -> None:
    annotator, other = join_project(project, make_user("ann"), Role.ANNOTATOR), make_project("tigers").created_by
    assert Program(join_project(project, make_user("rosa"), Role.RESEARCHER)).get(ONE).status_code == 200
    for person in (annotator, other):
        program = Program(person)
        for address in (LIST, ONE, f"{ONE}reports/align/", f"{ONE}files/instances.jsonl/"):
            assert program.get(address).status_code == 404
    assert Program(project.created_by).client.get(ONE).status_code == 401
    assert Program(other).get("/api/v1/projects/tigers/corpora/animals/").status_code == 404


def test_what_cannot_be_built_yet_says_what_is_missing(program, project):
    corpus_builds.create_build(project=project, name="Animals", by=None, now=NOW)
    assert "Add ratings of imageability." in program.get(ONE).json()["missing"]


def test_no_other_file_of_storage_is_given(program, project, tmp_path):
    make_corpus(tmp_path, project=project)
    for name in ("steps", "config.toml", "..", "..%2F..%2Fsecret", "ingest.json"):
        assert program.get(f"{ONE}files/{name}/").status_code == 404
    for step in ("nothing", "..", "publish"):
        assert program.get(f"{ONE}reports/{step}/").status_code == 404
