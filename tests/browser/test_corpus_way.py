"""From published sentences, senses and pictures to a corpus, a game that is played and two tasks, in a browser."""

from __future__ import annotations

import gzip
import json
import re
import zipfile
from collections import defaultdict
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from corpora import tasks
from corpora.models import CorpusBuild
from gapgame.models import GapItem, ItemSet
from gapgame.services.item_imports import run_import
from gapgame.views import corpus_sets
from images.models import ImportJob
from people.models import Role
from tests.browser.annotator import sign_in
from tests.corpora.building import work_off
from tests.factories import make_player, make_season
from tests.gapgame.seasons import play
from tests.inference.watched import make_person
from tests.parallel_text.aligner import eflomal
from tests.published import published

OTHERS = {"es": 2, "pt": 3, "fr": 4, "de": 5}
"""Columns of the sentences that belong to the pictures."""


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Sentences of Tatoeba and Tux Paint, ratings, inventories, and pictures by the senses of their names."""
    tatoeba, tux = published("multisubs"), published("tux")
    lines = (tux / "sentences_en_es_pt_fr_de.tsv").read_text(encoding="utf-8").splitlines()
    columns = [line.split("\t") for line in lines]
    for tag, column in OTHERS.items():
        pairs = "".join(f"{row[1]}\t{row[column]}\n" for row in columns)
        text = (tatoeba / f"tatoeba.{tag}.tsv").read_text(encoding="utf-8") + pairs
        (tmp_path / f"text.{tag}.tsv").write_text(text, encoding="utf-8")
    senses: dict[str, list[str]] = defaultdict(list)
    for line in gzip.decompress((tatoeba / "senses.en.tsv.gz").read_bytes()).decode().splitlines():
        synset, lemma = line.split("\t")
        senses[lemma.lower()].append(synset)
    manifest = []
    with zipfile.ZipFile(tmp_path / "pictures.zip", "w") as archive:
        for picture in json.loads((tux / "manifest.json").read_text(encoding="utf-8")):
            words = re.findall(r"[a-z]+", picture["captions"].get("en", "").lower())
            for synset in senses.get(words[-1] if words else "", []):
                about = {"licence": "GPL-2.0-or-later", "author": "Tux Paint developers", "source": "Tux Paint"}
                manifest.append(json.dumps({"synset": synset, "file": picture["file"], **about}))
            archive.write(tux / picture["file"], picture["file"])
    (tmp_path / "images.jsonl").write_text("\n".join(manifest) + "\n")
    inventories = [tatoeba / f"senses.{tag}.tsv.gz" for tag in ("en", *OTHERS)]
    made = [tmp_path / f"text.{tag}.tsv" for tag in OTHERS]
    return [*made, *inventories, tatoeba / "imageability.csv", tmp_path / "images.jsonl", tmp_path / "pictures.zip"]


@pytest.fixture
def page(browser: Browser, live_server, media, monkeypatch) -> Page:
    eflomal()
    # The test is the worker.
    monkeypatch.setattr(tasks, "ask_for_corpus", lambda build_id: None)
    monkeypatch.setattr(corpus_sets, "ask_for_item_import", lambda job_id: None)
    context = browser.new_context(base_url=live_server.url, viewport={"width": 390, "height": 844})
    manager = make_person(Role.MANAGER)
    sign_in(context, manager, live_server.url)
    page = context.new_page()
    project = manager.memberships.get().project
    page.goto(f"/projects/{project.slug}/new-corpus/")
    return page


@pytest.mark.django_db(transaction=True)
@pytest.mark.long(reason="4,000 sentences are aligned in four languages")
def test_published_sentences_become_a_corpus_a_game_and_tasks(page: Page, files: list[Path]) -> None:
    page.get_by_label("Name").fill("Tatoeba and Tux")
    page.get_by_role("button", name="Create").click()
    page.locator("input[type=file]").set_input_files(files)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text(f"{len(files)} files were added.")).to_be_visible()
    page.get_by_role("button", name="Build", exact=True).click()
    build = CorpusBuild.objects.get()
    work_off(build, timezone.now)
    page.reload()
    expect(page.get_by_text("The corpus is up to date.")).to_be_visible()
    address = page.url

    page.goto(f"{address}statistics/")
    expect(page.get_by_role("row", name=re.compile("^Portuguese"))).not_to_have_count(0)
    page.goto(f"{address}word/?word=bear")
    expect(page.get_by_text("oso", exact=True).first).to_be_visible()
    picture = page.locator("main img").first
    picture.scroll_into_view_if_needed()
    page.wait_for_function("image => image.complete && image.naturalWidth > 0", arg=picture.element_handle())
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.get_by_role("link", name="All languages").first.click()
    expect(page.get_by_text("German").first).to_be_visible()

    page.goto(f"{address}word/?word=frog")
    page.get_by_text("Strike out this word").click()
    page.locator("details[open]").get_by_role("button", name="Strike out").click()
    work_off(build, timezone.now)
    page.goto(f"{address}struck-out/")
    expect(page.get_by_text("frog", exact=True).first).to_be_visible()

    page.goto(address)
    page.get_by_role("link", name="Make a game or a task").click()
    page.get_by_role("button", name="Make the set").click()
    expect(page).to_have_url(re.compile("/imports/"))
    # Once it is done the page loads itself again, and would end the visit of another.
    page.goto("about:blank")
    run_import(job_id=ImportJob.objects.latest("pk").pk, clock=timezone.now, announce=lambda image_id: None)
    item = GapItem.objects.filter(split__gte=1).order_by("pk").first()
    assert item is not None
    assert not GapItem.objects.filter(word__iexact="frog").exists()
    item_set = ItemSet.objects.get()
    season = make_season(items=0, item_set=item_set, batch_size=100)
    play(make_player(season), item=item, guesses=(item.word,), at=season.starts_at)

    page.goto(f"{address}word/?word={item_set.of_corpus.lemmas[item.key]}")
    expect(page.get_by_text("What players of the Gap Filling Game found").first).to_be_visible()
    page.goto(address)
    page.get_by_role("link", name="Make a game or a task").click()
    for task, name in (("", "gap"), ("es", "es")):
        form = page.locator("form[method=get]")
        form.get_by_label("Task").select_option(task)
        form.get_by_label("Instances for validation").fill("1")
        form.get_by_label("Instances for testing").fill("1")
        form.get_by_label("Split that they come from").select_option("intersect_1")
        with page.expect_download() as download:
            form.get_by_role("button").click()
        with zipfile.ZipFile(download.value.path()) as archive:
            assert {"train.jsonl", "test.gold.jsonl"} <= set(archive.namelist())
        assert download.value.suggested_filename == f"{build.slug}-{name}.zip"
