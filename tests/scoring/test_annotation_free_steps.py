"""CLinRel, CMedRel and WCC as they are asked for: on the page, by programs, in all languages in one step."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from research.scoring.models import Scoring
from research.scoring.rules.metrics import MetricChoiceError
from research.scoring.services.scorings import ask_where_changed
from tests.api.seeded import Program
from tests.api.test_work import address
from tests.clients import client_of
from tests.factories import NOW, make_language, make_vectors
from tests.inference.embedded import MeanColours, make_encoder, make_set
from tests.scoring.scored import make_references, make_scoring, run
from tests.scoring.test_annotation_free_scores import VISUAL
from tests.scoring.test_annotation_free_scores import collection as collection
from tests.scoring.test_annotation_free_scores import encoder as encoder
from tests.scoring.test_annotation_free_scores import english as english
from tests.scoring.test_annotation_free_scores import features as features
from tests.scoring.test_annotation_free_scores import model as model
from tests.scoring.test_annotation_free_scores import references as references
from tests.scoring.test_annotation_free_scores import storage as storage

pytestmark = pytest.mark.django_db


@pytest.fixture
def _in_japanese_too(project, collection, model):
    """With references that people wrote, for which there are no word vectors."""
    make_references(project=project, collection=collection, language="ja")
    for caption in list(model.captions.all()):
        model.captions.create(image=caption.image, language=make_language("ja"), text=caption.text)


def test_images_without_references_are_scored_by_what_needs_none(client, project, collection, encoder, features, model):
    client.force_login(project.created_by)
    at = reverse("scoring:scoring-create", args=[project.slug])
    images = client.post(at, {"collection": collection.slug, "language": "de"}).headers["Location"]
    form = client.get(images).context["form"]
    assert [name for name, _title in form.fields["metrics"].choices] == ["clinrel", "cmedrel"]

    asked = {"models": [model.pk], "metrics": ["cmedrel"], "encoder": encoder.pk, "features": features.pk}
    assert client.post(images, asked).status_code == 302
    scored = run(Scoring.objects.get())

    kept = scored.scores.get()
    assert (scored.images, scored.error, kept.why_undefined) == (3, "", "")
    assert kept.signature.startswith("cmedrel|v:1|encoder:mean-colours-1|sample:")
    assert ask_where_changed(now=NOW) == []
    assert client.get(reverse("scoring:score-list", args=[project.slug])).status_code == 200
    with pytest.raises(MetricChoiceError, match="bleu needs references"):
        make_scoring(scored.scoring.references, model=model, metrics=["bleu"])


@pytest.mark.parametrize(
    ("metric", "given", "said"),
    [
        ("clinrel", ["english"], "needs an encoder"),
        ("cmedrel", ["encoder"], "needs features of the images"),
        ("clinrel", ["encoder", "features"], "needs English references"),
        ("wcc", ["encoder", "english", "features"], "needs word vectors"),
    ],
)
def test_a_metric_that_lacks_something_is_refused_when_it_is_asked_for(request, references, metric, given, said):
    about = {name: request.getfixturevalue(name) for name in given}
    with pytest.raises(MetricChoiceError, match=said):
        make_scoring(references, metrics=[metric], **about)
    assert not Scoring.objects.exists()


def test_english_references_of_another_project_are_refused(references, encoder, collection):
    foreign = make_references(collection=collection, language="en")
    with pytest.raises(ValueError, match="not of project"):
        make_scoring(references, metrics=["clinrel"], encoder=encoder, english=foreign)


@pytest.fixture
def manager(client, project):
    client.force_login(project.created_by)
    return client


def test_the_page_offers_what_there_is_and_has_it_computed(manager, references, english, encoder, features, model):
    page = f"{reverse('scoring:scoring-create', args=['lions'])}?references={references.pk}"
    shown = manager.get(page).text
    for name in ("clinrel", "cmedrel"):
        assert f'value="{name}"' in shown
    assert 'value="wcc"' not in shown
    assert re.search(r"Colours, 3 images, 2 March 2026", shown)

    sent = {"models": [model.pk], "metrics": VISUAL, "tokenizer": "whitespace"}
    sent |= {"encoder": encoder.pk, "english": english.pk, "features": features.pk}
    assert manager.post(page, sent | {"features": ""}).status_code == 422
    assert manager.post(page, sent).status_code == 302
    scoring = Scoring.objects.get()
    assert (scoring.encoder, scoring.english, scoring.features) == (encoder, english, features)
    run(scoring)
    assert "mean-colours-1" in manager.get(reverse("scoring:scoring-show", args=["lions", scoring.pk])).text


@pytest.mark.long(reason="at least three others run each of its lines")
def test_without_an_encoder_the_page_says_what_is_to_be_done(manager, references, model):
    shown = manager.get(f"{reverse('scoring:scoring-create', args=['lions'])}?references={references.pk}")

    assert "need an encoder of captions" in shown.text
    assert 'value="clinrel"' not in shown.text


MANY = ["bleu", "wmdrel", *VISUAL]


@pytest.mark.usefixtures("_in_japanese_too")
def test_all_languages_are_scored_in_one_step_each_by_what_it_can_use(project, references, english, encoder, features):
    words, other = make_vectors("de", {"rrr": (1.0, 0.0)}), make_vectors("de", {"ggg": (0.0, 1.0)})
    manager, where = client_of(project.created_by), reverse("scoring:scoring-create", args=[project.slug])
    form = manager.get(where).context["several"]
    sent = {f"many-{name}": field.initial for name, field in form.fields.items() if field.initial is not None}
    sent |= {"many": "1", "many-metrics": MANY, "many-encoder": encoder.pk, "many-vectors": [words.pk]}
    page = manager.post(where, sent, follow=True)
    german, japanese = Scoring.objects.order_by("references__language")
    assert (german.metrics, german.vectors, german.english, german.features) == (MANY, words, english, features)
    assert (japanese.metrics, japanese.vectors) == (["bleu", *VISUAL], None)
    assert (japanese.encoder, japanese.english, japanese.features) == (encoder, english, features)
    assert "wmdrel was left out in Japanese" in page.content.decode()
    both = manager.post(where, sent | {"many-vectors": [words.pk, other.pk]})
    assert (both.status_code, "at most one for each language" in both.content.decode()) == (422, True)


@pytest.mark.usefixtures("model")
def test_of_features_those_in_the_space_of_the_encoder_are_used(project, references, encoder, features, monkeypatch):
    monkeypatch.setattr(MeanColours, "space", "another-space")
    newer = make_set(make_encoder("Other"), references.collection)
    mia, where = Program(project.created_by), address("score-list", project.slug)
    assert mia.post(where, metrics=["cmedrel"], encoder=encoder.pk).status_code == 202
    assert Scoring.objects.get().features == features
    Scoring.objects.all().delete()
    made = mia.post(where, metrics=["bleu", "cmedrel"], encoder=encoder.pk, features=[newer.pk])
    assert made.json()["left_out"] == {"cmedrel": ["de"]}
    assert Scoring.objects.get().metrics == ["bleu"]


@pytest.mark.usefixtures("_in_japanese_too")
def test_programs_score_with_vectors_and_encoders(project, references, english, encoder, features):
    words = make_vectors("de", {"rrr": (1.0, 0.0)})
    mia, where = Program(project.created_by), address("score-list", project.slug)
    made = mia.post(where, metrics=MANY, encoder=encoder.pk)
    assert made.status_code == 202, made.json()
    assert made.json()["left_out"] == {"wmdrel": ["ja"]}
    assert Scoring.objects.get(references=references).vectors == words
    refused = mia.post(where, metrics=["wmdrel"], vectors=[]).json()["errors"]
    assert "needs word vectors" in refused["metrics"][0]
    Scoring.objects.all().delete()
    one = {"references": references.pk, "metrics": ["wcc"], "encoder": encoder.pk, "features": [features.pk]}
    assert "needs word vectors" in mia.post(where, **one, english=[english.pk]).json()["errors"]["metrics"][0]
    given = {"english": [english.pk], "vectors": [words.pk]}
    assert mia.post(where, **one, **given).status_code == 202
    scoring = Scoring.objects.get()
    assert (scoring.english, scoring.vectors, scoring.features) == (english, words, features)
    assert list(mia.post(where, **(one | given | {"features": [1, 2]})).json()["errors"]) == ["features"]
    sets = mia.all_of(address("embedding-list"))
    assert [(row["id"], row["encoder"], row["images"]) for row in sets] == [(features.pk, encoder.pk, 3)]
