"""An installation without the package that writes a release's tables says what to install, before it begins one."""

from __future__ import annotations

import sys

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.models import Release
from annotation.services.releases import build
from core.jobs.models import JobState
from tests.annotation.released import UNTIL, Campaign
from tests.clients import client_of

pytestmark = pytest.mark.django_db
HOW = "pip install 'crosslens[research]'"
OWN = ("annotation.services.release_files", "annotation.formats.release_tables", "annotation.formats.release_images")


@pytest.fixture
def campaign(media, made_once) -> Campaign:
    return made_once(Campaign)


def block_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on it cannot be imported, nor what imported it."""
    for name in OWN:
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)


def test_page_program_and_command_say_what_to_install_and_begin_nothing(campaign, monkeypatch):
    block_pyarrow(monkeypatch)
    client = client_of(campaign.manager)
    page = reverse("annotation:release-create", args=["harbours"])
    sent = {"title": "Harbours", "licence": "CC0-1.0", "authors": "A"}

    assert "crosslens[research]" in client.get(page).text
    assert "crosslens[research]" in client.post(page, sent).text
    answer = client.post("/api/v1/projects/harbours/releases/", sent, content_type="application/json")
    assert (answer.status_code, HOW in answer.json()["detail"]) == (409, True)
    with pytest.raises(CommandError, match=r"crosslens\[research\]"):
        call_command("build_release", "harbours", "--licence", "CC0-1.0", "--author", "A")
    assert not Release.objects.exists()


def test_a_worker_that_lacks_it_says_so_at_once(campaign, monkeypatch):
    release = campaign.start()
    block_pyarrow(monkeypatch)
    build(release_id=release.pk, clock=lambda: UNTIL)
    release.refresh_from_db()
    assert (release.state, HOW in release.error, release.attempts) == (JobState.FAILED, True, 1)
