"""Open embedding sets: what lies nearest, what stands for several, and files where storage has none of this machine."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from django.core.files.storage import default_storage

from crosslens_metrics.named_vectors import most_central
from research.inference.models import EmbeddingSet
from research.inference.selectors import embeddings
from research.inference.selectors.embeddings import (
    CollectionEmbeddings,
    EmbeddingsUnavailableError,
    nearest,
    newest_covering,
    open_set,
    representative,
    whole_sets,
)
from tests.factories import make_captioner, make_collection, make_language
from tests.inference import embedded
from tests.inference.embedded import images_of, make_encoder, make_set, painted_collection
from tests.memory import peak_of


def made_up(count: int, dimensions: int, dtype: str = "float32", seed: int = 1) -> CollectionEmbeddings:
    rng = np.random.default_rng(seed)
    ids = np.sort(rng.choice(10 * count, size=count, replace=False)).astype(np.int64)
    return CollectionEmbeddings(ids, rng.normal(size=(count, dimensions)).astype(dtype))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("block", [7, 1 << 22])
def test_the_nearest_are_those_with_the_greatest_cosines_however_many_are_looked_at_at_once(monkeypatch, dtype, block):
    monkeypatch.setattr(embeddings, "BLOCK_NUMBERS", block)
    stored = made_up(300, 5, dtype)
    image = int(stored.ids[123])

    near = nearest(stored, image, count=9)

    rows = stored.vectors.astype(np.float64)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = unit @ unit[123]
    cosines[123] = -2
    expected = np.argsort(-cosines)[:9]
    assert [one.image for one in near] == stored.ids[expected].tolist()
    assert [one.similarity for one in near] == pytest.approx(cosines[expected].tolist(), abs=1e-5)


@pytest.mark.parametrize("block", [2, 6, 1 << 22])
def test_of_equally_near_images_the_first_keys_come_in_order(monkeypatch, block):
    monkeypatch.setattr(embeddings, "BLOCK_NUMBERS", block)
    stored = CollectionEmbeddings(np.arange(1, 9), np.array([[1, 1]] + [[1, 0]] * 7, dtype=np.float32))

    assert [one.image for one in nearest(stored, 1, count=3)] == [2, 3, 4]


def test_a_vector_of_zeros_is_near_to_nothing():
    embeddings = CollectionEmbeddings(np.array([1, 2, 3]), np.array([[0, 0], [1, 0], [1, 1]], dtype=np.float32))

    assert nearest(embeddings, 1) == []
    assert [one.image for one in nearest(embeddings, 2)] == [3]


def test_an_image_without_a_vector_has_no_neighbours_to_ask_for():
    with pytest.raises(KeyError):
        nearest(made_up(10, 3), 10**9)


@pytest.mark.long(reason="it looks through 64,000 vectors")
def test_the_memory_for_neighbours_does_not_grow_with_the_vectors(monkeypatch):
    monkeypatch.setattr(embeddings, "BLOCK_NUMBERS", 1 << 14)

    def peak(count: int) -> int:
        embeddings = made_up(count, 16)
        return peak_of(lambda: nearest(embeddings, int(embeddings.ids[0])))[1]

    assert peak(64_000) < 1.5 * peak(4_000)


def test_the_representative_has_the_least_mean_cosine_distance_to_the_others():
    # By hand: the mean distances are (1 + 0.4) / 2 = 0.7, (1 + 0.2) / 2 = 0.6 and (0.4 + 0.2) / 2 = 0.3.
    vectors = np.array([[1, 0], [0, 2], [0.6, 0.8], [9, -9]], dtype=np.float32)
    embeddings = CollectionEmbeddings(np.array([10, 20, 30, 40]), vectors)

    assert representative(embeddings, [10, 20, 30]) == 2
    assert representative(embeddings, [30, 10, 20]) == 0
    assert representative(embeddings, [20]) == 0
    assert most_central(vectors[:3]) == 2


def test_places_are_minus_one_where_there_is_no_vector():
    embeddings = CollectionEmbeddings(np.array([2, 5]), np.ones((2, 1), dtype=np.float32))

    assert embeddings.places([5, 1, 9, 2]).tolist() == [1, -1, -1, 0]
    assert CollectionEmbeddings(np.empty(0, dtype=np.int64), np.empty((0, 1))).places([1]).tolist() == [-1]


@pytest.fixture
def colours(monkeypatch, media):
    embedded.offer(monkeypatch)


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.django_db
@pytest.mark.usefixtures("colours")
def test_the_newest_set_that_covers_the_images_is_taken():
    encoder, other = make_encoder(), make_encoder("Other")
    small, large = painted_collection(2), painted_collection(4)
    for image in images_of(small):
        large.entries.create(image=image, key=image.sha256, position=100 + image.pk)
    of_large, of_small = make_set(encoder, large), make_set(encoder, small)
    wanted = [image.pk for image in images_of(small)]

    assert newest_covering(wanted, whole_sets(encoder=encoder))[0] == of_small
    assert newest_covering([image.pk for image in images_of(large)], whole_sets(encoder=encoder))[0] == of_large
    assert newest_covering([*wanted, 10**9], whole_sets(encoder=encoder)) is None
    assert newest_covering(wanted, whole_sets(encoder=other)) is None
    assert list(whole_sets(collections=[large])) == [of_large]


@pytest.mark.django_db
@pytest.mark.usefixtures("colours")
def test_sets_of_captions_are_not_taken_for_sets_of_images():
    encoder, collection = make_encoder(), make_collection(2)
    model = make_captioner(collection, language="de")
    of_captions = make_set(encoder, collection, captions_of=model, language=make_language("de"))

    assert not whole_sets().exists()
    assert whole_sets(captions_of=model, language="de").get() == of_captions


@pytest.mark.django_db
@pytest.mark.usefixtures("colours")
def test_files_that_are_gone_or_of_other_vectors_are_told():
    made, other = (make_set(make_encoder(str(count)), painted_collection(count)) for count in (2, 3))
    embeddings._open.clear()
    EmbeddingSet.objects.filter(pk=other.pk).update(file=made.file)
    other.refresh_from_db()
    with pytest.raises(EmbeddingsUnavailableError, match="do not hold the vectors"):
        open_set(other)
    default_storage.delete(made.file)
    with pytest.raises(EmbeddingsUnavailableError, match="cannot be read"):
        open_set(made)


@pytest.fixture
def object_storage(settings, tmp_path):
    """Storage like S3's: it has no paths, and replaces what is there."""
    settings.VAR = tmp_path / "var"
    settings.STORAGES = settings.STORAGES | {
        "default": {"BACKEND": "tests.inference.object_storage.ObjectStorage", "OPTIONS": {"location": tmp_path / "s3"}}
    }


