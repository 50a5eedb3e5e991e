"""A campaign in all languages from the client alone, to a release that `datasets` opens with its images."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from django.utils import timezone

from annotation.models import Round
from annotation.services.rounds import fill_round
from core.images.models import Image
from core.images.services.images import make_sizes
from core.languages.models import Language
from tests.annotation.submitting import submit_captions
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


@pytest.mark.filterwarnings("ignore")
def test_36_languages_from_a_campaign_file_to_a_release_with_images(tmp_path, monkeypatch):
    from datasets import load_dataset

    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    manager = make_user("mara", is_staff=True, is_superuser=True)
    server = connected(manager)
    project = server.projects.create("world", '[project]\nname = "World"')
    slug = server.collections.upload(photographs(tmp_path / "photographs"), project="world", name="Photographs")
    for image_id in Image.objects.values_list("pk", flat=True):
        make_sizes(image_id=image_id, now=timezone.now())
    captions = project.imports.preview(english(tmp_path / "writer.jsonl"), collection=slug).confirm()
    assert [part["added"] for part in captions.parts] == [3]

    tags = sorted(Language.objects.values_list("pk", flat=True))
    assert len(tags) == 36
    campaign = CAMPAIGN.format(collection=slug) + "".join(f'\n[[languages]]\ntag = "{tag}"\n' for tag in tags)
    assert {step["kind"] for step in project.plan_campaign(campaign)} == {"added"}
    project.apply_campaign(campaign)
    assert project.plan_campaign(campaign) == []
    for round in Round.objects.filter(awaits_tasks=True):
        fill_round(round_id=round.pk)
    opened = [row["id"] for row in project.rounds if row["state"] == "open"]
    assert len(opened) == 36
    for round in Round.objects.filter(pk__in=opened):
        submit_captions(round, make_annotator(round, f"writer-{round.language_id}"), now=timezone.now())
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
