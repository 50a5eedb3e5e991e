"""The client in client/: what programs do with it, against the API itself."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import Release, Round
from annotation.services.releases import build
from annotation.services.rounds import fill_round
from core.images.models import Collection, Image, ImportJob
from core.images.services.images import make_sizes
from core.jobs.models import OPEN_STATES
from core.people.models import Project, User
from core.people.services import tokens
from crosslens import Crosslens, CrosslensError, FileImport, Rows
from crosslens.connection import Connection
from crosslens.sending import opened_files
from research.inference.models import CaptioningModel, ModelCaption
from research.scoring.models import Pass, ReferenceSet
from research.scoring.services.scoring_passes import run_pass
from tests.annotation.released import Campaign
from tests.api.seeded import WRITTEN, Seeded, make_seeded
from tests.factories import make_collection, make_project
from tests.images.image_files import image_file
from tests.imports.sent import run
from tests.scoring.scored import make_references, make_scoring

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def seeded(made_once) -> Seeded:
    return made_once(make_seeded)


def worked(_seconds: float) -> None:
    """Do what waits for a worker, instead of waiting for one."""
    for job in ImportJob.objects.filter(state__in=OPEN_STATES):
        run(job)
    for image in Image.objects.filter(state__in=OPEN_STATES):
        make_sizes(image_id=image.pk, now=timezone.now())
    for round in Round.objects.filter(awaits_tasks=True):
        fill_round(round_id=round.pk)
    for release in Release.objects.filter(state__in=OPEN_STATES):
        build(release_id=release.pk, clock=timezone.now)
    for scoring_pass in Pass.objects.filter(state__in=OPEN_STATES):
        run_pass(pass_id=scoring_pass.pk, clock=timezone.now)


def answered(request: httpx.Request) -> httpx.Response:
    """Answer as a server does, in this process, and with the rows of the test."""
    headers = {name: value for name, value in request.headers.items() if name not in ("content-type", "content-length")}
    kind = request.headers.get("content-type", "application/octet-stream")
    answer = Client().generic(
        request.method, request.url.raw_path.decode(), request.read(), content_type=kind, headers=headers
    )
    return httpx.Response(answer.status_code, headers=dict(answer.items()), content=answer.getvalue())


def connected(user: User, *, may_write: bool = True) -> Crosslens:
    made = tokens.make_token(
        user=user,
        name="client",
        may_write=may_write,
        expires_at=timezone.now() + tokens.MAX_LIFETIME,
        now=timezone.now(),
    )
    server = Crosslens("http://testserver", made.token, transport=httpx.MockTransport(answered))
    server._connection.pause = worked
    return server


class TestReading:
    def test_lists_are_read_to_their_end_and_become_data_frames(self, seeded, monkeypatch):
        monkeypatch.setattr("crosslens.rows.ROWS_PER_PAGE", 2)
        server = connected(seeded.manager, may_write=False)
        assert [row["slug"] for row in server.projects] == ["lions"]
        project = server.projects["lions"]
        captions = project.captions(language="de")
        assert len([*captions]) == len([*captions]) == 6
        frame = captions.to_pandas()
        assert all(frame["text"].str.startswith(WRITTEN))
        assert {row["language"] for row in project.rounds} == {"de", "fr", "es"}
        assert {row["tag"] for row in project.languages()} == {"de", "fr", "es"}
        assert [*project.statistics()]
        assert {row["language"] for row in project.quality()} == {"de"}
        assert [*project.comparisons()] == [*project.judgements()] == [*project.results()] == []
        assert project.ranking() is None
        assert project.metric_agreement(flip="no")["evaluations"] == []
        assert [*project.invitations()] == [*project.references()] == [*project.scores()] == []
        assert {row["id"] for row in server.models()} == {*CaptioningModel.objects.values_list("pk", flat=True)}
        assert len([*project.images()]) == 15
        assert [row["text"] for row in project.feedback()] == ["Name the animals."]
        assert project.about["roles"] == ["manager"]
        assert project.progress()["rounds"]

    def test_a_file_of_captions_is_there_only_once_it_is_complete(self, seeded, tmp_path):
        project = connected(seeded.manager).projects["lions"]
        path = project.export(tmp_path / "captions.jsonl", language=["de", "fr"], images=None)
        assert len(path.read_text("utf-8").splitlines()) == 6
        with pytest.raises(CrosslensError, match="Valid values: csv, jsonl"):
            project.export(tmp_path / "captions.odd", format="odd")
        assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["captions.jsonl"]


class TestImports:
    @pytest.fixture
    def project(self) -> Project:
        return make_project("lions")

    def test_captions_are_previewed_answered_imported_and_taken_out_again(self, project, tmp_path):
        collection = make_collection(images=1, project=project, is_shared=False)
        path, sent = tmp_path / "blip.jsonl", []
        row = {"image": collection.entries.get().key, "caption": "ein Löwe", "model": "blip"}
        path.write_text(json.dumps(row) + "\n", "utf-8")
        imports = connected(project.created_by).projects["lions"].imports
        started = imports.preview(path, collection=collection.slug, on_progress=lambda *done: sent.append(done))
        assert sent[-1] == (path.stat().st_size, path.stat().st_size)
        assert [one["answer"] for one in started.missing] == ["language"]
        with pytest.raises(CrosslensError, match="language") as refused:
            started.confirm()
        assert (refused.value.status, refused.value.code) == (409, "import-refused")
        started.answer(collection=collection.slug, language="de")
        assert started.preview[0]["languages"] == {"de": 1}
        assert [part["added"] for part in started.confirm().parts] == [1]
        assert [(line["name"], line["outcome"]) for line in started.report()] == [(row["image"], "added")]
        assert [one.values["id"] for one in imports] == [started.values["id"]]
        started.undo()
        assert not ModelCaption.objects.exists()

    def test_a_folder_of_images_becomes_a_collection(self, project, tmp_path):
        folder = tmp_path / "lions" / "deep"
        folder.mkdir(parents=True)
        for width in (40, 50):
            (folder / f"{width}.jpg").write_bytes(image_file(size=(width, 48)))
        server = connected(project.created_by)
        slug = server.collections.upload(tmp_path / "lions", project="lions", name="Lions")
        assert Collection.objects.get(slug=slug).name == "Lions"
        assert len([*server.collections[slug]]) == 2

    def test_a_folder_without_an_image_that_can_be_imported_is_refused_with_the_reason(self, project, tmp_path):
        (tmp_path / "lions").mkdir()
        (tmp_path / "lions" / "a.png").write_bytes(image_file())
        server = connected(project.created_by)
        with pytest.raises(RuntimeError, match=r"No image was imported. a.png: .*the content is JPEG"):
            server.collections.upload(tmp_path / "lions", project="lions", name="Lions")

    def test_what_the_server_refused_in_the_background_is_raised_with_its_reason(self, project, tmp_path):
        collection = make_collection(images=1, project=project, is_shared=False)
        path = tmp_path / "people.de.jsonl"
        path.write_text(json.dumps({"image": collection.entries.get().key, "captions": ["ein Löwe", "ein Tier"]}))
        server = connected(project.created_by)
        started = server.projects["lions"].imports.preview(path, collection=collection.slug)

        def meanwhile(change: Callable[[], object]) -> None:
            def pause(seconds: float) -> None:
                change()
                worked(seconds)

            server._connection.pause = pause

        meanwhile(lambda: Collection.objects.update(project=make_project()))
        with pytest.raises(RuntimeError, match="Something has changed since the preview"):
            started.confirm()
        meanwhile(lambda: None)
        Collection.objects.update(project=project)
        started.answer(collection=collection.slug)
        assert [part["added"] for part in started.confirm().parts] == [2]
        meanwhile(lambda: make_scoring(ReferenceSet.objects.get()))
        with pytest.raises(RuntimeError, match="something was made with it: scores"):
            started.undo()

    def test_an_upload_that_stops_says_why(self, project, tmp_path, monkeypatch):
        (tmp_path / "a.jpg").write_bytes(image_file())
        gaps = iter([[], [("collection", "No.")]])
        monkeypatch.setattr("office.imports.services.file_imports.gaps_of", lambda *_: next(gaps))
        with pytest.raises(RuntimeError, match="Something has changed since the preview"):
            connected(project.created_by).collections.upload(tmp_path / "a.jpg", project="lions", name="Lions")

    def test_columns_are_named_with_the_files(self, project, tmp_path):
        (tmp_path / "a.csv").write_text("name,said\nb1.jpg,A lion.\n")
        imports = connected(project.created_by).projects["lions"].imports
        columns = {"image": "name", "caption": "said"}
        seen = imports.preview(tmp_path / "a.csv", kind="references", map=columns)
        assert seen.preview[0]["languages"] == {"und": 1}
        wrong = imports.preview(tmp_path / "a.csv", kind="references", map=columns | {"language": "tongue"})
        assert "There is no column “tongue”." in [one["detail"] for one in wrong.missing]

    def test_languages_are_begun_with_the_files(self, project, tmp_path):
        folder, captions = tmp_path / "lions", tmp_path / "blip.jsonl"
        folder.mkdir()
        (folder / "a.jpg").write_bytes(image_file())
        captions.write_text(json.dumps({"image": "a.jpg", "caption": "A lion.", "model": "blip", "language": "en"}))
        imports = connected(project.created_by).projects["lions"].imports
        about: dict[str, Any] = {"new_collection": "Lions", "languages": ["de", "sw"], "places": 2, "model": None}
        imports.preview(folder, captions, **about).confirm()
        assert {one.language_id for one in project.rounds.all()} == {"de", "sw"}

    def test_what_is_not_wanted_is_discarded(self, project, tmp_path):
        (tmp_path / "odd.txt").write_text("?")
        started = connected(project.created_by).projects["lions"].imports.preview(tmp_path / "odd.txt")
        started.discard()
        assert not ImportJob.objects.exists()


class TestWholeProjects:
    def test_rounds_are_opened_and_closed(self, seeded):
        rounds = connected(seeded.manager).projects["lions"].rounds
        one = next(row for row in rounds if row["state"] == "open")
        assert rounds.close(one["id"], assigned="return")["state"] == "closed"
        with pytest.raises(CrosslensError) as refused:
            rounds.open(one["id"])
        assert refused.value.code == "step-refused"

    def test_models_are_scored_and_the_figures_listed(self):
        scoring = make_scoring(make_references())
        project = connected(scoring.project.created_by).projects[scoring.project.slug]
        (references,) = project.references()
        job = project.score(references=references["id"], models=[scoring.model_id], metrics=["cider-d"])
        assert job.state == "done"
        assert "cider-d" in [figure["metric"] for row in project.scores() for figure in row["figures"]]

    def test_a_campaign_file_makes_an_equal_project(self, seeded):
        manager = seeded.manager
        manager.may_create_projects = True
        server = connected(manager)
        text = server.projects["lions"].campaign()
        assert server.projects["lions"].plan_campaign(text) == []

    def test_what_is_wrong_in_a_campaign_file_is_named(self, seeded):
        with pytest.raises(CrosslensError, match="rounds"):
            connected(seeded.manager).projects.create("lions", "[rounds]\nreplicaton = 2\n")

    def test_a_release_is_made_and_downloaded(self, tmp_path):
        campaign = Campaign()
        releases = connected(campaign.manager).projects["harbours"].releases
        made = releases.make(title="Harbours", licence="CC-BY-4.0", authors="An Institute")
        assert made.values["authors"] == "An Institute"
        assert made.values["counts"]["captions"] == 20
        assert [one.number for one in releases] == [releases[1].number] == [1]
        with tarfile.open(made.download(tmp_path / "release.tar.gz")) as archive:
            assert "harbours-1/croissant.json" in archive.getnames()


class TestConnection:
    """With a server that answers as it is told."""

    def connection(self, *answers: httpx.Response | Exception) -> tuple[Connection, list[float], list[httpx.Request]]:
        left = list(answers)
        pauses: list[float] = []
        asked: list[httpx.Request] = []

        def answer(request: httpx.Request) -> httpx.Response:
            asked.append(request)
            given = left.pop(0)
            if isinstance(given, Exception):
                raise given
            return given

        made = Connection("https://one.example", "secret", transport=httpx.MockTransport(answer), pause=pauses.append)
        return made, pauses, asked

    def test_a_busy_server_is_asked_again_when_it_says_and_a_lost_one_after_longer_and_longer(self):
        busy = httpx.Response(503, headers={"Retry-After": "7"})
        lost = httpx.ConnectError("no route")
        connection, pauses, _asked = self.connection(busy, lost, httpx.Response(200, json={"a": 1}))
        assert connection.json("GET", "me/") == {"a": 1}
        assert pauses == [7.0, 14.0]

    def test_what_may_have_been_done_already_is_sent_again_with_its_key(self):
        answer = httpx.Response(202, headers={"Location": "/api/v1/jobs/score-1/"})
        connection, pauses, asked = self.connection(httpx.ReadTimeout("late"), httpx.Response(503), answer)
        assert connection.start("projects/lions/scores/", json={}) == "/api/v1/jobs/score-1/"
        assert pauses == [1.0, 2.0]
        assert len({request.headers["Idempotency-Key"] for request in asked}) == 1
        assert len(asked) == 3

    def test_what_was_deleted_by_a_request_whose_answer_was_lost_is_deleted(self):
        gone = httpx.Response(404, json={"code": "not-found", "detail": "There is no such import."})
        connection, _pauses, asked = self.connection(httpx.ReadTimeout("late"), gone)
        assert connection.json("DELETE", "x/") is None
        assert len(asked) == 2
        with pytest.raises(CrosslensError, match="no such import"):
            self.connection(gone)[0].json("DELETE", "x/")

    def test_a_token_that_is_none_is_refused(self):
        with pytest.raises(ValueError, match="A token has only"):
            Connection("https://one.example", "…")

    def test_files_are_sent_from_their_start_again_and_counted_once(self, tmp_path):
        (tmp_path / "a.jsonl").write_bytes(b"x" * 200_000)
        counted: list[tuple[int, int]] = []
        connection, _pauses, asked = self.connection(httpx.Response(503), httpx.Response(201, json={"id": 7}))
        with opened_files([tmp_path / "a.jsonl"], lambda *now: counted.append(now)) as files:
            connection.json("POST", "x/", files=[("files", file) for file in files])
        assert [b"x" * 200_000 in request.read() for request in asked] == [True, True]
        assert max(counted) == counted[-1] == (200_000, 200_000)

    def test_a_file_that_breaks_off_is_read_anew(self, tmp_path):
        def broken():
            yield b"a,b"
            raise httpx.ReadError("gone")

        whole = httpx.Response(200, content=b"a,b\n1,2\n")
        connection, _pauses, _asked = self.connection(httpx.Response(200, content=broken()), whole)
        path = connection.download("x/", tmp_path / "rows.csv")
        assert path.read_bytes() == b"a,b\n1,2\n"
        assert [file.name for file in tmp_path.iterdir()] == ["rows.csv"]

    def test_the_token_goes_to_its_own_server_only(self):
        connection, _pauses, asked = self.connection(
            httpx.Response(200, json={"results": [{"a": 1}], "next": "http://two.example/api/v1/x/?cursor=a"}),
            httpx.Response(200, json={"results": [{"a": 2}], "next": None}),
        )
        assert list(Rows(connection, "x/", {"language": "de"})) == [{"a": 1}, {"a": 2}]
        assert [str(request.url) for request in asked] == [
            "https://one.example/api/v1/x/?limit=1000&language=de",
            "https://one.example/api/v1/x/?cursor=a",
        ]

    def test_what_is_no_crosslens_is_said(self):
        connection, _pauses, _asked = self.connection(httpx.Response(404, text="<html>"))
        with pytest.raises(CrosslensError, match="Is it a Crosslens installation"):
            connection.json("GET", "me/")

    def test_a_failed_job_raises_its_reason(self):
        connection, pauses, _asked = self.connection(httpx.Response(200, json={"state": "failed", "error": "No room."}))
        with pytest.raises(RuntimeError, match=r"No room\."):
            FileImport(connection, "x/", {"state": "queued"}).wait()
        assert pauses == [1.0]
