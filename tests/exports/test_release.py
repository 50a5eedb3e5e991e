"""A release among what can be exported: by page and API its archive, by the command its folder as well."""

from __future__ import annotations

import io
import tarfile

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.models import Release
from annotation.services.releases import build
from core.people.models import AuditEntry, Role
from tests.annotation.released import UNTIL, Campaign
from tests.api.seeded import Program
from tests.api.test_work import address
from tests.clients import client_of
from tests.factories import join_project, make_user

pytestmark = pytest.mark.django_db
PAGE = reverse("exports:export-show", args=["harbours"])
ASKED = {"what": "release", "format": "archive"}


@pytest.fixture
def campaign(media, made_once) -> Campaign:
    return made_once(Campaign)


@pytest.fixture
def release(campaign) -> Release:
    made = campaign.start()
    build(release_id=made.pk, clock=lambda: UNTIL)
    return made


def command(*arguments: object) -> None:
    call_command("export", "harbours", "--what", "release", *map(str, arguments), stderr=io.StringIO())


@pytest.mark.parametrize("chosen", [{}, {"release": "1"}])
def test_page_and_programs_get_the_archive(campaign, release, chosen):
    page = client_of(campaign.manager).get(PAGE, ASKED | chosen)
    ours = Program(campaign.manager).get(address("export-show", "harbours"), **ASKED, **chosen)
    content = page.getvalue()
    assert content == ours.getvalue()
    assert page["Content-Disposition"] == 'attachment; filename="harbours-1.tar.gz"'
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        assert "harbours-1/captions.parquet" in archive.getnames()
    assert {entry.about for entry in AuditEntry.objects.filter(action="data.exported")} == {"release, archive"}


def test_a_new_one_is_made_in_the_background_from_its_form(campaign):
    rae = join_project(campaign.project, make_user("rae"), Role.RESEARCHER)
    manager = client_of(campaign.manager)
    assert manager.get(PAGE, ASKED | {"release": "new"})["Location"] == reverse(
        "annotation:release-create", args=["harbours"]
    )
    assert client_of(rae).get(PAGE, ASKED | {"release": "new"}).status_code == 422
    assert "No release has been made yet" in manager.get(PAGE, ASKED).content.decode()
    refused = Program(campaign.manager).get(address("export-show", "harbours"), **ASKED, release="7")
    assert (refused.status_code, refused.json()["code"]) == (409, "export-refused")


def test_the_command_makes_the_next_one_and_writes_its_folder(campaign, release, tmp_path):
    command("--format", "folder", "--release", "new", "--output", tmp_path / "new")
    made = Release.objects.get(number=2)
    assert (made.title, made.licence, made.authors) == (release.title, release.licence, release.authors)
    written = {str(path.relative_to(tmp_path / "new")) for path in (tmp_path / "new").rglob("*") if path.is_file()}
    assert written == {file["name"] for file in made.counts["files"]}
    command("--format", "archive", "--release", "1", "--output", tmp_path / "first.tar.gz")
    with tarfile.open(tmp_path / "first.tar.gz") as archive:
        assert archive.getnames()[0].startswith("harbours-1")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--format", "csv", "--release", "new"], "csv is not for release|Export release as one of: archive"),
        (["--format", "archive", "--release", "7"], "no release 7. Available: 1"),
        (["--format", "archive", "--release", "new", "--language", "de"], "“language” cannot be used with release"),
        (["--format", "folder"], "needs --output FOLDER"),
    ],
)
def test_what_is_wrong_is_said_and_no_release_is_made(campaign, release, arguments, said):
    with pytest.raises(CommandError, match=said):
        command(*arguments)
    assert Release.objects.count() == 1


def test_a_folder_that_has_something_stays_as_it_is(campaign, release, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine").write_text("mine")
    with pytest.raises(CommandError, match="cannot be written: Directory not empty"):
        command("--format", "folder", "--output", tmp_path / "full")
    assert sorted(path.name for path in tmp_path.glob("[!m]*")) == ["full"]
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine"]


def test_a_folder_whose_files_are_gone_is_refused_with_the_reason(campaign, release, tmp_path):
    release.refresh_from_db()
    default_storage.delete(f"{release.folder}/README.md")
    with pytest.raises(CommandError, match="no longer in storage"):
        command("--format", "folder", "--output", tmp_path / "gone")
    assert [path.name for path in tmp_path.iterdir()] == ["media"]


def test_the_archive_is_for_releases_alone(campaign, tmp_path):
    with pytest.raises(CommandError, match=r"archive is for release\. Export captions as one of: csv"):
        call_command("export", "harbours", "--what", "captions", "--format", "archive")
    with pytest.raises(CommandError, match="at least one author"):
        command("--format", "archive", "--release", "new")
