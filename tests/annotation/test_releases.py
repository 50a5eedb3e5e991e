"""The life of a release: what keeps it from being started, and that its files are there whole or not at all."""

from __future__ import annotations

import csv
import json
import tarfile
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation import tasks
from annotation.models import Caption, CaptionState, Release, RoundState
from annotation.services import releases as services
from annotation.services.release_files import write_release
from annotation.services.releases import MAX_ATTEMPTS, ReleaseSettingsError, build
from core.allocation.models import Batch, BatchState
from core.images.models import Image
from core.images.selectors.attributions import ImageEdit
from core.images.services.attributions import edit_images
from core.jobs.models import JobState
from core.jobs.services.leases import LEASE, NUDGE_AFTER, rows_to_nudge
from core.people.models import AuditEntry, Delivery, Project, WebhookEvent
from office.dashboard.services.projects import count_image_again, leave_out_image
from tests.annotation.released import UNTIL, Campaign
from tests.annotation.submitting import caption_from_file
from tests.clients import client_of
from tests.concurrency import together
from tests.factories import make_image, make_project, make_user
from tests.inference.object_storage import ObjectStorage
from tests.people.hooks import make_webhook
from tests.sweeping import sweep

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


def built(release: Release) -> Release:
    build(release_id=release.pk, clock=lambda: UNTIL)
    release.refresh_from_db()
    return release


@pytest.fixture
def campaign(media, made_once) -> Campaign:
    return made_once(Campaign)


class TestStarting:
    def refusal(self, campaign, **fields) -> list[str]:
        with pytest.raises(ReleaseSettingsError) as refused:
            campaign.start(**fields)
        assert not Release.objects.exists()
        return refused.value.problems

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_releases_are_numbered_one_after_the_other(self, campaign):
        assert [built(campaign.start()).number for _ in range(3)] == [1, 2, 3]

    def test_without_a_caption_that_counts_or_an_accepted_main_round_there_is_none(self, campaign):
        Caption.objects.update(state=CaptionState.EXCLUDED)
        assert "nothing to release" in self.refusal(campaign)[0]
        campaign.project.rounds.update(state=RoundState.OPEN)
        assert "No main round has been accepted yet" in self.refusal(campaign)[0]

    @pytest.mark.parametrize("which", ["main", "verification"])
    def test_with_work_assigned_there_is_none_and_it_says_whose_round(self, campaign, which):
        round = campaign.rounds["de"] if which == "main" else campaign.verification
        Batch.objects.create(
            pool=round.pool,
            person=campaign.people["eve"],
            state=BatchState.OPEN,
            taken_at=UNTIL,
            lease_s=1,
            deadline=UNTIL,
        )
        (problem,) = self.refusal(campaign)
        assert problem.startswith(f"German, {round.title}: 1 batch is unfinished.")

    def test_images_without_licence_or_author_are_named(self, campaign):
        entries = {entry.key: entry.image_id for entry in campaign.collection.entries.all()}
        Image.objects.filter(pk__in=[entries["market"], entries["tower"]]).update(licence="")
        Image.objects.filter(pk=entries["harbour"]).update(author="")
        problems = self.refusal(campaign)
        assert problems[0] == "Licence missing: 2 images: market, tower."
        assert problems[1] == "Author missing: 1 image: harbour."
        assert "Fill in what is missing in their collection" in problems[2]

    def test_at_most_twenty_images_are_named_and_all_counted(self, campaign):
        round = campaign.rounds["fr"]
        for number in range(25):
            image = make_image(f"lost {number}", licence="")
            caption_from_file(round, image, "x", at=UNTIL)
        problem = self.refusal(campaign)[0]
        assert problem.startswith("Licence missing: 25 images: ")
        assert problem.count(",") == 19
        assert problem.endswith(" and 5 more.")

    @pytest.mark.parametrize("licence", ["CC0", "CC0 1.0", "Public Domain"])
    def test_where_all_rights_are_waived_no_author_is_needed(self, campaign, licence):
        Image.objects.update(author="", licence=licence)
        assert campaign.start().number == 1

    def test_images_that_nobody_described_may_lack_both(self, campaign):
        image = make_image("nobody's", licence="", author="")
        campaign.collection.entries.create(image=image, key="nobody", position=9)
        assert campaign.start().number == 1

    @pytest.mark.parametrize(
        ("given", "problem"),
        [
            ({"title": "Har\x7fbours"}, "Remove the control characters from the title and authors."),
            ({"authors": "Ada\x07"}, "Remove the control characters from the title and authors."),
            ({"authors": " , \n-"}, "Enter at least one author."),
            ({"title": "x" * 201}, "The title has 201 characters. Enter at most 200."),
        ],
    )
    def test_what_no_citation_takes_is_refused(self, campaign, given, problem):
        assert self.refusal(campaign, **given) == [problem]

    def test_title_and_authors_are_on_one_line_and_nobody_stands_there_twice(self, campaign):
        release = campaign.start(title=" Har\u2028bours\n", authors="Lovelace,  Ada\n\n,\nLovelace, Ada\nAn Institute")
        assert (release.title, release.authors) == ("Har bours", "Lovelace, Ada\nAn Institute")

    def test_it_needs_title_authors_and_a_known_licence(self, campaign):
        problems = self.refusal(campaign, title=" ", authors="\n \n", licence="MIT")
        assert len(problems) == 3

    def test_it_stands_in_the_log_and_while_it_is_being_made_there_is_no_second(self, campaign):
        campaign.start()
        entry = AuditEntry.objects.get(project=campaign.project)
        assert (entry.action, entry.about, entry.by) == ("release.started", "release 1", campaign.manager)
        with pytest.raises(ReleaseSettingsError, match="Release 1 is still being made"):
            campaign.start()


