"""From published sentences, senses and pictures to a corpus, a game that is played and two tasks, by commands."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

from gapgame.models import GapItem, ItemSet, TurnOutcome
from tests.commands import output_of
from tests.factories import make_player, make_project, make_season
from tests.gapgame.seasons import play
from tests.parallel_text.test_align import eflomal
from tests.published import published

OTHERS = {"es": 2, "pt": 3, "fr": 4, "de": 5}
"""Columns of the sentences that belong to the pictures."""

TASK = ("--valid", 1, "--test", 1, "--split", "intersect_1")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Sentences of Tatoeba and Tux Paint, ratings, inventories, and pictures by the senses of their names."""
    tatoeba, tux = published("multisubs"), published("tux")
    lines = (tux / "sentences_en_es_pt_fr_de.tsv").read_text(encoding="utf-8").splitlines()
    columns = [line.split("\t") for line in lines]
    parts = ['name = "Tatoeba and Tux"\n']
    for tag, column in OTHERS.items():
        pairs = "".join(f"{row[1]}\t{row[column]}\n" for row in columns)
        text = (tatoeba / f"tatoeba.{tag}.tsv").read_text(encoding="utf-8") + pairs
        (tmp_path / f"text.{tag}.tsv").write_text(text, encoding="utf-8")
        parts.append(f'[[texts]]\nlanguage = "{tag}"\nfile = "text.{tag}.tsv"\n')
    inventory = '[[inventories]]\nlanguage = "{tag}"\nfile = "{folder}/senses.{tag}.tsv.gz"\n'
    parts += [inventory.format(tag=tag, folder=tatoeba) for tag in ("en", *OTHERS)]
    parts.append(f'[candidates]\nratings = "{tatoeba}/imageability.csv"\n')
    parts.append('[align]\nprogram = "eflomal"\n')
    parts.append('[images]\nmanifest = "images.jsonl"\nfolder = "pictures"\n')
    parts.append('[exclude]\nfile = "exclusions.csv"\n')
    (tmp_path / "exclusions.csv").write_text("word,synset,image,reason\n")
    senses: dict[str, list[str]] = defaultdict(list)
    for line in gzip.decompress((tatoeba / "senses.en.tsv.gz").read_bytes()).decode().splitlines():
        synset, lemma = line.split("\t")
        senses[lemma.lower()].append(synset)
    manifest = []
    for picture in json.loads((tux / "manifest.json").read_text(encoding="utf-8")):
        words = re.findall(r"[a-z]+", picture["captions"].get("en", "").lower())
        for synset in senses.get(words[-1] if words else "", []):
            about = {"licence": "GPL-2.0-or-later", "author": "Tux Paint developers", "source": "Tux Paint"}
            manifest.append(json.dumps({"synset": synset, "file": picture["file"], **about}))
        target = tmp_path / "pictures" / picture["file"]
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(tux / picture["file"], target)
    (tmp_path / "images.jsonl").write_text("\n".join(manifest) + "\n")
    path = tmp_path / "corpus.toml"
    path.write_text("".join(parts), encoding="utf-8")
    return path


@pytest.mark.django_db
@pytest.mark.long(reason="4,000 sentences are aligned in four languages")
def test_published_sentences_become_a_corpus_a_game_and_tasks(config: Path, tmp_path: Path, media: Path) -> None:
    eflomal()
    out = tmp_path / "corpus"
    printed = output_of("build_corpus", config, "--out", out)
    assert re.search(r"^pt( +\d+){4}$", printed, re.MULTILINE)
    assert '"lemma": "oso"' in (out / "dictionary.jsonl").read_text(encoding="utf-8")
    assert '"lemma": "frog"' in (out / "items.jsonl").read_text(encoding="utf-8")

    (tmp_path / "exclusions.csv").write_text("word,synset,image,reason\nfrog,,,A test\n")
    output_of("build_corpus", config, "--out", out)

    make_project("zoo")
    about = ("--project", "zoo", "--name", "Tux", "--most", 100)
    output_of("import", out, tmp_path / "pictures", *about)
    item_set = ItemSet.objects.get()
    [origin] = item_set.corpora
    assert origin["configuration"]["intersect"]["settings"]["words"] == ["frog"]
    assert not GapItem.objects.filter(word__iexact="frog").exists()
    item = GapItem.objects.filter(split__gte=1).order_by("pk").first()
    assert item is not None
    season = make_season(items=0, item_set=item_set, batch_size=100)
    turn = play(make_player(season), item=item, guesses=(item.word,), at=season.starts_at)
    assert turn.outcome == TurnOutcome.ATTEMPT_1

    output_of("build_gap_task", out, tmp_path / "gap", *TASK)
    output_of("build_translation_task", out, tmp_path / "es", "--language", "es", *TASK)
    for name in ("gap", "es"):
        assert {"train.jsonl", "test.gold.jsonl"} <= {path.name for path in (tmp_path / name).iterdir()}
