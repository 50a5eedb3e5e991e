"""The pages of a project's sentences: managers fill and switch, researchers read, nobody else sees them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from core.images.models import Image, ImportJob
from core.jobs.models import JobState
from gapgame.models import ItemSet
from office.imports.tasks import run_import
from tests.clients import client_of
from tests.factories import (
    NOW,
    make_item,
    make_item_set,
    make_player,
    make_project,
    make_season,
)
from tests.gapgame.seasons import make_researcher
from tests.images.image_files import image_file
from tests.imports.sent import run
from tests.kept import kept
from tests.queries import queries_of

pytestmark = pytest.mark.django_db
LINE = {"language": "en", "sentence": "A ____ sleeps.", "word": "walrus", "split": 1, "images": ["a.jpg"]}


@pytest.fixture(autouse=True)
def _no_queue(media: Path, monkeypatch) -> None:
    monkeypatch.setattr(run_import, "delay", lambda job_id: None)


@kept
def item_set() -> ItemSet:
    made = make_item_set(make_project("whales"))
    make_item(made, "walrus", images=3, before="One ", after=" dives.", split=2)
    make_item(made, "morsa", images=8, language="es", before="Una ", after=" nada.", split=0, is_used=False)
    make_item(made, "فظ", images=1, language="ar", before="يسبح ", after=" في البحر.", split=0)
    return made


@pytest.fixture
def manager(item_set) -> Client:
    return client_of(item_set.project.created_by)


@pytest.fixture
def researcher(item_set) -> Client:
    return client_of(make_researcher(item_set.project))


def address(name: str, *arguments: Any) -> str:
    return reverse(f"gapgame:{name}", args=["whales", *arguments])


def show(client: Client, item_set: ItemSet, **query: str) -> str:
    response = client.get(address("item-set-show", item_set.pk), query)
    assert response.status_code == 200
    return response.content.decode()


def words_in(page: str) -> list[str]:
    return re.findall(r"<mark>([^<]+)</mark>", page)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_researchers_read_and_are_not_led_to_change_anything(item_set, researcher):
    page = show(researcher, item_set)
    assert words_in(page) == ["walrus", "morsa", "فظ"]
    assert "is_used" not in page


def test_the_list_counts_each_set_once_whatever_seasons_it_has(item_set, manager):
    make_season(project=item_set.project, item_set=item_set, items=0)
    make_season(project=item_set.project, item_set=item_set, items=0)
    page = manager.get(address("item-set-list")).content.decode()
    assert "3 sentences, 2 in use" in page
    assert "Played in 2 seasons" in page


def test_sentences_are_found_by_language_split_use_and_word(item_set, manager):
    assert words_in(show(manager, item_set, language="es")) == ["morsa"]
    assert words_in(show(manager, item_set, split="0")) == ["morsa", "فظ"]
    assert words_in(show(manager, item_set, use="1")) == ["walrus", "فظ"]
    assert words_in(show(manager, item_set, use="0", split="0")) == ["morsa"]
    assert words_in(show(manager, item_set, search="WALR")) == ["walrus"]
    assert words_in(show(manager, item_set, search="nada")) == ["morsa"]
    assert words_in(show(manager, item_set, search="فظ")) == ["فظ"]
    assert "No sentences found" in show(manager, item_set, search="whale")
    assert words_in(show(manager, item_set, split="9", language="xx")) == ["walrus", "morsa", "فظ"]


def test_skipped_sentences_are_shown_with_how_many_left_them(item_set, manager):
    season = make_season(project=item_set.project, item_set=item_set, items=0)
    item = item_set.items.get(word="walrus")
    for _ in range(2):
        player = make_player(season)
        batch = player.batches.create(language_id="en", signature="s", number=1, taken_at=NOW)
        batch.all_turns.create(
            player=player, item=item, position=1, seed=1, outcome="skipped", skip_reason="broken",
            opened_at=NOW, finished_at=NOW,
        )  # fmt: skip
    page = show(manager, item_set, use="skipped")
    assert words_in(page) == ["walrus"]
    assert re.search(r'<td class="number">2</td>', page)


def test_images_are_few_and_small_and_their_number_and_licences_are_told(item_set, manager):
    image = Image.objects.filter(pk__in=item_set.items.get(word="فظ").images.values("image"))
    image.update(licence="", state=JobState.QUEUED)
    page = show(manager, item_set)
    assert page.count('alt="Image ') == 3 + 6
    assert "and 2 more" in page
    assert "1 without a licence" in page
    assert "being prepared" in page
    assert 'lang="ar" dir="rtl"' in page
    assert "style=" not in page


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_page_asks_as_often_for_many_sentences_as_for_few(item_set, manager):
    def queries() -> int:
        return len(queries_of(lambda: show(manager, item_set)))

    queries()
    few = queries()
    for number in range(20):
        make_item(item_set, f"word{number}")
    assert queries() == few


def test_a_sentence_is_switched_off_and_on_again_also_during_a_season(item_set, manager):
    make_season(project=item_set.project, item_set=item_set, items=0)
    item = item_set.items.get(word="walrus")
    path = address("item-change", item_set.pk, item.pk)
    for is_used in ("0", "1"):
        back = f"{address('item-set-show', item_set.pk)}?split=2"
        response = manager.post(path, {"is_used": is_used, "next": back})
        assert response["Location"] == f"{back}#item-{item.pk}"
        item.refresh_from_db()
        assert item.is_used is (is_used == "1")
    response = manager.post(path, {"is_used": "0", "next": "https://elsewhere.example/"})
    assert response["Location"].startswith(address("item-set-show", item_set.pk))


def test_a_manager_is_led_to_the_import_with_the_name_of_the_set_and_to_its_report(item_set, manager):
    page = show(manager, item_set)
    into = reverse("imports:import-create", args=["whales"]) + f"?name={quote(item_set.name)}"
    assert into in page
    content = (json.dumps(LINE) + "\n").encode()
    form = manager.get(into).content.decode()
    assert re.search(rf'type="hidden" name="name" value="{item_set.name}"', form)
    sent = [SimpleUploadedFile("items.jsonl", content), SimpleUploadedFile("a.jpg", image_file())]
    location = manager.post(into, {"images": sent, "name": item_set.name})["Location"]
    run(ImportJob.objects.get())
    assert "Sentences with a gap" in manager.get(location).content.decode()
    manager.post(location, {"name": item_set.name})
    part = run(ImportJob.objects.get()).parts.get()
    report = manager.get(reverse("images:import-show", args=[part.pk])).content.decode()
    assert address("item-set-show", item_set.pk) in report
    assert "Image 1 has no known licence." in report
    assert "walrus" not in report


def test_once_a_season_has_begun_nobody_is_led_to_the_import(item_set, manager):
    season = make_season(project=item_set.project, item_set=item_set, items=0)
    type(season).objects.filter(pk=season.pk).update(starts_at="2020-01-01T00:00Z", ends_at="2020-02-01T00:00Z")
    assert "?name=" not in show(manager, item_set)