class TestBuilding:
    def test_its_files_are_in_storage_and_in_an_archive_and_it_is_not_made_again(self, campaign, tmp_path):
        release = built(campaign.start())
        assert release.state == JobState.DONE
        folders, names = default_storage.listdir(release.folder)
        listed = {file["name"] for file in release.counts["files"]}
        assert {name for name in listed if "/" not in name} == set(names)
        assert set(folders) == {"guidelines", "consent"}
        with default_storage.open(release.archive) as file, tarfile.open(fileobj=file) as archive:
            assert {name.removeprefix("harbours-1/") for name in archive.getnames()} == listed
            manifest = archive.extractfile("harbours-1/manifest.json")
            assert manifest is not None
            assert json.load(manifest)["captions"] == 20
        assert release.archive_bytes == default_storage.size(release.archive)
        assert build(release_id=release.pk, clock=lambda: UNTIL) is None

    def test_it_is_the_same_on_object_storage(self, campaign, settings, tmp_path):
        here = built(campaign.start())
        settings.STORAGES = settings.STORAGES | {
            "default": {
                "BACKEND": f"{ObjectStorage.__module__}.ObjectStorage",
                "OPTIONS": {"location": tmp_path / "s3"},
            }
        }
        Release.objects.all().delete()
        there = built(campaign.start())
        assert there.checksum == here.checksum
        with default_storage.open(f"{there.folder}/manifest.json") as file:
            assert json.load(file)["captions"] == 20

    def test_it_is_told_of(self, campaign):
        make_webhook(campaign.project, events=[WebhookEvent.RELEASE_DONE, WebhookEvent.RELEASE_FAILED])
        release = built(campaign.start())
        delivery = Delivery.objects.get()
        assert delivery.event == "release.done"
        assert delivery.payload["data"]["checksum"] == release.checksum
        actions = AuditEntry.objects.order_by("number").values_list("action", flat=True)
        assert list(actions) == ["release.started", "release.done"]

    def test_one_that_cannot_be_made_says_why_and_leaves_no_file(self, campaign, media):
        release = campaign.start()
        Caption.objects.update(state=CaptionState.WITHDRAWN)
        assert built(release).state == JobState.FAILED
        assert "No caption in the accepted rounds counts" in release.error
        assert not list(media.rglob("*.jsonl"))
        assert AuditEntry.objects.first().action == "release.failed"
        assert campaign_can_go_on(campaign)

    def test_a_storage_that_breaks_off_leaves_a_failed_release_without_files(self, campaign, monkeypatch):
        release = campaign.start()

        def breaking(name, content):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("annotation.services.releases.file_storage.put", breaking)
        assert built(release).state == JobState.FAILED
        assert "No space left on device" in release.error
        assert release.folder == release.checksum == ""

    def test_a_worker_that_fell_silent_is_followed_by_another(self, campaign):
        release = campaign.start()
        assert services.claim(release_id=release.pk, now=UNTIL) is not None
        assert build(release_id=release.pk, clock=lambda: UNTIL) is None
        assert rows_to_nudge(Release.objects.all(), now=UNTIL + LEASE / 2) == []
        assert rows_to_nudge(Release.objects.all(), now=UNTIL + LEASE) == [release.pk]
        build(release_id=release.pk, clock=lambda: UNTIL + LEASE)
        release.refresh_from_db()
        assert release.state == JobState.DONE

    def test_who_lost_the_lease_changes_nothing_any_more(self, campaign, monkeypatch):
        release = campaign.start()

        def taken_over(*args, **kwargs):
            Release.objects.update(lease_until=UNTIL + 5 * MINUTE)
            return write_release(*args, **kwargs)

        monkeypatch.setattr("annotation.services.release_files.write_release", taken_over)
        assert build(release_id=release.pk, clock=lambda: UNTIL) is None
        release.refresh_from_db()
        assert (release.state, release.checksum) == (JobState.RUNNING, "")

    def test_the_lease_is_renewed_meanwhile(self, campaign, monkeypatch):
        release = campaign.start()
        times = (UNTIL + number * LEASE / 2 for number in range(10**6))
        build(release_id=release.pk, clock=lambda: next(times))
        release.refresh_from_db()
        assert release.state == JobState.DONE

    def test_one_that_stops_again_and_again_is_given_up(self, campaign):
        release = campaign.start()
        for number in range(MAX_ATTEMPTS):
            assert services.claim(release_id=release.pk, now=UNTIL + number * LEASE) is not None
        build(release_id=release.pk, clock=lambda: UNTIL + MAX_ATTEMPTS * LEASE)
        release.refresh_from_db()
        assert release.state == JobState.FAILED
        assert "stopped 3 times" in release.error

    def test_the_sweep_begins_what_nobody_was_told_of(self, campaign, monkeypatch):
        release = campaign.start()
        sent: list[int] = []
        monkeypatch.setattr(tasks.build_release, "delay", sent.append)
        for now, expected in ((UNTIL, []), (UNTIL + NUDGE_AFTER, [release.pk])):
            monkeypatch.setattr("django.utils.timezone.now", lambda now=now: now)
            sweep()
            assert sent == expected


