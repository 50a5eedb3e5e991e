"""Sentences of a corpus become a set of the game and tasks for machines, and what players found comes back."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from PIL import Image as Picture

from corpora.models import CorpusBuild
from corpora.rules.played import PlayedSense, played
from corpora.services import corpus_builds, corpus_files
from gapgame.models import CorpusItemSet, GapItem, ItemSet
from gapgame.rules.corpus_items import Choice, chosen_items
from gapgame.selectors.corpus_turns import played_senses
from gapgame.services.item_imports import run_import
from images.models import ImportJob, JobState
from people.models import Role
from tests.clients import client_of
from tests.corpora.building import NOUNS, SYNSETS, make_corpus, work_off
from tests.factories import NOW, join_project, make_player, make_project, make_season, make_user
from tests.gapgame.seasons import play

pytestmark = pytest.mark.django_db
CHOICE = {"name": "Animals", "least": "1", "per_word": "2", "most": "8", "seed": "3"}
TASK = {"language": "", "valid": "1", "test": "1", "reserve": "10", "split": "intersect_1", "seed": "1"}


def items(*words: str) -> list[dict[str, object]]:
    return [
        {"key": f"{word}-{number}", "word": word.title(), "split": f"intersect_{number % 3}"}
        for word in words
        for number in range(6)
    ]


def test_items_are_drawn_by_the_seed_whatever_the_order_of_the_lines():
    lines = items("seal", "bank", "rock")
    choice = Choice(least=1, per_word=2, most=5, seed=7)
    drawn = [item["key"] for item in chosen_items(lines, choice)]
    assert len(drawn) == len(set(drawn)) == 5
    assert drawn == [item["key"] for item in chosen_items(reversed(lines), choice)]
    assert all(int(key[-1]) % 3 >= 1 for key in drawn)
    assert max(sum(key.startswith(word) for key in drawn) for word in ("seal", "bank", "rock")) == 2
    assert drawn != [item["key"] for item in chosen_items(lines, Choice(least=1, per_word=2, most=5, seed=8))]
    # More asked for in all: the same ones, and more.
    more = [item["key"] for item in chosen_items(lines, Choice(least=1, per_word=2, most=6, seed=7))]
    assert more[:5] == drawn
    lost = [item | ({"unplayable": "repeated"} if item["key"] == drawn[0] else {}) for item in lines]
    assert drawn[0] not in {item["key"] for item in chosen_items(lost, choice)}


@pytest.fixture
def manager():
    return make_user("mia")


@pytest.fixture
def build(media: Path, tmp_path: Path, manager) -> CorpusBuild:
    """A corpus with three images of each animal."""
    folder = tmp_path / "made"
    folder.mkdir()
    build = make_corpus(folder, project=make_project("zoo", manager=manager))
    packed, lines = folder / "pictures.zip", []
    with zipfile.ZipFile(packed, "w") as archive:
        for number, noun in enumerate(NOUNS):
            for view in range(3):
                content = io.BytesIO()
                Picture.new("RGB", (40, 30), (40 * number, 80 * view, 9)).save(content, "PNG")
                archive.writestr(f"{number}-{view}.png", content.getvalue())
                about = {"licence": "CC0", "author": "Ada", "source": "made"}
                lines.append(json.dumps({"synset": SYNSETS[noun], "file": f"{number}-{view}.png", **about}))
    (folder / "images.jsonl").write_text("\n".join(lines) + "\n")
    for name in ("pictures.zip", "images.jsonl"):
        corpus_files.add_file(build=build, path=folder / name, name=name, by=None, now=NOW)
    corpus_builds.start(build=build, by=None, now=NOW)
    work_off(build)
    return build


def address(name: str, build: CorpusBuild) -> str:
    return reverse(f"gapgame:{name}", args=["zoo", build.slug])


def test_tasks_are_downloaded_and_a_click_makes_a_set_that_is_played_and_stands_on_word_pages(build, manager, client):
    client.force_login(manager)
    tasks_are_drawn(build, client)
    page = client.get(address("corpus-set-create", build))
    assert b"Make the set" in page.content

    sent = client.post(address("corpus-set-create", build), CHOICE)
    job = ImportJob.objects.get(collection__in=ItemSet.objects.values("collection"))
    assert sent["Location"] == reverse("images:import-show", args=[job.pk])
    run_import(job_id=job.pk, clock=lambda: NOW, announce=lambda image_id: None)
    job.refresh_from_db()
    assert (job.state, job.rows.filter(outcome="added").count()) == (JobState.DONE, 8)

    item_set = ItemSet.objects.get()
    assert CorpusItemSet.objects.get().build == build
    item = GapItem.objects.filter(item_set=item_set).order_by("pk").first()
    assert item.sense == [SYNSETS[item.word]]
    assert {image.image.licence for image in item.images.all()} == {"CC0"}
    assert item.images.count() == 3

    again = client.post(address("corpus-set-create", build), CHOICE)
    assert again.status_code == 422
    assert b"already has a set with this name" in again.content

    assert played(build.pk, item.word) == []
    player = make_player(make_season(items=0, item_set=item_set, batch_size=8))
    play(player, item=item, guesses=("car", item.word), at=NOW)
    assert played_senses(build.pk, item.word) == [PlayedSense(SYNSETS[item.word], 1, 0, 1, 0, 0, 1.0)]
    words = client.get(reverse("corpora:corpus-word", args=["zoo", build.slug]), {"word": item.word})
    assert words.status_code == 200
    assert "What players of the Gap Filling Game found" in words.content.decode()


def tasks_are_drawn(build: CorpusBuild, client: Client) -> None:
    """Tasks for machines are downloaded, and what cannot be drawn is said."""
    for language, name in (("", "animals-gap.zip"), ("es", "animals-es.zip")):
        answer: Any = client.get(address("corpus-task", build), TASK | {"language": language})
        assert answer.status_code == 200, answer.content
        assert name in answer["Content-Disposition"]
        with zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as archive:
            assert {"train.jsonl", "valid.jsonl", "test.gold.jsonl", "README.md"} <= set(archive.namelist())
            assert len(archive.read("test.jsonl").splitlines()) == 1

    refused = client.get(address("corpus-task", build), TASK | {"valid": "5000"})
    assert refused.status_code == 422
    assert b"Ask for fewer" in refused.content
    assert client.get(address("corpus-task", build), TASK | {"language": "xx"}).status_code == 422
    no_word = client.post(address("corpus-set-create", build), CHOICE | {"least": "4"})
    assert b"Choose fewer" in no_word.content
    assert not ItemSet.objects.exists()


def test_a_corpus_that_is_not_built_makes_nothing_and_outsiders_find_nothing(media, tmp_path, manager, client):
    build = make_corpus(tmp_path, project=make_project("zoo", manager=manager))
    client.force_login(manager)
    for answer in (
        client.post(address("corpus-set-create", build), CHOICE),
        client.get(address("corpus-task", build), TASK),
    ):
        assert answer.status_code == 422
        assert b"not built yet" in answer.content
    player = make_user("pia")
    join_project(build.project, player, Role.PLAYER)
    for user in (player, make_user("otto")):
        for name in ("corpus-set-create", "corpus-task"):
            assert client_of(user).get(address(name, build)).status_code == 404
