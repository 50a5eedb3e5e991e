"""Scores follow captions and references: what changed is scored again, and what was scored before is kept."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.images.models import ImportJob, ImportKind
from core.jobs.models import JobState
from core.jobs.services import leases
from core.jobs.services.leases import NUDGE_AFTER
from research.inference.models import CaptioningModel, ModelCaption
from research.scoring import tasks
from research.scoring.models import Pass, Score, Scoring
from research.scoring.selectors.scores import current_pass, score_cells, scoring_details, scoring_rows
from research.scoring.services import scoring_passes
from research.scoring.services.references import put_references
from research.scoring.services.scorings import ask_again, ask_where_changed, delete_scoring
from tests.factories import NOW, make_captioner, make_collection, make_image
from tests.scoring.scored import make_references, make_scoring, make_scorings, run, values_of
from tests.sweeping import sweep

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=1)


def change_references(scoring: Scoring) -> None:
    image = scoring.references.references.last().image_id
    put_references(reference_set=scoring.references, captions={image: ["base caption", "another"]}, now=LATER)


def add_caption(scoring: Scoring) -> None:
    """Of an image with references that the model had not described."""
    described = ModelCaption.objects.filter(model=scoring.model).values("image")
    image = scoring.references.references.exclude(image__in=described).first().image_id
    say(scoring.model, image)


def say(model: CaptioningModel, image: int, language: str = "de") -> None:
    ModelCaption.objects.create(model=model, image_id=image, language_id=language, text="base caption, late")


def incomplete_scoring() -> Scoring:
    """Done, with an image that has references and no caption."""
    scoring = make_scoring(make_references(collection=make_collection(images=4)))
    ModelCaption.objects.filter(model=scoring.model).order_by("pk").first().delete()
    run(scoring)
    return scoring


@pytest.mark.parametrize("change", [change_references, add_caption])
def test_what_changed_is_scored_again_and_the_old_scores_stay(change):
    scoring = incomplete_scoring()
    before = scoring.passes.get()
    kept = list(Score.objects.values_list("pk", "value", "signature", "created_at"))
    assert ask_where_changed(now=LATER) == []

    change(scoring)
    (asked,) = ask_where_changed(now=LATER)

    assert asked != before.pk
    assert current_pass(scoring) == before, "what is being computed does not count yet"
    assert ask_where_changed(now=LATER) == [], "it is asked for once"
    after = run(scoring, at=LATER)
    assert (after.pk, after.state, current_pass(scoring)) == (asked, JobState.DONE, after)
    assert values_of(after) != values_of(before)
    assert list(before.scores.values_list("pk", "value", "signature", "created_at")) == kept
    assert ask_where_changed(now=LATER) == []
    assert [row.scoring_pass.pk for row in scoring_details(scoring).history] == [after.pk, before.pk]
    assert {cell.pass_id for cell in score_cells(scoring.project)} == {after.pk}


def test_captions_of_other_images_or_languages_change_nothing():
    scoring = incomplete_scoring()
    mark = scoring.passes.get().captions_mark

    say(scoring.model, make_image().pk)
    say(scoring.model, scoring.references.references.first().image_id, "fr")

    assert ask_where_changed(now=LATER) == []
    assert scoring.passes.get().captions_mark != mark, "it is noted, so that nobody looks again"


def test_a_pass_that_found_nothing_is_asked_for_again_once_there_is_something():
    references = make_references()
    model = make_captioner(references.collection, language="en")
    scoring = make_scoring(references, model=model)
    assert run(scoring).state == JobState.FAILED
    assert ask_where_changed(now=LATER) == []

    say(model, references.references.first().image_id)

    assert len(ask_where_changed(now=LATER)) == 1
    assert run(scoring, at=LATER).state == JobState.DONE


def test_a_pass_that_ended_before_anything_was_read_is_left_to_people():
    scoring = make_scoring()
    scoring.passes.update(attempts=scoring_passes.MAX_ATTEMPTS)
    assert run(scoring).state == JobState.FAILED

    change_references(scoring)

    assert ask_where_changed(now=LATER) == []
    ask_again(scoring=scoring, now=LATER)
    assert run(scoring, at=LATER).state == JobState.DONE


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("kind", [ImportKind.CAPTIONS, ImportKind.REFERENCES])
def test_while_captions_are_imported_nothing_is_asked_for(kind):
    scoring = incomplete_scoring()
    change_references(scoring)
    options = {"model": scoring.model.name, "language": "de", "project": scoring.project_id}
    job = ImportJob.objects.create(kind=kind, options=options, source_name="file", state=JobState.RUNNING)
    elsewhere = {"model": "another", "language": "de", "project": 0}
    ImportJob.objects.create(kind=kind, options=elsewhere, source_name="file", state=JobState.RUNNING)

    assert ask_where_changed(now=LATER) == []

    ImportJob.objects.filter(pk=job.pk).update(state=JobState.DONE)
    assert len(ask_where_changed(now=LATER)) == 1


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_sweep_looks_at_many_scorings_in_few_queries(django_assert_max_num_queries):
    references = make_references()
    for _ in range(5):
        run(make_scoring(references))

    with django_assert_max_num_queries(3):
        assert ask_where_changed(now=LATER) == []


def test_a_pass_whose_message_was_lost_is_sent_again_but_not_at_every_sweep():
    scoring_pass = make_scoring().passes.get()

    assert leases.rows_to_nudge(Pass.objects.all(), now=NOW) == [scoring_pass.pk]
    assert leases.rows_to_nudge(Pass.objects.all(), now=NOW + NUDGE_AFTER / 2) == []
    assert leases.rows_to_nudge(Pass.objects.all(), now=NOW + NUDGE_AFTER) == [scoring_pass.pk]
    run(scoring_pass.scoring, at=LATER)
    assert leases.rows_to_nudge(Pass.objects.all(), now=LATER + LATER.resolution) == []


def test_the_sweeps_send_what_is_to_be_done(monkeypatch):
    sent: list[int] = []
    monkeypatch.setattr(tasks.run_pass, "delay", sent.append)
    scoring = make_scoring()

    sweep()
    assert sent == [scoring.passes.get().pk]

    tasks.run_pass(scoring.passes.get().pk)
    change_references(scoring)
    tasks.sweep_scorings()
    assert sent[1:] == [scoring.passes.first().pk]
    assert scoring.passes.count() == 2


def test_a_pass_is_sent_when_the_transaction_is_through(monkeypatch, django_capture_on_commit_callbacks):
    sent: list[int] = []
    monkeypatch.setattr(tasks.run_pass, "delay", sent.append)
    scorings = [make_scoring(), make_scoring()]

    with django_capture_on_commit_callbacks(execute=True):
        tasks.ask_for_passes(scorings)
        assert sent == []

    assert sent == [scoring.passes.get().pk for scoring in scorings]


@pytest.mark.long(reason="at least three others run each of its lines")
def test_asking_again_waits_for_what_is_being_done():
    scoring = make_scoring()
    first = scoring.passes.get()
    assert ask_again(scoring=scoring, now=NOW) == first

    run(scoring)
    again = ask_again(scoring=scoring, now=LATER)

    assert again != first
    assert values_of(run(scoring, at=LATER)) == values_of(first)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_model_scored_already_gets_the_metrics_it_lacks():
    scoring = make_scoring(metrics=["rouge-l"])
    run(scoring)
    other = make_captioner(scoring.references.collection, text="another caption", language="de")

    made = make_scorings(scoring.references, [scoring.model, other], metrics=["cider", "rouge-l"], now=LATER)

    assert [one.metrics for one in made] == [["rouge-l", "cider"], ["cider", "rouge-l"]]
    assert made[0] == scoring
    assert Pass.objects.filter(state=JobState.QUEUED).count() == 2
    assert list(values_of(run(scoring, at=LATER))) == ["rouge-l", "cider"]


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_removed_scoring_takes_its_history_along_and_leaves_the_others():
    gone, stays = make_scoring(), make_scoring()
    run(gone)
    run(stays)

    delete_scoring(scoring=gone)

    assert list(Scoring.objects.all()) == [stays]
    assert not Score.objects.exclude(scoring_pass__scoring=stays).exists()
    assert [row.scoring for row in scoring_rows(stays.project)] == [stays]