def campaign_can_go_on(campaign: Campaign) -> bool:
    Caption.objects.update(state=CaptionState.COUNTED)
    return campaign.start().number == 2


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_managers_who_start_at_once_get_one_release(media):
    campaign = Campaign()

    def start(number: int) -> int | None:
        try:
            return campaign.start(title=f"Release by {number}").number
        except ReleaseSettingsError:
            return None

    assert sorted(together(start, range(4)), key=str) == [1, None, None, None]


class TestCommand:
    def test_it_builds_the_next_release(self, campaign, capsys):
        call_command("build_release", "harbours", "--author", "Lovelace, Ada", "--author", "An Institute")
        release = Release.objects.get()
        assert (release.title, release.licence, release.created_by) == ("Harbours", "CC-BY-4.0", campaign.manager)
        assert release.authors == "Lovelace, Ada\nAn Institute"
        said = capsys.readouterr().out
        assert "Release 1: 20 captions of 4 images" in said
        assert release.checksum in said

    def test_what_is_not_given_is_as_in_the_release_before(self, campaign, capsys):
        built(campaign.start(licence="CC0-1.0"))
        call_command("build_release", "harbours")
        second = Release.objects.get(number=2)
        assert (second.licence, second.title) == ("CC0-1.0", "Harbours in three languages")

    def test_the_same_bytes_are_made_again_but_not_into_a_folder_that_has_something(self, campaign, tmp_path, capsys):
        release = built(campaign.start())
        call_command("build_release", "harbours", "--rebuild", "1", "--to", str(tmp_path / "again"))
        assert "Identical, byte for byte" in capsys.readouterr().out
        with default_storage.open(f"{release.folder}/captions.parquet") as file:
            assert file.read() == Path(tmp_path, "again", "captions.parquet").read_bytes()
        (tmp_path / "mine").write_text("mine")
        with pytest.raises(CommandError, match="not an empty folder"):
            call_command("build_release", "harbours", "--rebuild", "1", "--to", str(tmp_path))

    def test_copies_of_one_database_give_the_same_release_by_the_same_salt_and_time(self, campaign):
        def checksum(*options: str) -> str:
            call_command("build_release", "harbours", "--author", "Lovelace, Ada", *options)
            release = Release.objects.get()
            Release.objects.all().delete()
            return release.checksum

        given = ("--salt", "a secret", "--until", UNTIL.isoformat())
        assert checksum(*given) == checksum(*given)
        assert checksum(*given) != checksum("--salt", "another", "--until", UNTIL.isoformat())
        assert checksum() != checksum()

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--until", "2999-01-01T00:00:00+00:00"], "The end of a release, --until, cannot be in the future"),
            (["--until", "2025-05-31"], "with its time zone"),
            (["--salt", "s" * 1000], "The salt can have at most"),
        ],
    )
    def test_a_salt_or_time_that_cannot_be_is_refused(self, campaign, options, said):
        with pytest.raises(CommandError, match=said):
            call_command("build_release", "harbours", "--author", "A", *options)
        assert not Release.objects.exists()

    def test_where_they_are_not_the_same_the_files_are_named(self, campaign, tmp_path):
        built(campaign.start())
        Image.objects.filter(title="The market").update(title="The square")
        with pytest.raises(
            CommandError, match=r"These files differ: croissant.json, images.csv, images.jsonl, images.parquet\."
        ):
            call_command("build_release", "harbours", "--rebuild", "1", "--to", str(tmp_path / "again"))

    def test_refusals_say_everything_that_is_lacking(self, campaign):
        Image.objects.update(licence="")
        with pytest.raises(CommandError, match=r"(?s)a release yet:.*Licence missing.*at least one author"):
            call_command("build_release", "harbours")

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["tigers"], "no project 'tigers'"),
            (["harbours", "--rebuild", "7"], "FOLDER together"),
            (["harbours", "--rebuild", "7", "--to", "x"], "no release 7"),
            (["harbours", "--author", "A", "--by", "nobody"], "no user 'nobody'"),
        ],
    )
    def test_what_is_wrong_is_said(self, campaign, arguments, said):
        with pytest.raises(CommandError, match=said):
            call_command("build_release", *arguments)

    def test_a_project_without_rounds_has_no_release(self, db):
        project: Project = make_project("empty")
        with pytest.raises(CommandError, match="No main round has been accepted"):
            call_command("build_release", project.slug, "--author", "A")


