"""Item sets from the folder that `build_corpus` wrote, and the image of the first hint by vectors of the platform."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse
from PIL import Image as Picture

from core.images.models import ImportJob
from gapgame.models import GapItem, ItemSet
from gapgame.rules.item_sources import ItemChoice, chosen_items
from gapgame.services.items import ItemSetClosedError, choose_again
from office.imports.services.undoing import undo_at_once
from research.inference.models import EmbeddingSet
from research.inference.selectors.embeddings import whole_sets
from tests.clients import client_of
from tests.commands import output_of
from tests.factories import NOW, make_project, make_season, make_user
from tests.gapgame.item_files import LINE, run, sha_of, shas, told, write
from tests.images.image_files import image_file, zipped
from tests.imports.sent import run as run_stage
from tests.inference import embedded
from tests.inference.embedded import make_encoder, make_set
from tests.parallel_text.animals import NOUNS, SYNSETS, made_config
from tests.queries import queries_of

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


def import_from(corpus: Path, *more: object) -> str:
    return output_of("import", corpus, *more, "--project", "zoo", "--name", "Animals")


def test_a_set_is_drawn_from_a_corpus_and_its_page_says_from_which(built, manager, client):
    corpus = built / "corpus"
    asked = (built / "pictures", "--per-word", 2, "--most", 8, "--seed", 3)
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
    import_from(corpus, built / "pictures", "--per-word", 1)
    item_set.refresh_from_db()
    assert [one["choice"]["per_word"] for one in item_set.corpora] == [2, 1]


def zipped_folder(*folders: Path) -> bytes:
    files = {
        f"{path.relative_to(one.parent)}": path.read_bytes()
        for one in folders
        for path in one.rglob("*.*")
        if path.is_file()
    }
    return zipped(files)


def test_a_page_draws_from_a_zip_of_the_folder_as_it_is_told_and_says_so_before(built, manager):
    client = client_of(manager)
    files = {"corpus.zip": zipped_folder(built / "corpus"), "pictures.zip": zipped_folder(built / "pictures")}
    uploads = [SimpleUploadedFile(name, content) for name, content in files.items()]
    where = client.post(reverse("imports:import-create", args=["zoo"]), {"images": uploads})["Location"]
    job = run_stage(ImportJob.objects.get())
    kinds = {file["path"]: (file["kind"], file["format"]) for file in job.options["preview"]}
    assert kinds["corpus.zip/corpus"] == ("gap items", "build_corpus")
    page = client.get(where).text
    assert [f'name="{part}" value="{usual}"' in page for part, usual in asdict(ItemChoice()).items()] == [True] * 4
    answers = {"name": "Animals", "least": 1, "per_word": 2, "most": 8, "seed": 3}
    assert client.post(where, answers | {"per_word": 0}).status_code == 422
    client.post(where, answers | {"least": 4})
    assert "Choose fewer" in dict(run_stage(job).options["gaps"])[""]
    client.post(where, answers)
    assert run_stage(job).options["gaps"] == []
    client.post(where, answers)
    assert (run_stage(job).state, job.error) == ("done", "")
    on_page = list(GapItem.objects.order_by("pk").values_list("key", flat=True))
    (corpus,) = ItemSet.objects.get().corpora
    assert corpus["choice"] == {"least": 1, "per_word": 2, "most": 8, "seed": 3}

    undo_at_once(job, now=NOW)
    assert not ItemSet.objects.exists()
    import_from(built / "corpus", built / "pictures", "--per-word", 2, "--most", 8, "--seed", 3)
    assert list(GapItem.objects.order_by("pk").values_list("key", flat=True)) == on_page


def test_programs_say_what_is_drawn_and_are_told_where_nothing_is(built, manager):
    """A folder that was dropped is the same as its zip."""
    client = client_of(manager)
    names = ["corpus/items.jsonl", "corpus/statistics.json", "corpus/steps/publish.json"]
    files = [SimpleUploadedFile("x", (built / name).read_bytes()) for name in names]
    sent = {"files": files, "paths": json.dumps(names), "most": 3, "name": "Animals"}
    answer = client.post("/api/v1/projects/zoo/imports/", sent)
    assert answer.status_code == 202
    (file,) = run_stage(ImportJob.objects.get()).options["preview"]
    assert (file["path"], file["kind"], file["languages"]) == ("corpus", "gap items", {"en": 3})
    refused = client.post("/api/v1/projects/zoo/imports/", {"files": SimpleUploadedFile("a.csv", b"x"), "most": 0})
    assert (refused.status_code, "most" in refused.json()["errors"]) == (422, True)

    alone = SimpleUploadedFile("items.jsonl", (built / "corpus" / "items.jsonl").read_bytes())
    client.post("/api/v1/projects/zoo/imports/", {"files": alone, "seed": 3})
    gaps = run_stage(ImportJob.objects.latest("pk")).options["gaps"]
    assert gaps == [["seed", "Sentences are drawn only from a folder made by build_corpus."]]


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
    assert not ItemSet.objects.exists()


SHADES = {"dark.jpg": 20, "grey.jpg": 120, "light.jpg": 230}
# The dark and the light one are both nearer to grey than to each other.


@pytest.fixture(autouse=True)
def storage(media, monkeypatch):
    embedded.offer(monkeypatch)
    # Grey levels have all one direction: two numbers tell them apart.
    monkeypatch.setattr(embedded.MeanColours, "prepare", _levels)


def _levels(encoder, image):
    level = np.asarray(image.convert("L"), dtype=np.float32).mean()
    return np.array([level, 255 - level, 1], dtype=np.float32)


@pytest.fixture
def images(folder):
    for name, shade in SHADES.items():
        (folder / name).write_bytes(image_file(shade=shade))
    return folder


LINES = [
    LINE | {"key": "first", "images": ["dark.jpg", "grey.jpg", "light.jpg"]},
    LINE | {"key": "named", "images": ["dark.jpg", "grey.jpg", "light.jpg"], "representative": "light.jpg"},
]


def sources():
    return dict(GapItem.objects.values_list("key", "representative_source"))


def vectors_of(item_set) -> EmbeddingSet:
    return make_set(make_encoder(), item_set.collection)


def again(item_set, **options):
    sets = whole_sets(collections=[item_set.collection], project=item_set.project_id)
    return choose_again(item_set=item_set, sets=sets, clock=lambda: NOW, **options)


def test_items_imported_after_their_images_have_vectors_get_the_most_central_one(item_set, images):
    run(item_set, write(images, *LINES))
    vectors_of(item_set)
    line = LINES[0] | {"key": "later", "images": ["light.jpg", "dark.jpg", "grey.jpg"]}
    run(item_set, write(images, line))

    later = item_set.items.get(key="later")
    assert later.representative_source == "embeddings"
    assert shas(later) == [sha_of(images / name) for name in ("grey.jpg", "light.jpg", "dark.jpg")]


def test_what_the_file_names_goes_before_vectors_and_an_image_without_one_means_the_first(item_set, images):
    run(item_set, write(images, LINES[0]))
    vectors_of(item_set)
    run(item_set, write(images, LINES[1]))

    assert sources() == {"first": "first", "named": "file"}
    (images / "new.jpg").write_bytes(image_file(shade=180))
    run(item_set, write(images, LINE | {"key": "new", "images": ["dark.jpg", "grey.jpg", "new.jpg"]}))

    assert sources()["new"] == "first"


def test_vectors_that_come_with_the_file_are_the_only_ones_that_are_looked_at(item_set, images):
    run(item_set, write(images, LINES[0]))
    vectors_of(item_set)
    (images / "vectors.jsonl").write_text('{"image": "dark.jpg", "vector": [1, 0]}\n')
    line = LINES[0] | {"key": "later"}
    job = run(item_set, write(images, line), embeddings=images / "vectors.jsonl")

    assert sources()["later"] == "first"
    assert "2 of 3 images have no embedding" in told(job)[0][1]


def test_chosen_again_the_most_central_image_comes_first_and_the_others_keep_their_order(item_set, images):
    run(item_set, write(images, *LINES))
    vectors_of(item_set)
    chosen = again(item_set)

    assert (chosen.changed, chosen.same, chosen.named, chosen.lacking) == (1, 0, 1, 0)
    assert sources() == {"first": "embeddings", "named": "file"}
    ordered = [sha_of(images / name) for name in ("grey.jpg", "dark.jpg", "light.jpg")]
    assert shas(item_set.items.get(key="first")) == ordered
    assert list(item_set.items.get(key="first").images.values_list("position", flat=True)) == [0, 1, 2]
    chosen = again(item_set, is_named_too=True)
    assert (chosen.changed, chosen.same, chosen.named) == (1, 1, 0)
    assert shas(item_set.items.get(key="named"))[0] == ordered[0]


def test_items_whose_images_lack_vectors_stay_as_they_are(item_set, images):
    run(item_set, write(images, LINES[0]))
    before = shas(item_set.items.get())
    chosen = again(item_set)

    assert (chosen.changed, chosen.lacking) == (0, 1)
    assert (shas(item_set.items.get()), sources()) == (before, {"first": "first"})


def test_once_a_season_has_begun_nothing_is_chosen_again(item_set, images):
    run(item_set, write(images, LINES[0]))
    vectors_of(item_set)
    make_season(project=item_set.project, item_set=item_set, starts_at=NOW)
    with pytest.raises(ItemSetClosedError):
        again(item_set)

    assert sources()["first"] == "first"


def test_only_where_there_are_vectors_does_an_import_look_for_those_of_each_line(item_set, images):
    def looks(prefix):
        lines = [LINES[0] | {"key": f"{prefix}{number}"} for number in range(3)]
        asked = queries_of(lambda: run(item_set, write(images, *lines)))
        return sum("images_image" in query and "sha256" in query for query in asked)

    looks("new")
    before = looks("without")
    vectors_of(item_set)
    assert looks("with") == before + 3


def test_the_command_says_what_it_chose(item_set, images):
    run(item_set, write(images, *LINES))
    given = ["--project", item_set.project.slug, "--set", item_set.name]
    with pytest.raises(CommandError, match="There are no vectors for the collection"):
        call_command("choose_representatives", *given)
    with pytest.raises(CommandError, match="no complete image embedding set 7"):
        call_command("choose_representatives", *given, "--embeddings", "7")
    with pytest.raises(CommandError, match="has no item set"):
        call_command("choose_representatives", "--project", "whales", "--set", "x")
    made = vectors_of(item_set)
    assert output_of("choose_representatives", *given, "--embeddings", made.pk).startswith(
        "1 items have a different first image, 0 the same, and 1 the one named in"
    )
    make_season(project=item_set.project, item_set=item_set, starts_at=NOW)
    with pytest.raises(CommandError, match="season has started"):
        call_command("choose_representatives", *given)
