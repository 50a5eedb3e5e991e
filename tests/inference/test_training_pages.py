"""Pages of trainings: curves, samples, and who may see and steer them."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.people.models import Membership, Role
from research.inference import tasks
from research.inference.models import RunState, Training, TrainingStep, TrainingValidation
from tests.annotation.submitting import take
from tests.factories import make_captioner
from tests.inference.embedded import painted_collection
from tests.inference.trained import examples_of, make_training
from tests.inference.watched import HTMX, make_busy_researcher
from tests.sxs_eval.judged import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def asked(monkeypatch):
    """The trainings that a worker was asked for."""
    asked: list[int] = []
    monkeypatch.setattr(tasks, "ask_for_training", asked.append)
    return asked


@pytest.fixture
def collection():
    return painted_collection(6)


@pytest.fixture
def training(project, collection):
    """In the middle: 200 steps of 300, validated twice."""
    training = make_training(project=project, examples=examples_of(collection))
    TrainingStep.objects.bulk_create(
        TrainingStep(
            training=training, step=step, loss=4 / step, learning_rate=1e-3, images_per_s=20, memory=500 * 2**20
        )
        for step in range(1, 201)
    )
    for step, cider, text in ((0, 0.0, "a a a"), (100, 41.5, "a cat on a <mat>")):
        sample = {"image": collection.entries.first().image.sha256, "language": "en", "caption": text}
        TrainingValidation.objects.create(
            training=training, step=step, loss=1, cider=cider, languages={"en": cider}, samples=[sample]
        )
    values = {"state": RunState.RUNNING, "step": 200, "best_step": 100, "best_cider": 41.5}
    Training.objects.filter(pk=training.pk).update(**values, options=training.options | {"steps": 300})
    training.refresh_from_db()
    return training


def address(name, training):
    return reverse(f"inference:training-{name}", args=[training.pk])


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_page_shows_progress_curves_and_samples(researcher, training):
    text = researcher.get(address("show", training)).text
    assert "Step 200 of 300" in text
    assert "41.5" in text
    assert text.count("plot__line") > 200
    assert "From 0.0 at step 0 to 41.5 at step 100." in text
    assert "a cat on a &lt;mat&gt;" in text
    assert "a new small model" in text
    assert training.digest in text


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_long_curve_is_thinned(researcher, training):
    TrainingStep.objects.bulk_create(
        TrainingStep(training=training, step=step, loss=1, learning_rate=1e-3, images_per_s=20, memory=1)
        for step in range(201, 5001)
    )
    assert researcher.get(address("show", training)).text.count("plot__line") < 450


def test_the_part_refreshes_itself_until_the_training_is_over(researcher, training):
    part = researcher.get(address("progress", training), headers=HTMX)
    assert "hx-get" in part.text
    assert "HX-Refresh" not in part
    Training.objects.filter(pk=training.pk).update(state=RunState.PAUSED)
    assert researcher.get(address("progress", training), headers=HTMX)["HX-Refresh"] == "true"
    assert researcher.get(address("progress", training)).url == address("show", training)


def test_it_pauses_goes_on_and_is_cancelled(researcher, training, asked):
    for name, state in (("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled")):
        response = researcher.post(address(name, training), follow=True)
        training.refresh_from_db()
        assert training.state == state
        assert response.redirect_chain == [(address("show", training), 302)]
    assert asked == [training.pk]
    assert "has changed in the meantime" in text_of(researcher.post(address("pause", training), follow=True))


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(
    ("state", "offered"),
    [
        (RunState.RUNNING, {"pause", "cancel"}),
        (RunState.PAUSED, {"resume", "cancel"}),
        (RunState.FAILED, {"resume", "cancel"}),
        (RunState.CANCELLED, set()),
    ],
)
def test_only_what_can_be_done_is_offered(researcher, training, state, offered):
    Training.objects.filter(pk=training.pk).update(state=state)
    text = researcher.get(address("show", training)).text
    assert {name for name in ("pause", "resume", "cancel") if address(name, training) in text} == offered


def test_what_it_made_is_linked_and_its_card_can_be_downloaded(researcher, training, collection, project):
    assert researcher.get(address("card", training)).status_code == 404
    model = make_captioner(collection, "Cat captioner", project=project, is_shared=False)
    values = {"state": RunState.DONE, "model": model, "card": "# Cat captioner\n", "finished_at": timezone.now()}
    Training.objects.filter(pk=training.pk).update(**values)
    text = researcher.get(address("show", training)).text
    assert reverse("inference:model-show", args=[model.pk]) in text
    card = researcher.get(address("card", training))
    assert card.text == "# Cat captioner\n"
    assert card["Content-Disposition"] == 'attachment; filename="trained-card.md"'
    assert address("show", training) in researcher.get(reverse("inference:model-show", args=[model.pk])).text


def test_the_list_has_trainings_of_ones_projects_only(researcher, training):
    make_training(name="Elsewhere", examples=examples_of(painted_collection(6)))
    text = researcher.get(reverse("inference:training-list")).text
    assert "Trained" in text
    assert "200 of 300" in text
    assert "Elsewhere" not in text


def test_what_it_wrote_of_an_image_assigned_to_the_viewer_is_not_shown(client: Client, training, collection):
    person, round = make_busy_researcher(collection, batch_size=6)
    Membership.objects.create(project=training.project, user=person, role=Role.RESEARCHER)
    client.force_login(person)
    assert "on a &lt;mat&gt;" in client.get(address("show", training)).text
    take(round, person)
    for asked in ({}, HTMX):
        name = "progress" if asked else "show"
        text = client.get(address(name, training), headers=asked).text
        assert "on a &lt;mat&gt;" not in text
        assert "1 image is not shown, because it is assigned to you." in text