class TestChangedImages:
    """Title, author, licence and source of images, changed after a release was requested."""

    def change(self, campaign, key, now, **values):
        image = campaign.collection.entries.get(key=key).image_id
        images = Image.objects.filter(pk=image)
        staff = make_user(f"staff{now:%H%M}", is_staff=True, is_superuser=True)
        about = {"collection": campaign.collection, "images": images, "by": staff, "clock": lambda: now}
        assert edit_images(**about, edit=ImageEdit(values), confirmed=1) == 1

    @pytest.fixture
    def folder(self, tmp_path) -> Path:
        folder = tmp_path / "again"
        folder.mkdir()
        return folder

    def images_of(self, folder) -> dict[str, dict[str, str]]:
        with (folder / "images.csv").open(encoding="utf-8-sig") as file:
            return {row["image"]: row for row in csv.DictReader(file)}

    def test_an_earlier_release_is_built_again_byte_for_byte_and_the_next_has_the_new_values(self, campaign, folder):
        first = built(campaign.start())
        self.change(campaign, "harbour", UNTIL + MINUTE, licence="CC0 1.0", licence_url="", author="", title="Boats")
        self.change(campaign, "harbour", UNTIL + 2 * MINUTE, licence="CC BY 2.0", author="Bob", source="x")

        again = services.rebuild(release=first, folder=folder)

        assert again.checksum == first.checksum
        assert self.images_of(folder)["harbour"]["licence"] == "CC BY 4.0"
        second = campaign.start(now=UNTIL + 3 * MINUTE)
        later = folder.with_name("second")
        later.mkdir()
        write_release(second, later, beat=lambda: None)
        row = self.images_of(later)["harbour"]
        assert (row["licence"], row["author"], row["title"], row["source"]) == ("CC BY 2.0", "Bob", "Boats", "x")

    def test_a_change_while_it_waits_to_be_built_is_for_the_next(self, campaign, folder):
        release = campaign.start()
        self.change(campaign, "harbour", UNTIL + MINUTE, licence="CC0 1.0")
        first = built(release)
        assert services.rebuild(release=first, folder=folder).checksum == first.checksum
        assert self.images_of(folder)["harbour"]["licence"] == "CC BY 4.0"


@pytest.mark.usefixtures("media")
class TestImagesLeftOut:
    def test_earlier_releases_are_built_again_byte_for_byte_and_the_next_says_what_it_lacks(self, campaign, tmp_path):
        def is_the_same_again(release, name):
            (tmp_path / name).mkdir()
            return services.rebuild(release=release, folder=tmp_path / name).checksum == release.checksum

        entry, by = campaign.collection.entries.get(key="harbour"), campaign.manager
        first = built(campaign.start())
        leave_out_image(entry=entry, reason="A drawing", by=by, now=UNTIL + MINUTE)
        form = client_of(by).get(reverse("annotation:release-create", args=[campaign.project.slug]))
        assert "1 image is left out of results." in form.text
        second = built(campaign.start(now=UNTIL + 2 * MINUTE))
        assert is_the_same_again(first, "first")
        assert is_the_same_again(second, "second")
        assert '"harbour",' not in (tmp_path / "second" / "images.csv").read_text()
        assert second.counts["left_out"]["de"]["image-left-out"] == 2
        assert second.counts["captions"] < first.counts["captions"]
        assert "image-left-out" in (tmp_path / "second" / "changes.csv").read_text()
        assert "of an image that was left out of results" in (tmp_path / "second" / "DATASHEET.md").read_text()
        page = client_of(by).get(reverse("annotation:release-show", args=[campaign.project.slug, second.number]))
        assert "Image left out of results: 2" in page.text
        count_image_again(entry=entry, by=by, now=UNTIL + 3 * MINUTE)
        assert is_the_same_again(second, "again")
        assert campaign.start(now=UNTIL + 4 * MINUTE).images_left_out == []
