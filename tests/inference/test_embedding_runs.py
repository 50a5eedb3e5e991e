"""Runs of encoders: every image's vector exactly once, whatever is killed, refused, too large or gone."""

from __future__ import annotations

import os
import signal
import time
from datetime import timedelta
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import connections

from core.jobs.models import JobState
from core.jobs.services.leases import LEASE
from research.inference.backends.captioners import OutOfMemoryError
from research.inference.backends.encoders import EncoderSettingsError
from research.inference.models import Chunk, EmbeddingSet, Encoder, RunFailure, RunState, WeightPrecision
from research.inference.selectors.embeddings import EmbeddingsUnavailableError, open_set
from research.inference.services import embedding, encoders, executor, runs
from research.inference.services.crash_blame import CRASH_LIMIT
from research.inference.services.embedding import ImageEmbeddingJob
from research.inference.services.steering import WorkRefusedError
from tests.factories import NOW, make_captioner, make_collection, make_language, make_user
from tests.inference import embedded
from tests.inference.embedded import (
    COLOURS,
    MeanColours,
    begin,
    images_of,
    make_encoder,
    make_set,
    paint,
    painted_collection,
    work,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media", "colours")]


@pytest.fixture
def colours(monkeypatch):
    embedded.offer(monkeypatch)


def counts(run):
    return run.state, run.total, run.done, run.failed, run.already


@pytest.mark.long(reason="at least three others run each of its lines")
def test_all_images_are_put_into_one_file_in_the_order_of_their_keys():
    collection = painted_collection(20)
    made = make_set(make_encoder(), collection)

    embeddings = open_set(made)
    ids = sorted(image.pk for image in images_of(collection))
    of_first = {image.pk: COLOURS[place % len(COLOURS)] for place, image in enumerate(images_of(collection))}
    assert embeddings.ids.tolist() == ids
    assert embeddings.vectors.dtype == np.float32
    assert embeddings.vectors[ids.index(images_of(collection)[0].pk)].tolist() == [255, 0, 0]
    rows = zip(ids, embeddings.vectors, strict=True)
    assert {of_first[pk] for pk, row in rows if row.tolist() == [0, 0, 255]} == {"blue"}
    assert (made.rows, made.dimensions, len(made.digest)) == (20, 3, 64)
    assert counts(made.run) == (RunState.DONE, 20, 20, 0, 0)
    assert default_storage.listdir(f"embeddings/{made.pk}")[1] == []


def test_the_encoder_is_known_once_it_was_loaded():
    encoder = make_encoder()
    make_set(encoder, painted_collection(2))

    encoder.refresh_from_db()
    assert (encoder.signature, encoder.space, encoder.dimensions) == ("mean-colours-1", "mean-colours-1", 3)


def test_an_encoder_whose_files_were_changed_is_refused_and_the_run_says_so():
    encoder = make_encoder(signature="mean-colours-0", space="mean-colours-0", dimensions=3)
    run = begin(encoder, painted_collection(2))
    work(run)

    assert run.state == RunState.FAILED
    assert "have changed since its vectors were made" in run.error


def test_an_unreadable_image_fails_alone_and_is_left_out():
    collection = painted_collection(3)
    broken, *others = images_of(collection)
    default_storage.delete(broken.original)
    made = make_set(make_encoder(), collection)

    assert counts(made.run) == (RunState.DONE, 3, 2, 1, 0)
    assert RunFailure.objects.get(run=made.run).image == broken
    assert open_set(made).ids.tolist() == sorted(image.pk for image in others)


def test_what_failed_is_tried_again_and_joins_the_others():
    collection = painted_collection(12)
    broken = images_of(collection)[5]
    default_storage.delete(broken.original)
    made = make_set(make_encoder(), collection)
    before = made.file, made.digest

    paint(broken, "red")
    runs.retry(run=made.run, now=NOW)
    made = work(made.run, later=timedelta(hours=1))

    assert counts(made.run) == (RunState.DONE, 12, 12, 0, 0)
    assert len(open_set(made).ids) == made.rows == 12
    assert open_set(made).rows([broken.pk]).tolist() == [[255, 0, 0]]
    assert (made.file, made.digest) != before
    assert not default_storage.exists(before[0])


def test_when_no_image_can_be_read_the_run_says_that_there_are_no_vectors():
    run = begin(make_encoder(), make_collection(2))
    made = work(run)

    assert (run.state, run.failed) == (RunState.FAILED, 2)
    assert run.error == "No vector could be computed for any of the images."
    with pytest.raises(EmbeddingsUnavailableError, match="still being computed"):
        open_set(made)


def test_captions_of_a_model_are_put_into_vectors_and_images_without_one_fail_alone():
    collection = make_collection(3)
    model = make_captioner(collection, text="rrr", language="de")
    without = images_of(collection)[1]
    model.captions.filter(image=without).delete()
    made = make_set(make_encoder(), collection, captions_of=model, language=make_language("de"))

    embeddings = open_set(made)
    assert without.pk not in embeddings.ids
    assert embeddings.vectors[0].argmax() == 0
    assert model.name in RunFailure.objects.get(run=made.run).reason
    assert "rrr" not in " ".join(made.run.events.values_list("message", flat=True))


def test_a_number_too_large_for_16_bits_fails_its_image_and_says_what_to_do(monkeypatch):
    def too_large(encoder, prepared):
        rows = np.stack(prepared)
        rows[rows[:, 2] == 255] = 1e6
        return rows

    monkeypatch.setattr(MeanColours, "features_of", too_large)
    collection = painted_collection(3)
    made = make_set(make_encoder(), collection, precision=WeightPrecision.FLOAT16)

    assert open_set(made).vectors.dtype == np.float16
    assert counts(made.run) == (RunState.DONE, 3, 2, 1, 0)
    assert "with 32" in RunFailure.objects.get(run=made.run).reason


def test_what_is_no_number_fails_its_image(monkeypatch):
    monkeypatch.setattr(MeanColours, "prepare", lambda encoder, image: np.full(3, np.nan, dtype=np.float32))
    made = work(begin(make_encoder(), painted_collection(1)))

    assert "not a number" in RunFailure.objects.get(run=made.run).reason


def test_batches_are_halved_where_memory_runs_out(monkeypatch):
    sizes = []

    def narrow(encoder, prepared):
        sizes.append(len(prepared))
        if len(prepared) > 2:
            raise OutOfMemoryError
        return np.stack(prepared)

    monkeypatch.setattr(MeanColours, "features_of", narrow)
    made = make_set(make_encoder(), painted_collection(8))

    assert made.rows == 8
    assert max(sizes) == 4
    assert made.run.batch_size == 2


def test_vectors_that_a_killed_worker_wrote_but_never_counted_are_written_over():
    collection = painted_collection(6)
    run = begin(make_encoder(), collection)
    chunk = Chunk.objects.get(run=run)
    wrong = np.full((2, 3), 7, dtype=np.float32)
    # As if it had been killed between the file and the end of its transaction.
    embedding.put_part(chunk, run.embeddings, [image.pk for image in images_of(collection)[:2]], wrong)
    Chunk.objects.filter(pk=chunk.pk).update(vectors=0)
    made = work(run)

    assert counts(run) == (RunState.DONE, 6, 6, 0, 0)
    assert not (open_set(made).vectors == 7).any()


def test_putting_together_again_changes_nothing():
    made = make_set(make_encoder(), painted_collection(6))
    before = made.file, made.digest, default_storage.open(made.file).read()
    embedding.put_together(made)

    assert (made.file, made.digest, default_storage.open(made.file).read()) == before


def test_vectors_that_are_gone_from_storage_fail_the_run_with_a_sentence(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(embedding, "put_together", embedding.drop_parts)
        made = work(begin(make_encoder(), painted_collection(2)))
    with pytest.raises(EncoderSettingsError, match="missing from storage"):
        embedding.put_together(made)


def test_a_worker_that_finds_the_parts_dropped_takes_what_another_put_together():
    made = make_set(make_encoder(), painted_collection(6))
    stale = type(made).objects.get(pk=made.pk)
    stale.file = ""
    embedding.put_together(stale)

    assert stale.file == made.file


def test_an_encoder_that_makes_no_vectors_of_these_is_refused_at_the_start():
    texts = Encoder.objects.create(is_shared=True, name="Sentences", backend="sentences")
    with pytest.raises(WorkRefusedError, match="cannot compute vectors of these"):
        begin(texts, painted_collection(1))


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"name": "  ", "backend": "mean-colours"}, "a name"),
        ({"name": "Taken", "backend": "mean-colours"}, "already"),
        ({"name": "New", "backend": "nothing"}, "There is no encoder 'nothing'"),
        ({"name": "New", "backend": "mean-colours", "source": "refused"}, "no such source"),
        ({"name": "New", "backend": "mobilenet", "source": "folder"}, "Leave the source empty"),
        ({"name": "New", "backend": "mobilenet", "options": {"pool": "mean"}}, "no option 'pool'"),
        ({"name": "New", "backend": "vision", "source": "../secret"}, "neither a folder"),
        ({"name": "New", "backend": "vision", "source": "owner/name"}, "commit"),
        (
            {"name": "New", "backend": "vision", "source": f"o/n@{'0' * 40}", "options": {"pool": "x"}},
            "It must be one of",
        ),
        ({"name": "New", "backend": "projection", "source": f"o/n@{'0' * 40}"}, "train_projection"),
        ({"name": "New", "backend": "sentences", "source": "folder"}, "Leave the source empty"),
    ],
)
def test_an_encoder_that_cannot_be_is_not_registered(about, said):
    make_encoder("Taken")
    with pytest.raises(EncoderSettingsError, match=said):
        encoders.register(**about, by=make_user())
    assert Encoder.objects.count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_after_a_worker_was_killed_another_makes_each_vector_exactly_once(monkeypatch, tmp_path):
    collection = painted_collection(24)
    run = begin(make_encoder(), collection)
    batches, mark = [], tmp_path / "in-the-middle"
    features_of = MeanColours.features_of

    def linger(encoder, prepared):
        batches.append(len(prepared))
        if len(batches) == 4:
            mark.touch()
            time.sleep(60)
        return features_of(encoder, prepared)

    connections.close_all()
    worker = os.fork()
    if not worker:
        # The first chunk of 8 images is done in two batches, of the second one half is.
        monkeypatch.setattr(MeanColours, "features_of", linger)
        try:
            work(run)
        finally:
            os._exit(1)
    try:
        wait_for(mark)
        time.sleep(2 * executor.STORE_EVERY_S)
    finally:
        os.kill(worker, signal.SIGKILL)
        os.waitpid(worker, 0)
    assert Chunk.objects.filter(run=run, state=JobState.DONE).count() == 1

    made = work(run, later=timedelta(days=1) + LEASE)

    assert counts(run) == (RunState.DONE, 24, 24, 0, 0)
    assert open_set(made).ids.tolist() == sorted(image.pk for image in images_of(collection))
    assert open_set(made).rows([images_of(collection)[0].pk]).tolist() == [[255, 0, 0]]


