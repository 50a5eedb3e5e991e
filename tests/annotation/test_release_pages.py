"""The pages of releases: who sees them, what they say, and who gets the files."""

from __future__ import annotations

import io
import json
import tarfile

import pytest
from django.core.files.storage import default_storage
from django.test import Client
from django.urls import reverse

from annotation import tasks
from annotation.models import Caption, CaptionState, CaptionTask, Release
from annotation.services.releases import build
from core.images.models import Image
from core.jobs.models import JobState
from core.people.models import Membership, Project, Role, User
from research.scoring.models import ReferenceSet
from tests.annotation.released import AUTHORS, UNTIL
from tests.annotation.submitting import submit_captions, take
from tests.api.seeded import Program
from tests.factories import make_annotator, make_captioner, make_round

pytestmark = pytest.mark.django_db

FORM = {"title": "Harbours", "licence": "CC-BY-4.0", "authors": AUTHORS, "description": "", "changes": ""}


@pytest.fixture(autouse=True)
def _storage(media) -> None:
    """Of its own, for each test."""


def address(project: Project, which: str) -> str:
    numbered = {"number": 1} if which in ("show", "progress", "archive", "file") else {}
    named = {"name": "guidelines/1.md"} if which == "file" else {}
    return reverse(f"annotation:release-{which}", kwargs={"slug": project.slug} | numbered | named)


def of(client: Client, person: User) -> Client:
    client.force_login(person)
    return client


class TestStarting:
    def test_a_release_is_started_and_announced(
        self, client, campaign, monkeypatch, django_capture_on_commit_callbacks
    ):
        sent: list[int] = []
        monkeypatch.setattr(tasks.build_release, "delay", sent.append)
        with django_capture_on_commit_callbacks(execute=True):
            answer = of(client, campaign.manager).post(address(campaign.project, "create"), FORM)
        release = Release.objects.get()
        assert answer.headers["Location"] == address(campaign.project, "show")
        assert sent == [release.pk]
        assert (release.authors, release.created_by) == (AUTHORS, campaign.manager)

    def test_what_is_lacking_is_said_before_and_again_and_nothing_is_made(self, client, campaign):
        Image.objects.filter(title="The market").update(licence="")
        answer = of(client, campaign.manager).get(address(campaign.project, "create"))
        assert "Licence missing: 1 image: market." in answer.content.decode()
        answer = client.post(address(campaign.project, "create"), FORM)
        assert answer.status_code == 422
        assert "Licence missing: 1 image: market." in answer.content.decode()
        assert not Release.objects.exists()

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_the_form_begins_with_what_the_release_before_said(self, client, campaign, release):
        said = of(client, campaign.manager).get(address(campaign.project, "create")).content.decode()
        assert "Harbours in three languages" in said
        assert "Lovelace, Ada" in said

    def test_without_what_it_needs_nothing_is_made(self, client, campaign):
        of(client, campaign.manager)
        for field in ("title", "licence", "authors"):
            assert client.post(address(campaign.project, "create"), FORM | {field: ""}).status_code == 422, field
        assert not Release.objects.exists()


class TestShowing:
    def test_it_says_what_is_in_it_and_how_to_check_it_and_the_list_names_it(self, client, campaign, release):
        said = of(client, campaign.manager).get(address(campaign.project, "show")).content.decode()
        assert release.checksum in said
        assert all(file["sha256"] in said for file in release.counts["files"])
        assert "German" in said
        said = of(client, campaign.manager).get(address(campaign.project, "list")).content.decode()
        assert "Harbours in three languages" in said

    def test_it_says_what_changed_since_the_one_before(self, client, campaign, release):
        Caption.objects.filter(text="Ein Hafen 1").update(state=CaptionState.WITHDRAWN)
        second = campaign.start()
        build(release_id=second.pk, clock=lambda: UNTIL)
        said = of(client, campaign.manager).get(f"/projects/harbours/releases/{second.number}/").content.decode()
        assert "with changes since release 1" in said
        assert "Consent withdrawn: 1" in said

    def test_while_it_is_being_made_its_state_asks_for_itself(self, client, campaign):
        campaign.start()
        of(client, campaign.manager)
        assert "hx-get" in client.get(address(campaign.project, "show")).content.decode()
        part = client.get(address(campaign.project, "progress"), headers={"HX-Request": "true"})
        assert "hx-get" in part.content.decode()
        assert "HX-Refresh" not in part.headers

    def test_once_it_is_made_the_page_comes_anew(self, client, campaign, release):
        part = of(client, campaign.manager).get(address(campaign.project, "progress"), headers={"HX-Request": "true"})
        assert part.headers["HX-Refresh"] == "true"

    def test_one_that_failed_says_why_and_has_no_files(self, client, campaign, release):
        Release.objects.update(state=JobState.FAILED, error="The disk is full.", checksum="", counts={})
        said = of(client, campaign.manager).get(address(campaign.project, "show")).content.decode()
        assert "The disk is full." in said
        assert client.get(address(campaign.project, "archive")).status_code == 404
        assert client.get(address(campaign.project, "file")).status_code == 404

    def test_no_page_has_a_caption(self, client, campaign, release):
        of(client, campaign.manager)
        for which in ("list", "create", "show"):
            said = client.get(address(campaign.project, which)).content.decode()
            assert "Ein Hafen" not in said
            assert "in the sun" not in said


