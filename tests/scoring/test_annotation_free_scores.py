"""CLinRel, CMedRel and WCC of a project: by which encoders and vectors, and what is said where something is missing."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from datetime import timedelta

import numpy as np
import pytest

from crosslens_metrics.annotation_free import VectorProjections
from crosslens_metrics.scoring import score
from crosslens_metrics.signatures import sample_digest
from research.inference.backends.encoders import ExtraMissingError
from research.inference.models import WeightPrecision
from research.inference.projections.folder import ProjectionManifest
from research.inference.rules.capacity import WorkerCapacity
from research.inference.services import embedding as services
from research.inference.services import worker_status
from research.scoring import tasks
from research.scoring.models import Pass, Reference, ReferenceKind
from research.scoring.rules.metrics import MetricChoiceError
from research.scoring.rules.packing import unpack_floats, unpack_integers
from research.scoring.services.references import put_references
from research.scoring.services.scorings import ask_again
from tests.factories import NOW, make_captioner, make_vectors
from tests.inference import embedded
from tests.inference.embedded import MeanColours, images_of, make_encoder, make_set, painted_collection
from tests.inference.projecting import tiny_task, trained
from tests.inference.tiny_families import save_clip
from tests.inference.watched import make_worker
from tests.scoring.scored import make_references, make_scoring, run
from tests.torch_extra import needs_torch

pytestmark = pytest.mark.django_db

VISUAL = ["clinrel", "cmedrel"]


@pytest.fixture(autouse=True)
def storage(media, settings, tmp_path, monkeypatch):
    settings.VAR = tmp_path
    embedded.offer(monkeypatch)


@pytest.fixture
def collection():
    return painted_collection(3)


@pytest.fixture
def references(project, collection):
    return make_references(project=project, collection=collection, kind=ReferenceKind.TRANSLATED)


@pytest.fixture
def english(project, collection):
    return make_references(project=project, collection=collection, language="en", name="English")


@pytest.fixture
def encoder():
    return make_encoder()


@pytest.fixture
def features(encoder, collection):
    return make_set(encoder, collection)


@pytest.fixture
def model(collection):
    """Says r of the first image, g of the second, b of the third, which are red, green and blue."""
    made = make_captioner(collection, text="", language="de")
    for image, text in zip(images_of(collection), ("rrr", "ggg", "rrr b"), strict=True):
        made.captions.filter(image=image).update(text=text)
    return made


def vector(text):
    return np.array([1.0 + text.count(letter) for letter in "rgb"])


def cosine(one, other):
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def per_image(scoring_pass, metric):
    kept = scoring_pass.scores.get(metric=metric)
    return dict(zip(unpack_integers(scoring_pass.image_ids).tolist(), unpack_floats(kept.values).tolist(), strict=True))


def why(scoring_pass, metric):
    return scoring_pass.scores.get(metric=metric, value=None).why_undefined


@pytest.mark.long(reason="at least three others run each of its lines")
def test_captions_are_held_against_their_image_and_the_english_references(
    references, english, encoder, features, model, collection
):
    scoring = make_scoring(references, model=model, metrics=VISUAL, encoder=encoder, english=english, features=features)
    scored = run(scoring)

    texts = ("rrr", "ggg", "rrr b")
    pixels = np.array([[255, 0, 0], [0, 128, 0], [0, 0, 255]])
    for image, text, colours in zip(images_of(collection), texts, pixels, strict=True):
        said = Reference.objects.filter(reference_set=english, image=image).values_list("text", flat=True)
        directions = [vector(one) / np.linalg.norm(vector(one)) for one in said]
        expected = cosine(vector(text), np.mean(directions, axis=0))
        assert per_image(scored, "clinrel")[image.pk] == pytest.approx(expected, abs=1e-6)
        assert per_image(scored, "cmedrel")[image.pk] == pytest.approx(cosine(vector(text), colours), abs=1e-6)
    assert "|encoder:mean-colours-1|english:" in scored.scores.get(metric="clinrel").signature
    assert scored.scores.get(metric="cmedrel").signature.startswith("cmedrel|v:1|encoder:mean-colours-1|sample:")


def test_wcc_sums_up_the_three(references, english, encoder, features, model):
    words = make_vectors("de", {"rrr": (1.0, 0.0), "ggg": (0.0, 1.0), "caption": (0.6, 0.8), "test": (0.8, 0.6)})
    parts = ["wmdrel", *VISUAL]
    given = {"vectors": words, "encoder": encoder, "english": english, "features": features}
    scoring = make_scoring(references, model=model, metrics=["wcc", *parts], **given)
    scored = run(scoring)

    values = dict(scored.scores.values_list("metric", "value"))
    assert values["wcc"] == pytest.approx(100 * sum(values[part] for part in parts))
    assert "|z:2|vectors:" in scored.scores.get(metric="wcc").signature


@pytest.mark.long(reason="at least three others run each of its lines")
def test_on_the_platform_it_is_what_the_metrics_give_for_the_same_vectors(references, encoder, features, model):
    scored = run(make_scoring(references, model=model, metrics=["cmedrel"], encoder=encoder, features=features))

    images = unpack_integers(scored.image_ids).tolist()
    texts = dict(model.captions.values_list("image_id", "text"))
    said = [
        list(Reference.objects.filter(reference_set=references, image=one).values_list("text", flat=True))
        for one in images
    ]
    of_collection = [one.pk for one in images_of(references.collection)]
    pixels = dict(zip(of_collection, np.diag([255.0, 128.0, 255.0]), strict=True))
    vectors = [vector(texts[one]) for one in images]
    sample = sample_digest([one.sha256 for one in images_of(references.collection)])
    given = VectorProjections("mean-colours-1", vectors, images=[pixels[one] for one in images], sample=sample)
    (expected,) = score([texts[one] for one in images], said, metrics=["cmedrel"], normalise=True, projections=given)
    kept = scored.scores.get()
    assert kept.value == pytest.approx(expected.scores.corpus, abs=1e-6)
    assert kept.signature == str(expected.signature)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_where_the_references_are_in_english_the_captions_are_held_against_them(project, collection, encoder):
    references = make_references(project=project, collection=collection, language="en")
    scored = run(make_scoring(references, metrics=["clinrel"], encoder=encoder))

    assert 0.9 < scored.scores.get().value <= 1


def test_a_metric_says_how_many_images_lack_features_and_the_other_is_computed(references, english, encoder, model):
    few = make_set(encoder, few_of(references.collection, 1))
    scored = run(make_scoring(references, model=model, metrics=VISUAL, encoder=encoder, english=english, features=few))

    assert why(scored, "cmedrel").startswith("2 images have no vector in the chosen features.")
    assert scored.scores.get(metric="clinrel").value is not None


def test_a_metric_says_how_many_images_lack_an_english_reference(references, english, encoder, features, model):
    image = images_of(references.collection)[0].pk
    Reference.objects.filter(reference_set=english, image=image).delete()
    scored = run(
        make_scoring(references, model=model, metrics=VISUAL, encoder=encoder, english=english, features=features)
    )

    assert why(scored, "clinrel") == "1 image has no English reference in the chosen set."
    assert scored.scores.get(metric="cmedrel").value is not None


def few_of(collection, count):
    other = painted_collection(0)
    for image in images_of(collection)[:count]:
        other.entries.create(image=image, key=image.sha256, position=1)
    return other


def test_features_of_more_images_take_the_place_of_those_before_and_others_are_refused(
    references, encoder, features, model
):
    about = {"model": model, "metrics": ["cmedrel"], "encoder": encoder}
    scoring = make_scoring(references, features=make_set(encoder, few_of(references.collection, 1)), **about)
    run(scoring)
    make_scoring(references, features=features, **about)
    scored = run(scoring)

    assert scored.scores.get().value is not None
    for other in (
        make_set(encoder, references.collection, precision=WeightPrecision.FLOAT16),
        make_set(make_encoder("Other"), references.collection),
    ):
        with pytest.raises(MetricChoiceError, match="already scored against these references with other features"):
            make_scoring(references, features=other, **about)


def test_vectors_of_different_spaces_are_not_compared(references, encoder, model, monkeypatch):
    monkeypatch.setattr(MeanColours, "space", "another-space")
    other = make_encoder("Other")
    features = make_set(other, references.collection)
    monkeypatch.setattr(MeanColours, "space", "mean-colours-1")
    scored = run(make_scoring(references, model=model, metrics=["cmedrel"], encoder=encoder, features=features))

    assert "different spaces" in why(scored, "cmedrel")


@pytest.mark.long(reason="at least three others run each of its lines")
def test_half_precision_stands_in_the_signature(references, encoder, model):
    half = make_set(encoder, references.collection, precision=WeightPrecision.FLOAT16)
    scored = run(make_scoring(references, model=model, metrics=["cmedrel"], encoder=encoder, features=half))

    assert "|encoder:mean-colours-1+mean-colours-1.float16|" in scored.scores.get().signature


@pytest.mark.long(reason="at least three others run each of its lines")
def test_without_the_extra_the_score_says_what_to_install(references, english, encoder, model, monkeypatch):
    def missing(encoder):
        raise ExtraMissingError("This needs PyTorch, which is not installed: pip install …")

    monkeypatch.setattr("research.scoring.services.visual.load", missing)
    scored = run(make_scoring(references, model=model, metrics=["clinrel", "bleu"], encoder=encoder, english=english))

    assert "pip install" in why(scored, "clinrel")
    assert scored.scores.get(metric="bleu-1").value is not None


def test_an_encoder_whose_files_changed_is_not_used(references, english, model):
    old = make_encoder("Old", signature="mean-colours-0", space="mean-colours-0", dimensions=3)
    scored = run(make_scoring(references, model=model, metrics=["clinrel"], encoder=old, english=english))

    assert "have changed since its vectors were made" in why(scored, "clinrel")


def test_what_is_known_of_an_encoder_once_it_was_loaded_is_written_down(references, english, encoder, model):
    run(make_scoring(references, model=model, metrics=["clinrel"], encoder=encoder, english=english))

    encoder.refresh_from_db()
    assert (encoder.signature, encoder.dimensions) == ("mean-colours-1", 3)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_texts_are_put_into_vectors_once(references, english, encoder, model, monkeypatch):
    encoded = []
    vectors = MeanColours.vectors

    def noting(encoder, texts):
        encoded.extend(texts)
        return vectors(encoder, texts)

    monkeypatch.setattr(MeanColours, "vectors", noting)
    scoring = make_scoring(references, model=model, metrics=["clinrel"], encoder=encoder, english=english)
    run(scoring)
    assert len(encoded) == len(set(encoded)) == 3 + 6

    ask_again(scoring=scoring, now=NOW)
    run(scoring, at=NOW + timedelta(hours=1))
    assert len(encoded) == 9


def test_a_set_of_the_captions_is_used_where_there_is_one(references, encoder, features, model, monkeypatch):
    make_set(encoder, references.collection, captions_of=model, language=references.language)
    monkeypatch.setattr(services, "_computed", lambda *_: pytest.fail("the vectors are there"))
    scored = run(make_scoring(references, model=model, metrics=["cmedrel"], encoder=encoder, features=features))

    assert scored.scores.get().value is not None


def test_a_worker_without_pytorch_hands_the_pass_to_those_that_have_it(references, english, model, monkeypatch):
    eyes = make_encoder("Eyes", backend="dual-encoder", source="clip")
    scoring = make_scoring(references, model=model, metrics=["clinrel"], encoder=eyes, english=english)
    pass_id = scoring.passes.get().pk
    sent = []
    monkeypatch.setattr(tasks.run_pass, "apply_async", lambda given, *, queue, **about: sent.append((given, queue)))
    monkeypatch.setattr(worker_status, "own_capacity", WorkerCapacity)

    make_worker("demo:1")
    able = make_worker("gpu:1", queues="gpu", software="PyTorch 2.13.0")
    tasks.run_pass(pass_id)
    assert sent == [((pass_id,), "gpu")]

    # Nobody but this worker takes from the queue, and it would get the message again and again.
    able.delete()
    monkeypatch.setitem(sys.modules, "torch", None)
    tasks.run_pass(pass_id)
    assert len(sent) == 1
    assert Pass.objects.get(pk=pass_id).scores.get().why_undefined


@needs_torch
@pytest.mark.long(reason="a model of another kind, which the tests of inference load, too")
def test_a_clip_like_model_scores_captions_in_any_language(references, english, model, settings, tmp_path):
    settings.MODELS_FOLDER = tmp_path / "models"
    save_clip(tmp_path / "models" / "clip")
    clip = make_encoder("CLIP", backend="dual-encoder", source="clip")
    features = make_set(clip, references.collection)
    scoring = make_scoring(references, model=model, metrics=VISUAL, encoder=clip, english=english, features=features)
    scored = run(scoring)

    clip.refresh_from_db()
    assert clip.signature.startswith("dual-encoder-clip-")
    assert f"|encoder:{clip.signature}|english:" in scored.scores.get(metric="clinrel").signature
    assert all(-1 <= kept.value <= 1 for kept in scored.scores.all())


@pytest.fixture
def projections(settings, tmp_path):
    """Encoders of German and of English captions, in one space."""
    settings.MODELS_FOLDER = tmp_path / "models"
    made = []
    for language in ("de", "en"):
        trained(settings.MODELS_FOLDER / language, tiny_task(language=language))
        made.append(make_encoder(f"W2VV++ {language}", backend="projection", source=language))
    return made


@needs_torch
def test_projections_of_two_languages_meet_in_one_space(references, english, model, projections):
    german, of_english = projections
    about = {"model": model, "metrics": ["clinrel"], "english": english}
    scored = run(make_scoring(references, encoder=german, english_encoder=of_english, **about))

    german.refresh_from_db()
    of_english.refresh_from_db()
    assert german.space == of_english.space == "made-up-1"
    assert f"|encoder:{german.signature}+{of_english.signature}|english:" in scored.scores.get().signature


@needs_torch
def test_a_projection_of_another_language_is_refused(references, english, model, projections):
    scored = run(make_scoring(references, model=model, metrics=["clinrel"], encoder=projections[0], english=english))

    assert why(scored, "clinrel") == "“W2VV++ de” encodes captions in de, but these are in en."


@needs_torch
def test_a_projection_whose_word_vectors_are_not_here_says_so(references, english, model, projections, settings):
    manifest = settings.MODELS_FOLDER / "de" / "manifest.json"
    said = json.loads(manifest.read_text())
    other = ProjectionManifest(
        **{name: value for name, value in said.items() if name != "signature"} | {"vectors": "f" * 64}
    )
    manifest.write_text(json.dumps(asdict(other) | {"signature": other.signature}))
    scored = run(make_scoring(references, model=model, metrics=["clinrel"], encoder=projections[0], english=english))

    assert "word vectors that are not here" in why(scored, "clinrel")


def test_an_encoder_that_needs_pytorch_says_so_in_the_score(references, english, model, monkeypatch):
    # As where it is not installed.
    monkeypatch.setitem(sys.modules, "torch", None)
    eyes = make_encoder("Eyes", backend="dual-encoder", source=f"owner/name@{'0' * 40}")
    scored = run(make_scoring(references, model=model, metrics=["clinrel", "bleu"], encoder=eyes, english=english))

    assert "requirements/gpu.txt" in why(scored, "clinrel")
    assert scored.scores.get(metric="bleu-1").value is not None


@pytest.mark.long(reason="at least three others run each of its lines")
def test_references_that_changed_stand_in_the_signature(references, english, encoder, model):
    scoring = make_scoring(references, model=model, metrics=["clinrel"], encoder=encoder, english=english)
    before = run(scoring).scores.get().signature
    image = images_of(references.collection)[0].pk
    put_references(reference_set=english, captions={image: ["something else"]}, now=NOW)
    ask_again(scoring=scoring, now=NOW)
    after = run(scoring, at=NOW + timedelta(hours=1)).scores.get().signature

    assert after != before
    assert after.partition("|english:")[0] == before.partition("|english:")[0]
