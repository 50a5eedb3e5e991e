"""Sets of the game and tasks for machines are drawn from the folder that `build_corpus` wrote."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from django.core.management import CommandError
from django.urls import reverse
from PIL import Image as Picture

from gapgame.models import GapItem, ItemSet
from gapgame.rules.corpus_items import ItemChoice, chosen_items
from tests.commands import output_of
from tests.factories import make_project, make_user
from tests.parallel_text.animals import NOUNS, SYNSETS, made_config

pytestmark = pytest.mark.django_db
TASK = ("--valid", 1, "--test", 1, "--split", "intersect_1")


def items(*words: str) -> list[dict[str, object]]:
    return [
        {"key": f"{word}-{number}", "word": word.title(), "split": f"intersect_{number % 3}"}
        for word in words
        for number in range(6)
    ]


def test_items_are_drawn_by_the_seed_whatever_the_order_of_the_lines():
    lines = items("seal", "bank", "rock")
    choice = ItemChoice(least=1, per_word=2, most=5, seed=7)
    drawn = [item["key"] for item in chosen_items(lines, choice)]
    assert len(drawn) == len(set(drawn)) == 5
    assert drawn == [item["key"] for item in chosen_items(reversed(lines), choice)]
    assert all(int(key[-1]) % 3 >= 1 for key in drawn)
    assert max(sum(key.startswith(word) for key in drawn) for word in ("seal", "bank", "rock")) == 2
    assert drawn != [item["key"] for item in chosen_items(lines, ItemChoice(least=1, per_word=2, most=5, seed=8))]
    # More asked for in all: the same ones, and more.
    more = [item["key"] for item in chosen_items(lines, ItemChoice(least=1, per_word=2, most=6, seed=7))]
    assert more[:5] == drawn
    lost = [item | ({"unplayable": "repeated"} if item["key"] == drawn[0] else {}) for item in lines]
    assert drawn[0] not in {item["key"] for item in chosen_items(lost, choice)}


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with a corpus in `corpus`, and three images of each animal in `pictures`."""
    folder: Path = tmp_path_factory.mktemp("built")
    config, lines = made_config(folder), []
    (folder / "pictures").mkdir()
    for number, noun in enumerate(NOUNS):
        for view in range(3):
            name = f"{number}-{view}.png"
            Picture.new("RGB", (40, 30), (40 * number, 80 * view, 9)).save(folder / "pictures" / name)
            about = {"licence": "CC0", "author": "Ada", "source": "made"}
            lines.append(json.dumps({"synset": SYNSETS[noun], "file": name, **about}) + "\n")
    (folder / "images.jsonl").write_text("".join(lines))
    output_of("build_corpus", config, "--out", folder / "corpus")
    return folder


@pytest.fixture
def manager(media):
    manager = make_user("mia")
    make_project("zoo", manager=manager)
    return manager


def import_from(corpus: Path, *options: object) -> str:
    return output_of("import_gap_items", corpus, "--project", "zoo", "--set", "Animals", *options)


def test_a_set_is_drawn_from_a_corpus_and_its_page_says_from_which(built, manager, client):
    corpus = built / "corpus"
    asked = ("--images", built / "pictures", "--per-word", 2, "--most", 8, "--seed", 3)
    assert "Added: 8" in import_from(corpus, *asked)
    item_set = ItemSet.objects.get()
    item = GapItem.objects.filter(item_set=item_set).order_by("pk").first()
    assert item.sense == [SYNSETS[item.word]]
    assert {image.image.licence for image in item.images.all()} == {"CC0"}
    assert item.images.count() == 3

    client.force_login(manager)
    page = client.get(reverse("gapgame:item-set-show", args=["zoo", item_set.pk])).content.decode()
    published = json.loads((corpus / "steps" / "publish.json").read_text())
    assert "From the corpus <bdi>animals</bdi>" in page
    assert published["fingerprint"] in page
    assert "&quot;threshold&quot;: 500.0" in page
    assert "text.es.tsv" in page

    assert "Already there: 8" in import_from(corpus, *asked)
    import_from(corpus, "--images", built / "pictures", "--per-word", 1)
    item_set.refresh_from_db()
    assert [one["choice"]["per_word"] for one in item_set.corpora] == [2, 1]


def test_tasks_for_machines_are_drawn_from_the_same_folder(built, tmp_path):
    output_of("build_gap_task", built / "corpus", tmp_path / "gap", *TASK)
    output_of("build_translation_task", built / "corpus", tmp_path / "es", "--language", "es", *TASK)
    for name in ("gap", "es"):
        assert {"train.jsonl", "valid.jsonl", "test.gold.jsonl", "README.md"} <= {
            path.name for path in (tmp_path / name).iterdir()
        }
        assert len((tmp_path / name / "test.jsonl").read_bytes().splitlines()) == 1


def test_a_set_is_refused_where_the_corpus_is_not_what_was_built(built, manager, tmp_path):
    corpus = tmp_path / "corpus"
    shutil.copytree(built / "corpus", corpus)
    with pytest.raises(CommandError, match="Choose fewer"):
        import_from(corpus, "--least", 4)
    with pytest.raises(CommandError, match="Leave out --per-word"):
        import_from(corpus / "items.jsonl", "--per-word", 2)
    with (corpus / "items.jsonl").open("a") as file:
        file.write("{}\n")
    with pytest.raises(CommandError, match="was changed after it was built"):
        import_from(corpus)
    (corpus / "steps" / "publish.json").unlink()
    with pytest.raises(CommandError, match="is not built"):
        import_from(corpus)
    assert ItemSet.objects.get().corpora == []