class TestFiles:
    def test_the_archive_comes_as_it_is_stored(self, client, campaign, release):
        answer = of(client, campaign.manager).get(address(campaign.project, "archive"))
        content = b"".join(answer)
        with default_storage.open(release.archive) as file:
            assert file.read() == content
        assert 'filename="harbours-1.tar.gz"' in answer.headers["Content-Disposition"]
        assert "no-store" in answer.headers["Cache-Control"]
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            assert "harbours-1/manifest.json" in archive.getnames()

    def test_a_file_comes_as_it_is_stored_and_one_that_is_gone_is_not_there(self, client, campaign, release):
        answer = of(client, campaign.manager).get(address(campaign.project, "file"))
        assert b"Write a sentence." in b"".join(answer)
        default_storage.delete(release.archive)
        assert of(client, campaign.manager).get(address(campaign.project, "archive")).status_code == 404

    def test_what_is_no_file_of_the_release_is_not_there(self, client, campaign, release):
        of(client, campaign.manager)
        for name in ("../../../originals/x", "nothing.csv", "guidelines", "harbours-1.tar.gz"):
            assert client.get(f"{address(campaign.project, 'show')}files/{name}").status_code == 404, name

    @pytest.mark.parametrize("is_from_file", [False, True], ids=["written here", "from a file"])
    def test_nobody_with_images_of_it_assigned_gets_a_file(self, client, campaign, release, is_from_file):
        if is_from_file:
            CaptionTask.objects.filter(round__project=campaign.project).delete()
        elsewhere = make_round(collection=campaign.collection, captioners=[make_captioner(campaign.collection)])
        annotator = make_annotator(elsewhere)
        Membership.objects.create(project=campaign.project, user=annotator, role=Role.RESEARCHER)
        take(elsewhere, annotator)
        of(client, annotator)
        for which in ("archive", "file"):
            answer = client.get(address(campaign.project, which), follow=True)
            assert answer.redirect_chain[-1][0] == address(campaign.project, "show")
            assert "Submit that batch first" in answer.content.decode()

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_who_has_submitted_gets_it(self, client, campaign, release):
        elsewhere = make_round(collection=campaign.collection, captioners=[make_captioner(campaign.collection)])
        annotator = make_annotator(elsewhere)
        Membership.objects.create(project=campaign.project, user=annotator, role=Role.RESEARCHER)
        submit_captions(elsewhere, annotator)
        assert of(client, annotator).get(address(campaign.project, "archive")).status_code == 200


class TestReferences:
    def test_its_captions_become_references_that_stay(self, client, campaign, release):
        manager = of(client, campaign.manager)
        with default_storage.open(f"{release.folder}/captions.jsonl") as file:
            rows = [json.loads(line) for line in file]

        for _time in range(2):
            response = manager.post(reverse("annotation:release-references", args=[campaign.slug, 1]), follow=True)
            assert f"{len(rows)} captions are now references." in response.text
        made = Program(campaign.manager).post(reverse("api:release-references", args=[campaign.slug, 1])).json()
        assert sum(one["captions"] for one in made["results"]) == len(rows)

        sets = ReferenceSet.objects.filter(project=campaign.project)
        assert {one.language_id for one in sets} == {row["language"] for row in rows}
        for one in sets:
            assert one.name.startswith("Release 1, ")
            stored = one.references.values_list("image__sha256", "text")
            expected = [(row["image_sha256"], row["caption"]) for row in rows if row["language"] == one.language_id]
            assert sorted(stored) == sorted(expected)
            assert one.captions == len(expected)

    def test_files_that_are_gone_are_named(self, client, campaign, release):
        default_storage.delete(f"{release.folder}/captions.jsonl")
        address = reverse("annotation:release-references", args=[campaign.slug, 1])
        response = of(client, campaign.manager).post(address, follow=True)
        assert "The files of this release are no longer in storage." in response.text
        assert not ReferenceSet.objects.exists()

    def test_a_release_in_the_making_has_none(self, client, campaign, release):
        address = reverse("annotation:release-references", args=[campaign.slug, 1])
        Release.objects.update(state=JobState.QUEUED)
        assert of(client, campaign.manager).post(address).status_code == 404