@pytest.mark.django_db
def test_on_object_storage_vectors_are_made_and_copied_here_once(monkeypatch, object_storage):
    embedded.offer(monkeypatch)
    collection = painted_collection(20)
    made = make_set(make_encoder(), collection)
    embeddings._open.clear()
    opened = open_set(made)

    assert opened.rows([images_of(collection)[0].pk]).tolist() == [[255, 0, 0]]
    assert isinstance(opened.vectors, np.memmap)
    copies = sorted(path.name for path in embeddings.cache_folder().iterdir())
    assert copies == [f"{made.digest}-ids.npy", f"{made.digest}-vectors.npy"]
    default_storage.delete(made.file)
    embeddings._open.clear()
    assert open_set(made).rows([images_of(collection)[1].pk]).tolist() == [[0, 128, 0]]


def test_files_that_were_not_used_for_longest_go_when_there_are_too_many(settings, tmp_path, monkeypatch):
    settings.VAR = tmp_path
    monkeypatch.setattr(embeddings, "MAX_CACHED_BYTES", 250)
    moments = iter(range(1_000_000_000, 1_000_000_100))

    def use(name: str) -> None:
        path = embeddings.cached_file(name, fill)
        moment = next(moments) * 10**9
        os.utime(path, ns=(moment, moment))

    def fill(path: Path) -> None:
        path.write_bytes(bytes(100))

    for name in ("one", "two", "one", "three"):
        use(name)

    assert sorted(path.name for path in embeddings.cache_folder().iterdir()) == ["one", "three"]


def test_a_file_whose_making_failed_leaves_nothing_behind(settings, tmp_path):
    settings.VAR = tmp_path

    def fail(path):
        path.write_bytes(b"half")
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        embeddings.cached_file("name", fail)
    assert list(embeddings.cache_folder().iterdir()) == []
