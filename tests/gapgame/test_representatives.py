"""The image of the first hint by vectors that the platform computed: on import, and chosen again afterwards."""

from __future__ import annotations

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from gapgame.models import GapItem
from gapgame.services.representatives import ItemSetClosedError, choose_again
from research.inference.models import EmbeddingSet
from research.inference.selectors.embeddings import whole_sets
from tests.commands import output_of
from tests.factories import NOW, make_season
from tests.gapgame.item_files import LINE, run, sha_of, shas, told, write
from tests.images.image_files import image_file
from tests.inference import embedded
from tests.inference.embedded import make_encoder, make_set
from tests.queries import queries_of

pytestmark = pytest.mark.django_db

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
