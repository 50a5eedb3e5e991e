"""Training on references through the pages: what is chosen, refused and left out."""

from __future__ import annotations

import pytest
from django.urls import reverse

from core.people.models import Role
from research.inference.models import Training
from research.inference.services.trainings import read_data
from research.scoring.models import ReferenceSet
from tests.factories import NOW, make_captioner, make_collection, make_project
from tests.inference.watched import make_person
from tests.scoring.scored import make_references, make_scoring, run
from tests.sxs_eval.judged import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def client(client, project):
    client.force_login(make_person(Role.RESEARCHER, project, name="res"))
    return client


@pytest.fixture
def asked(monkeypatch):
    asked: list[int] = []
    monkeypatch.setattr("research.scoring.views.references.ask_for_training", asked.append)
    return asked


@pytest.fixture
def references(project):
    return make_references(project=project, collection=make_collection(20))


def address(project):
    return reverse("scoring:training-create", args=[project.slug])


def filled(client, project, *sets, **values):
    """What the form sends as it is offered, with the sets chosen."""
    form = client.get(address(project)).context["form"]
    offered = {name: form[name].initial for name in form.fields}
    sent = {name: value for name, value in offered.items() if value is not None and value is not False}
    return sent | {"name": "Lions", "references": [one.pk for one in sets]} | values


def start(client, project, *sets, **values):
    return client.post(address(project), filled(client, project, *sets, **values))


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_training_is_started_on_references(client, project, references, asked):
    response = start(client, project, references, steps=40, seed=5)

    training = Training.objects.get()
    assert response.url == reverse("inference:training-show", args=[training.pk])
    assert asked == [training.pk]
    assert (training.name, training.project, training.base) == ("Lions", project, None)
    assert (training.options["steps"], training.options["seed"]) == (40, 5)
    learned, validated = read_data(training)
    assert (training.images, training.captions, training.validation_images) == (18, 36, 2)
    images = [{one.image for one in part} for part in (learned, validated)]
    assert images[0] | images[1] == set(references.references.values_list("image__sha256", flat=True))
    assert not images[0] & images[1]
    assert {one.language for one in learned} == {"de"}
    (source,) = training.sources
    assert source == {
        "split": "training",
        "set": references.pk,
        "name": "People",
        "language": "de",
        "digest": references.digest,
    }


def test_other_references_validate(client, project, references, asked):
    others = make_references(project=project, collection=make_collection(3), name="Others")

    start(client, project, references, validation=[others.pk])

    training = Training.objects.get()
    assert (training.images, training.validation_images) == (20, 3)


def test_the_same_images_for_both_are_refused(client, project, references, asked):
    twins = make_references(project=project, collection=references.collection, name="Twins", language="fr")

    response = start(client, project, references, validation=[twins.pk])

    assert response.status_code == 422
    assert "20 images are in training and in validation" in text_of(response)
    assert not asked


def test_images_of_an_evaluation_set_are_refused_or_left_out(client, project, references, asked):
    evaluated = make_references(project=project, collection=references.collection, name="Held out", language="en")
    shown = client.post(
        reverse("scoring:reference-evaluation", args=[project.slug, evaluated.pk]), {"is_evaluation": "on"}, follow=True
    )
    assert "no model is trained on their images" in text_of(shown)
    assert "Held out" not in str(client.get(address(project)).context["form"]["references"])

    refused = start(client, project, references)

    assert refused.status_code == 422
    assert "20 images belong to an evaluation set" in text_of(refused)
    some = references.references.values_list("image", flat=True)[:4]
    evaluated.references.exclude(image__in=list(some)).delete()
    start(client, project, references, leaves_out_evaluated="on")
    training = Training.objects.get()
    assert training.images + training.validation_images == 20 - evaluated.references.values("image").distinct().count()
    client.post(reverse("scoring:reference-evaluation", args=[project.slug, evaluated.pk]))
    assert not ReferenceSet.objects.filter(is_evaluation=True).exists()


def test_what_is_wrong_is_said(client, project, references, asked):
    for values, says in (
        ({"references": []}, "This field is required."),
        ({"steps": 0}, "Ensure this value is greater than or equal to 1."),
        ({"learning_rate": 7}, "The learning rate must be above 0 and at most 1."),
        ({"warmup_steps": 2000}, "The warm-up has 2000 steps, the training only 300."),
        ({"targets": "pivot"}, "has neither a stabiliser nor an English caption, which could be it."),
    ):
        response = start(client, project, references, **values)
        assert response.status_code == 422, values
        assert says in text_of(response)
    assert not Training.objects.exists()


def test_one_image_is_too_few(client, project, asked):
    single = make_references(project=project, collection=make_collection(1))
    assert "Too few images have captions to keep some of them for validation: 1." in text_of(
        start(client, project, single)
    )


@pytest.mark.long(reason="at least three others run each of its lines")
def test_references_of_another_project_cannot_be_chosen(client, project, references, asked):
    elsewhere = make_references(project=make_project("bears"), collection=make_collection(5))
    response = start(client, project, elsewhere)
    assert response.status_code == 422
    assert not asked


def test_scores_over_images_that_the_model_learned_from_say_so(client, project, references, asked):
    start(client, project, references)
    training = Training.objects.get()
    model = make_captioner(references.collection, "Lions", text="test caption", language="de")
    Training.objects.filter(pk=training.pk).update(model=model)
    offspring = make_captioner(references.collection, "Offspring", text="a caption", language="de")
    Training.objects.create(
        name="Offspring",
        base=model,
        model=offspring,
        captions=1,
        images=1,
        validation_images=1,
        created_at=NOW,
        options=training.options,
    )
    other = make_captioner(references.collection, "Other", text="an image", language="de")
    scorings = [make_scoring(references, model=one) for one in (model, offspring, other)]
    for scoring in scorings:
        run(scoring)

    text = text_of(client.get(reverse("scoring:score-list", args=[project.slug])))

    assert text.count("18 in its training") == 2
    shown = [
        text_of(client.get(reverse("scoring:scoring-show", args=[project.slug, scoring.pk]))) for scoring in scorings
    ]
    assert ["trained on 18 of these images" in one for one in shown] == [True, True, False]