def wait_for(path: Path) -> None:
    end = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_command_registers_its_encoder_and_makes_the_vectors_here_and_now():
    collection = painted_collection(3)
    default_storage.delete(images_of(collection)[2].original)
    said = StringIO()
    given = [collection.slug, "--encoder", "colours", "--backend", "mean-colours", "--precision", "float32"]
    call_command("embed", *given, stdout=said)

    made = EmbeddingSet.objects.get()
    assert open_set(made).vectors.shape == (2, 3)
    assert "3 of 3" in said.getvalue()
    assert f"Embedding set {made.pk}: 2 × 3, float32; 1 failed." in said.getvalue()
    call_command("embed", *given[:3], stdout=said)
    assert Encoder.objects.get().sets.count() == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["nothing"], "There is no collection nothing"),
        (["SLUG", "--encoder", "eyes"], "There is no encoder eyes"),
        (["SLUG", "--encoder", "eyes", "--backend", "mean-colours", "--source", "refused"], "no such source"),
        (["SLUG", "--encoder", "words", "--backend", "sentences"], "cannot compute vectors of these"),
        (["SLUG", "--captions-of", "nobody", "--language", "de"], "nobody"),
    ],
)
def test_the_command_says_what_is_wrong(given, said):
    collection = painted_collection(1)
    with pytest.raises(CommandError, match=said):
        call_command("embed", *[collection.slug if word == "SLUG" else word for word in given])


def test_a_retry_of_nothing_but_images_that_the_encoder_cannot_take_asks_for_one_that_it_took(monkeypatch):
    collection = painted_collection(32)
    culprits = {image.pk for image in images_of(collection)[-2 * CRASH_LIMIT :]}
    compute = ImageEmbeddingJob.compute

    def fail(self, images, prepared, part):
        if culprits & {image.image_id for image in images}:
            raise ValueError
        return compute(self, images, prepared, part)

    monkeypatch.setattr(ImageEmbeddingJob, "compute", fail)
    made = make_set(make_encoder(), collection)
    assert counts(made.run) == (RunState.DONE, 32, 16, 16, 0)

    runs.retry(run=made.run, now=NOW)
    made = work(made.run, later=timedelta(hours=1))

    assert counts(made.run) == (RunState.DONE, 32, 16, 16, 0)
