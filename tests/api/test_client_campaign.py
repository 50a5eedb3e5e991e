"""A campaign in all languages from the client alone, to a release that `datasets` opens with its images."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from annotation.models import Round
from core.languages.models import Language
from crosslens import Crosslens, Project
from tests.api.test_client import connected
from tests.factories import make_annotator, make_user
from tests.images.image_files import image_file

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("media"),
    pytest.mark.long(reason="each step has tests of its own; here they are in one line, in 36 languages"),
]

KEYS = ("harbour.jpg", "market.jpg", "tower.jpg")
CAMPAIGN = """
[project]
name = "World"

[rounds]
collection = "{collection}"
captioners = ["writer"]
replication = 1
batch_size = 3
pilot.skip_reason = "These people know the guidelines."
"""


def photographs(folder: Path) -> Path:
    folder.mkdir()
    for number, key in enumerate(KEYS):
        (folder / key).write_bytes(image_file(size=(40 + number, 30)))
    rows = [
        {"file": key, "licence": "CC BY 4.0", "author": "Ada", "source": f"https://a.example/{key}"} for key in KEYS
    ]
    (folder / "manifest.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return folder


def english(path: Path) -> Path:
    rows = [{"image": key, "caption": f"A {key}.", "model": "writer", "language": "en"} for key in KEYS]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def opened_rounds(project: Project) -> list[int]:
    """Wait until the rounds of all languages have their images."""
    for _time in range(3):
        opened = [row for row in project.progress()["rounds"] if row["state"] == "open"]
        if all(row["tasks"] == len(KEYS) for row in opened):
            return [row["round"] for row in opened]
        project._connection.pause(1)
    raise AssertionError(opened)


def write_captions(writer: Crosslens, round_id: int) -> None:
    (one,) = writer.work.rounds()
    assert (one["round"], one["missing_requirements"]) == (round_id, [])
    batch = writer.work.take(round_id)
    assert sorted(item["english"] for item in batch.items) == [f"A {key}." for key in KEYS]
    for item in batch.items:
        batch.rate(item["position"], "GOOD")
    for item in batch.open_writing().items:
        batch.write(item["position"], f"Text {item['position']} of {writer.me()['username']}")
    assert batch.submit().values["stage"] == "submitted"


@pytest.mark.filterwarnings("ignore")
def test_36_languages_from_a_campaign_file_to_a_release_with_images(tmp_path, monkeypatch):
    from datasets import load_dataset

    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    manager = make_user("mara", is_staff=True, is_superuser=True)
    server = connected(manager)
    project = server.projects.create("world", '[project]\nname = "World"\n[practice]\n')
    slug = server.collections.upload(photographs(tmp_path / "photographs"), project="world", name="Photographs")
    captions = project.imports.preview(english(tmp_path / "writer.jsonl"), collection=slug).confirm()
    assert [part["added"] for part in captions.parts] == [3]

    tags = sorted(Language.objects.values_list("pk", flat=True))
    assert len(tags) == 36
    campaign = CAMPAIGN.format(collection=slug) + "".join(f'\n[[languages]]\ntag = "{tag}"\n' for tag in tags)
    assert {step["kind"] for step in project.plan_campaign(campaign)} == {"added"}
    project.apply_campaign(campaign)
    assert project.plan_campaign(campaign) == []
    opened = opened_rounds(project)
    assert len(opened) == 36
    for round in Round.objects.filter(pk__in=opened):
        write_captions(connected(make_annotator(round, f"writer-{round.language_id}")), round.pk)
    assert {row["language"] for row in project.captions()} == {*tags}
    for round_id in opened:
        project.rounds.close(round_id, assigned="return")
        project.rounds.accept(round_id)

    release = project.releases.make(title="World", licence="CC-BY-4.0", authors=["Ada"], include_images=True)
    shutil.unpack_archive(release.download(tmp_path / "world.tar.gz"), tmp_path / "unpacked")
    rows = load_dataset(str(tmp_path / "unpacked" / "world-1"), "with_images", split="train")
    assert sorted(rows["key"][:]) == ["harbour", "market", "tower"]
    assert [row["image"].size for row in rows] == [(40, 30), (41, 30), (42, 30)]
    assert all(sorted(caption["language"] for caption in row["captions"]) == tags for row in rows)
