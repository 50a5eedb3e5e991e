"""Pages of vectors: what there is, what lies near what, and nothing of the images that the viewer has in hand."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pytest
from django.core.files.storage import default_storage
from django.urls import reverse

from core.images.models import CollectionImage
from research.inference.models import EmbeddingSet, Encoder, Run, RunState, WeightPrecision
from research.inference.selectors.embedding_sets import most_central_of_all
from research.inference.selectors.embeddings import CollectionEmbeddings, representative
from tests.annotation.submitting import take
from tests.factories import (
    make_captioner,
    make_collection,
    make_language,
)
from tests.inference.embedded import put_set
from tests.inference.watched import make_busy_researcher

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media", "researcher")]

# Of five images: the third lies nearest to the first, the second between the two and the others, the fifth far away.
VECTORS = [[1.0, 0.0], [0.6, 0.8], [0.8, 0.6], [0.0, 1.0], [-1.0, 0.0]]


@pytest.fixture
def collection():
    return make_collection(images=5)


@pytest.fixture
def encoder():
    return Encoder.objects.create(is_shared=True, name="Eyes", backend="mobilenet", signature="eyes-1", dimensions=2)


def make_set(encoder, collection, *, vectors=VECTORS, **about):
    return put_set(encoder, collection, vectors, **about)


def look(client, name, *arguments, **asked):
    response = client.get(reverse(f"inference:{name}", args=arguments), asked)
    assert response.status_code == 200
    return unescape(response.content.decode())


def near(page):
    return re.findall(r'near__similarity"><bdi>([^<]+)</bdi></strong> <bdi>[^<]*?(\d)</bdi>', page)


def public_id(collection, position):
    return collection.entries.select_related("image").get(position=position).image.public_id


def test_sets_are_listed_with_what_they_are_of_and_how_large(client, collection, encoder):
    german, model = make_language("de"), make_captioner(collection, "Alpha")
    make_set(encoder, collection, precision=WeightPrecision.FLOAT32)
    make_set(encoder, collection, state=RunState.RUNNING, captions_of=model, language=german)
    page = look(client, "embedding-list")
    assert "40\xa0bytes" in page
    assert "Captions of “Alpha”, German" in page
    assert re.search(r"tag--accent.>Running", page)
    assert "eyes-1" in page


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_nearest_come_first_with_their_similarity_and_lead_on(client, collection, encoder):
    made = make_set(encoder, collection)
    page = look(client, "embedding-neighbours", made.pk, public_id(collection, 1))
    assert near(page) == [("0.800", "3"), ("0.600", "2"), ("0.000", "4"), ("−1.000", "5")]
    assert reverse("inference:embedding-neighbours", args=[made.pk, public_id(collection, 3)]) in page


def test_an_image_is_chosen_by_its_key_or_by_a_file_name_that_one_alone_has(client, collection, encoder):
    made = make_set(encoder, collection)
    one, two, three, *_rest = collection.entries.order_by("position")
    CollectionImage.objects.filter(pk=one.pk).update(file_name="a.jpg")
    CollectionImage.objects.filter(pk__in=[two.pk, three.pk]).update(file_name="b.jpg")
    where = reverse("inference:embedding-show", args=[made.pk])
    for key in (one.key, "a.jpg"):
        response = client.get(where, {"key": key})
        assert response["Location"].endswith(f"/neighbours/{one.image.public_id}/")
    for key in ("b.jpg", "gone", "\0"):
        assert "No image in the collection has this key" in look(client, "embedding-show", made.pk, key=key)


def test_the_image_that_stands_for_all_is_the_one_nearest_to_the_others(client, collection, encoder):
    made = make_set(encoder, collection)
    page = look(client, "embedding-show", made.pk)
    assert re.findall(r"<figcaption>\s*<bdi>[^<]*?(\d)</bdi>", page) == ["2"]
    rows = np.array([[0.0, 0.0], [1.0, 0.0]])
    nothing = make_set(encoder, collection, vectors=rows.tolist())
    assert "a vector of the set is zero" in look(client, "embedding-show", nothing.pk)


@pytest.mark.parametrize("count", [1, 2, 3000])
def test_the_one_for_all_is_found_in_parts_as_it_is_at_once(monkeypatch, count):
    monkeypatch.setattr("research.inference.selectors.embedding_sets.BLOCK_NUMBERS", 1000)
    rows = np.random.default_rng(count).normal(size=(count, 16)).astype(np.float16)
    rows[1:2] = rows[0]
    embeddings = CollectionEmbeddings(ids=np.arange(7, 7 + count), vectors=rows)
    assert most_central_of_all(embeddings) == 7 + representative(embeddings, list(range(7, 7 + count)))


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (RunState.QUEUED, "still being computed"),
        (RunState.RUNNING, "still being computed"),
        (RunState.PAUSED, "is paused"),
        (RunState.CANCELLED, "was cancelled"),
        (RunState.FAILED, "failed. Its page says why"),
    ],
)
def test_a_set_that_is_not_whole_says_so(client, collection, encoder, state, says):
    made = make_set(encoder, collection, state=state)
    assert says in look(client, "embedding-show", made.pk)
    assert says in look(client, "embedding-neighbours", made.pk, public_id(collection, 1))


def test_vectors_whose_file_is_gone_and_images_without_one_say_so(client, collection, encoder):
    made = make_set(encoder, collection, vectors=VECTORS[:4])
    assert "no vector" in look(client, "embedding-neighbours", made.pk, public_id(collection, 5))
    gone = make_set(encoder, collection, vectors=[[0.5, 0.5]] * 3)
    default_storage.delete(gone.file)
    assert "cannot be read" in look(client, "embedding-show", gone.pk)
    assert "cannot be read" in look(client, "embedding-neighbours", gone.pk, public_id(collection, 1))


def test_of_an_image_assigned_nothing_is_sent_and_nothing_that_lies_near_it(client, collection, encoder):
    model = make_captioner(collection, "Alpha", text="Alpha says", language="en")
    made = make_set(encoder, collection, captions_of=model, language=make_language("en"))
    person, round = make_busy_researcher(collection, captioners=[model])
    (item,) = take(round, person).items.all()
    mine = collection.entries.get(image=item.image_id)
    other = collection.entries.exclude(pk=mine.pk).order_by("position").first()

    def told():
        pages = look(client, "embedding-neighbours", made.pk, other.image.public_id)
        pages += look(client, "embedding-show", made.pk)
        return item.image.public_id.hex in pages.replace("-", ""), f"Alpha says of {mine.key}" in pages

    assert told() == (True, True)
    assert len(near(look(client, "embedding-neighbours", made.pk, item.image.public_id))) == 4
    known = len(near(look(client, "embedding-neighbours", made.pk, other.image.public_id)))
    client.force_login(person)
    assert told() == (False, False)
    # Not even that some image in hand is as near as that: its caption could be guessed from those beside it.
    page = look(client, "embedding-neighbours", made.pk, other.image.public_id)
    assert len(near(page)) == page.count("near__similarity") == known - 1
    assert "in a batch assigned to you" not in page
    page = look(client, "embedding-neighbours", made.pk, item.image.public_id)
    assert "hidden from you" in page
    assert near(page) == []
    assert "Alpha says" not in page


def test_an_encoder_is_registered_and_what_it_does_not_take_is_told(client):
    where = reverse("inference:encoder-create")
    sent = {"name": "Sentences", "backend": "sentences", "source": "", "pool": "first", "description": ""}
    refused = client.post(where, sent | {"source": "folder"})
    assert refused.status_code == 422
    assert "Leave the source empty" in unescape(refused.content.decode())
    response = client.post(where, sent)
    made = Encoder.objects.get()
    assert (made.name, made.backend, made.options) == ("Sentences", "sentences", {})
    assert made.created_by.username == "res"
    assert response["Location"] == reverse("inference:embedding-create") + f"?encoder={made.pk}"
    again = client.post(where, sent)
    assert (again.status_code, Encoder.objects.count()) == (422, 1)


@pytest.fixture
def sent(collection):
    """The form that asks for vectors of captions by “Alpha” in German."""
    encoder = Encoder.objects.create(is_shared=True, name="Sentences", backend="sentences")
    model = make_captioner(collection, "Alpha", language="de")
    chosen = {"encoder": encoder.pk, "collection": collection.slug, "captions_of": model.pk, "language": "de"}
    return chosen | {"precision": "float32"}


def test_vectors_are_asked_for_and_the_run_is_shown(client, collection, sent):
    response = client.post(reverse("inference:embedding-create"), sent)
    run = Run.objects.get()
    assert response["Location"] == reverse("inference:run-show", args=[run.pk])
    about = EmbeddingSet.objects.get(run=run)
    assert (about.captions_of_id, about.language_id, about.precision) == (sent["captions_of"], "de", "float32")
    assert (run.collection, run.created_by.username) == (collection, "res")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"captions_of": "", "language": ""}, "takes captions only"),
        ({"language": ""}, "choose both"),
        ({"captions_of": ""}, "choose both"),
        ({"collection": "gone"}, "Select a valid choice"),
        ({"precision": "int8"}, "not one of the available choices"),
    ],
)
def test_vectors_that_cannot_be_made_are_refused_with_the_reason(client, sent, change, says):
    response = client.post(reverse("inference:embedding-create"), sent | change)
    assert response.status_code == 422
    assert says in unescape(response.text)
    assert not Run.objects.exists()
