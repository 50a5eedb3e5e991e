"""What pages and files are made of: the table of scores, figures of images, paired differences; and who may see."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.http import Http404

from core.images.models import Image
from core.people.models import Membership, Project, Role
from crosslens_metrics.meteor import meteor_of_sums, sums_of_answers
from crosslens_metrics.paired import METHODS, PairedDifference
from crosslens_metrics.reports.figures import UndefinedScore
from crosslens_metrics.scores import MetricScores
from crosslens_metrics.signatures import Signature
from crosslens_metrics.sums import statistic_of
from research.inference.models import ModelCaption
from research.scoring.models import Reference, Score, Scoring
from research.scoring.permissions import has_assigned_images, reference_set_for, scoring_for
from research.scoring.rules.packing import pack_floats, unpack_floats
from research.scoring.selectors.images import PerImage, disagreements, gains_by_image, per_image, texts_of
from research.scoring.selectors.scores import (
    current_pass,
    differences_between,
    score_cells,
    scoring_details,
    scoring_rows,
)
from research.scoring.selectors.significance import common_metrics, paired_result
from research.scoring.services.scoring_passes import claim
from research.scoring.services.scorings import ask_again
from tests.annotation.submitting import submit_captions, take
from tests.exported import exported_text
from tests.factories import NOW, make_annotator, make_captioner, make_collection, make_project, make_round, make_user
from tests.kept import kept
from tests.metrics.plain import plain_bleu
from tests.scoring.scored import make_references, make_scoring, run, values_of

pytestmark = pytest.mark.django_db

LATER = NOW + timedelta(hours=1)


def figures(*values: float) -> PerImage:
    return PerImage(np.arange(1, len(values) + 1), np.array(values))


def test_best_and_worst_are_in_order_and_equal_ones_as_they_come():
    values = figures(0.5, 0.9, 0.5, 0.1)

    assert values.best(2) == [(2, 0.9), (1, 0.5)]
    assert values.best(2, start=2) == [(3, 0.5), (4, 0.1)]
    assert values.worst(3) == [(4, 0.1), (1, 0.5), (3, 0.5)]


def test_gains_are_over_the_images_of_both():
    test = PerImage(np.array([7, 3, 5]), np.array([1.0, 2.0, 3.0]))
    base = PerImage(np.array([5, 9, 7]), np.array([0.5, 9.0, 0.25]))

    gained = gains_by_image(test, base)

    assert (gained.images.tolist(), gained.values.tolist()) == ([7, 5], [0.75, 2.5])


def test_the_largest_disagreement_is_where_places_are_farthest_apart():
    places = disagreements(figures(0.1, 0.2, 0.3, 0.4, 9.0), {1: 3.0, 2: -1.0, 3: 0.0, 4: -2.0})

    assert [(one.image_id, one.gap) for one in places] == [(1, -0.75), (4, 0.75), (2, 0.0), (3, 0.0)]
    assert (places[0].value, places[0].verdict) == (0.1, 3.0)
    assert disagreements(figures(1.0), {}) == []
    assert [one.gap for one in disagreements(figures(1.0, 1.0), {1: 0.0, 2: 0.0})] == [0.0, 0.0]


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_table_is_one_query_and_has_the_newest_done_pass_of_each(django_assert_num_queries):
    references = make_references()
    project = references.project
    scorings = [make_scoring(references) for _ in range(2)]
    make_scoring(references)  # not run
    run(make_scoring())  # of another project
    for scoring in scorings:
        run(scoring)
    ask_again(scoring=scorings[0], now=LATER)
    newest = run(scorings[0], at=LATER)
    failed = ask_again(scoring=scorings[1], now=LATER)
    failed.state = "failed"
    failed.save()

    with django_assert_num_queries(1):
        cells = score_cells(project)

    assert len(cells) == 12
    assert {cell.pass_id for cell in cells} == {newest.pk, current_pass(scorings[1]).pk}
    assert [cell.metric for cell in cells if cell.scoring_id == scorings[0].pk] == [
        "cider-d", "bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l",
    ]  # fmt: skip
    cell = cells[1]
    assert cell.title == "BLEU-1"
    assert cell.shown == pytest.approx(100 * cell.value)
    assert (cell.language, cell.reference_set, cell.tokenizer) == ("de", references.name, "whitespace")


def test_rows_say_where_the_work_stands(django_assert_num_queries):
    references = make_references()
    scorings = [make_scoring(references) for _ in range(3)]
    run(scorings[0])
    scorings[1].passes.update(state="failed", error="No Java.")
    claim(pass_id=scorings[2].passes.get().pk, now=NOW)
    scorings[2].passes.update(done=1)

    with django_assert_num_queries(4):
        rows = {row.scoring.pk: row for row in scoring_rows(references.project)}

    done, failed, running = (rows[scoring.pk] for scoring in scorings)
    assert (done.open, done.done, done.error, done.percent) == (None, current_pass(scorings[0]), "", 100)
    assert (failed.done, failed.error) == (None, "No Java.")
    assert (running.open.done, running.percent) == (1, 33)
    assert scoring_details(scorings[2]).cells == []


def test_figures_of_images_come_with_what_was_said_of_them():
    scoring = make_scoring()
    scored = run(scoring)

    values = per_image(scored, "rouge-l")
    texts = texts_of(scoring, values.images.tolist())

    assert len(values) == 3
    entry = scoring.references.collection.entries.first()
    said = texts[entry.image_id]
    assert (said.image, said.key, said.caption) == (entry.image, entry.key, f"base caption of {entry.key}")
    assert said.references == [f"test caption of {entry.key}", f"an image of {entry.key}"]
    assert per_image(scored, "meteor") is None


def test_two_models_are_compared_over_their_images_and_it_says_where_they_should_not_be():
    references = make_references(collection=make_collection(images=12))
    collection = references.collection
    test = make_scoring(references, model=make_captioner(collection, text="test caption", language="de"))
    base = make_scoring(references, normalise=False)
    for scoring in (test, base):
        run(scoring)

    result = paired_result(test=test, base=base, metric="rouge-l", method="permutation", resamples=200)

    assert (result.images, result.left_out) == (12, 0)
    assert [warning.split(":")[0] for warning in result.warnings] == ["text and tokens"]
    assert common_metrics(test, base) == ["bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "cider-d"]
    again = paired_result(test=test, base=base, metric="rouge-l", method="permutation", resamples=200)
    assert again.difference == result.difference

    itself = paired_result(test=test, base=test, metric="rouge-l", method="bootstrap", resamples=200)
    assert not isinstance(itself.difference, UndefinedScore)
    assert (itself.difference.p, itself.difference.interval) == (1, None)
    assert itself.warnings == []
    assert paired_result(test=test, base=make_scoring(references), metric="rouge-l", method="bootstrap") is None

    lower = np.linspace(0.0, 0.5, 12)
    Score.objects.filter(scoring_pass=current_pass(base), metric="rouge-l").update(values=pack_floats(lower))
    better = paired_result(test=test, base=base, metric="rouge-l", method="permutation", resamples=200).difference
    worse = paired_result(test=base, base=test, metric="rouge-l", method="permutation", resamples=200).difference
    assert not isinstance(better, UndefinedScore)
    assert not isinstance(worse, UndefinedScore)
    assert better.difference == pytest.approx(0.75)
    assert better.p < 0.05
    assert worse.difference == pytest.approx(-0.75)


@kept
def two_models():
    """Scorings of two models on 12 images, with captions of several lengths."""
    references = make_references(
        collection=make_collection(images=12), texts=["the dog sits on a mat", "a dog on the mat in a room"]
    )
    made = {}
    for name, texts in SAID.items():
        model = make_captioner(references.collection, name, language="de")
        for caption, text in zip(ModelCaption.objects.filter(model=model), texts * 4, strict=True):
            ModelCaption.objects.filter(pk=caption.pk).update(text=text)
        made[name] = make_scoring(references, model=model, metrics=["bleu", "rouge-l"])
    return made["better"], made["worse"]


SAID = {
    "better": ["the dog sits on the mat", "a dog on the mat in a house", "it sits on a mat"],
    "worse": ["a dog", "the dog on the mat is a dog in there", "there is a cat on a mat"],
}


def difference_in(metric: str, test: Scoring, base: Scoring, **about: Any) -> PairedDifference:
    result = paired_result(test=test, base=base, metric=metric, **about)
    assert result is not None
    assert isinstance(result.difference, PairedDifference)
    return result.difference


def plain_bleus(scoring: Scoring, images: Iterable[int]) -> list[float]:
    """Counted by hand from the captions in the database."""
    candidates = [ModelCaption.objects.get(model=scoring.model, image=image).text for image in images]
    references = [
        list(Reference.objects.filter(image=image).order_by("position").values_list("text", flat=True))
        for image in images
    ]
    return list(plain_bleu(candidates, references)[-1])


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("method", METHODS)
def test_the_difference_is_that_of_the_two_corpus_figures(two_models, method):
    test, base = two_models
    for scoring in two_models:
        run(scoring)

    ours, theirs = (values_of(current_pass(scoring)) for scoring in two_models)
    difference = {name: difference_in(name, test, base, method=method, resamples=300) for name in ours}
    assert list(difference) == ["bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l"]
    for name, one in difference.items():
        assert one.difference == pytest.approx(ours[name] - theirs[name], abs=1e-12)
        assert one.interval.low < one.difference < one.interval.high
    of_means = [per_image(current_pass(scoring), "bleu-4").values.mean() for scoring in two_models]
    assert abs(of_means[0] - of_means[1] - difference["bleu-4"].difference) > 0.01


@pytest.mark.long(reason="at least three others run each of its lines")
def test_over_fewer_images_the_difference_is_that_of_what_both_would_score_on_them(two_models):
    test, base = two_models
    described = ModelCaption.objects.filter(model=base.model).order_by("pk")
    described.first().delete()
    images = list(described.values_list("image", flat=True))
    for scoring in two_models:
        run(scoring)

    expected = zip(plain_bleus(test, images), plain_bleus(base, images), strict=True)
    for order, (ours, theirs) in enumerate(expected, start=1):
        difference = difference_in(f"bleu-{order}", test, base, method="bootstrap", resamples=50)
        assert difference.difference == pytest.approx(ours - theirs, abs=1e-9)
    result = paired_result(test=test, base=base, metric="bleu-4", method="bootstrap", resamples=50)
    assert (result.images, result.left_out) == (11, 1)


def meteor_without_java(
    candidates: Sequence[str], references: Sequence[Sequence[str]], *, language: str
) -> MetricScores:
    """As the program would count a chunk for each two words that are in the first reference."""
    answers = []
    for candidate, (reference, *_others) in zip(candidates, references, strict=True):
        words, theirs = candidate.split(), reference.split()
        matched = len(set(words) & set(theirs))
        kinds = f"{matched} {matched} 0 0" + " 0" * 12
        answers.append(f"{len(words)} {len(theirs)} 0 0 {kinds} {(matched + 1) // 2} {matched} {matched}")
    sums = sums_of_answers(answers, language=language)
    (corpus,) = meteor_of_sums(sums.sum(axis=0, keepdims=True), language=language)
    return MetricScores(float(corpus), meteor_of_sums(sums, language=language), sums)


def test_meteor_and_bmrc_differ_by_their_corpus_figures_too(two_models, monkeypatch):
    monkeypatch.setattr("crosslens_metrics.meteor.meteor", meteor_without_java)
    for scoring in two_models:
        Scoring.objects.filter(pk=scoring.pk).update(metrics=["meteor", "bmrc"])
        run(scoring)

    ours, theirs = (values_of(current_pass(scoring)) for scoring in two_models)
    assert list(ours) == ["meteor", "bmrc"]
    for name in ours:
        difference = difference_in(name, *two_models, method="bootstrap", resamples=100)
        assert difference.difference == pytest.approx(ours[name] - theirs[name], abs=1e-10)
        of_means = [per_image(current_pass(scoring), name).values.mean() for scoring in two_models]
        assert abs(of_means[0] - of_means[1] - difference.difference) > 0.001


def test_sums_are_kept_where_the_figure_is_no_mean_and_only_there():
    scored = run(make_scoring())
    kept = {score.metric: unpack_floats(score.sums) for score in scored.scores.all()}
    assert {name: sums.size for name, sums in kept.items()} == {
        "bleu-1": 3 * 4, "bleu-2": 3 * 6, "bleu-3": 3 * 8, "bleu-4": 3 * 10, "rouge-l": 0, "cider-d": 0,
    }  # fmt: skip
    for score in scored.scores.exclude(sums=b""):
        sums = kept[score.metric].reshape(3, -1).sum(axis=0, keepdims=True)
        assert statistic_of(Signature.parse(score.signature))(sums) == pytest.approx([score.value], rel=1e-12)
    for score in scored.scores.filter(sums=b""):
        assert statistic_of(Signature.parse(score.signature)) is None
        assert unpack_floats(score.values).mean() == pytest.approx(score.value, rel=1e-12)


def test_signatures_are_compared_word_by_word():
    one = "cider-d|v:1|text:whitespace-1|refs:aa"
    assert differences_between(one, one) == []
    assert differences_between(one, "cider-d|v:1|text:ptb|refs:bb") == [
        "text and tokens: whitespace-1 against ptb",
        "references: aa against bb",
    ]


def read(project: Project, what: str, format: str) -> list[dict[str, Any]]:
    text = exported_text(project, what, format).removeprefix("\ufeff")
    return list(csv.DictReader(io.StringIO(text))) if format == "csv" else [*map(json.loads, text.splitlines())]


@pytest.mark.long(reason="at least three others run each of its lines")
def test_files_have_the_figures_with_their_signatures_and_those_of_each_image():
    scoring = make_scoring(metrics=["rouge-l", "cider"], model=None)
    project = scoring.project
    scored = run(scoring)
    Score.objects.filter(metric="cider").update(value=None, why_undefined="why", values=b"")
    gone = scoring.references.collection.entries.last()
    gone.delete()
    rouge_l = scored.scores.get(metric="rouge-l")
    of_images = per_image(scored, "rouge-l")
    values = dict(zip(of_images.images.tolist(), of_images.values.tolist(), strict=True))

    cider, row = read(project, "scores", "jsonl")
    assert (row["metric"], row["value"], row["signature"]) == ("rouge-l", rouge_l.value, rouge_l.signature)
    assert (row["model"], row["language"], row["images"], row["normalise"]) == (scoring.model.name, "de", 3, True)
    assert (cider["value"], cider["why_undefined"]) == (None, "why")
    cider, row = read(project, "scores", "csv")
    assert (float(row["value"]), row["normalise"], cider["value"]) == (rouge_l.value, "true", "")
    keys = [*scoring.references.collection.entries.values_list("key", flat=True), gone.image.sha256]
    for format in ("csv", "jsonl"):
        rows = read(project, "image-scores", format)
        assert [row["image"] for row in rows] == keys
        for row in rows:
            image = Image.objects.filter(entries__key=row["image"]).first() or gone.image
            assert float(row["rouge-l"]) == values[image.pk]
            assert not row["cider"]


def test_only_who_manages_the_project_or_does_research_in_it_gets_at_scores():
    scoring = make_scoring()
    project, references = scoring.project, scoring.references
    researcher, annotator = make_user(), make_user()
    Membership.objects.create(project=project, user=researcher, role=Role.RESEARCHER)
    Membership.objects.create(project=project, user=annotator, role=Role.ANNOTATOR)
    other = make_project()

    for person in (researcher, project.created_by):
        assert scoring_for(person, project.slug, scoring.pk) == scoring
        assert reference_set_for(person, project.slug, references.pk) == references
    for person, slug in ((annotator, project.slug), (other.created_by, project.slug), (other.created_by, other.slug)):
        with pytest.raises(Http404):
            scoring_for(person, slug, scoring.pk)
        with pytest.raises(Http404):
            reference_set_for(person, slug, references.pk)
    with pytest.raises(Http404):
        scoring_for(researcher, project.slug, scoring.pk, Role.MANAGER)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_whoever_writes_about_an_image_is_noticed_until_it_is_submitted():
    round = make_round()
    person = make_annotator(round)
    references = make_references(project=round.project, collection=round.collection)
    others = make_references()
    assert not has_assigned_images(person, [references])

    take(round, person)
    assert has_assigned_images(person, [others, references])
    assert not has_assigned_images(person, [others])

    second = make_annotator(round)
    submit_captions(round, second)
    assert not has_assigned_images(second, [references])
