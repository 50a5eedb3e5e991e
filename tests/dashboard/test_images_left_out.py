"""Images that came into a collection by mistake and were used: left out of what is computed from then on."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.urls import reverse

from annotation.models import RoundFigures
from annotation.selectors.statistics import live_statistics, statistics_in
from annotation.services.figures import compute, stale_rounds
from annotation.services.tallies import recount_all
from annotation.services.verification import fill_verification
from core.images.models import Collection, CollectionImage
from core.images.services.collections import duplicate_collection
from core.people.models import AuditEntry
from office.dashboard.services.projects import count_image_again, leave_out_image
from research.scoring.models import Scoring
from research.scoring.selectors.scores import score_cells
from research.scoring.services.scorings import ask_where_changed
from research.selection.selectors.pools import pool_of
from sxs_eval.models import Comparison
from sxs_eval.selectors.across import evaluations_of
from sxs_eval.selectors.for_others import human_judgements_of
from sxs_eval.selectors.planning import coverage_of, size_of
from sxs_eval.selectors.results import report_of
from tests.annotation.submitting import submit_captions
from tests.annotation.verifying import make_captioned_round, make_reviewer, make_verification, submit, take
from tests.clients import client_of
from tests.exported import exported_text
from tests.factories import (
    NOW,
    make_annotator,
    make_captioner,
    make_collection,
    make_comparison,
    make_language,
    make_project,
    make_rater,
    make_round,
)
from tests.scoring.scored import make_references, make_scoring, run
from tests.sxs_eval.judged import judge_all, keys_of, results, text_of

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=1)
Counted = tuple[Collection, Callable[[], Any]]


@pytest.fixture
def collection() -> Collection:
    project = make_project("herons")
    return make_collection(3, project=project, is_shared=False, created_by=project.created_by)


def leave_out(collection: Collection, position: int = 1) -> CollectionImage:
    entry = collection.entries.get(position=position)
    assert leave_out_image(entry=entry, reason="A drawing", by=make_project().created_by, now=NOW)
    return entry


def count_again(entry: CollectionImage) -> None:
    assert count_image_again(entry=entry, by=make_project().created_by, now=NOW)


def judged(read: Callable[[Comparison], Any]) -> Counted:
    comparison = make_comparison(replication=1)
    judge_all(comparison, make_rater(comparison), dict(zip(keys_of(comparison), (3, 0, -3), strict=True)))
    return comparison.collection, partial(read, comparison)


def judgements_that_count(comparison: Comparison) -> int:
    rows = [json.loads(line) for line in exported_text(comparison.project, "judgements").splitlines()]
    assert {row["why_not"] for row in rows} <= {"", "image"}
    return sum(row["counts"] for row in rows)


def pooled(comparison: Comparison) -> int:
    models: dict[str, Any] = {"base": comparison.base, "test": comparison.test, "collection": comparison.collection}
    if Comparison.objects.count() == 1:
        make_comparison(project=comparison.project, seed=2, **models)
    (both,) = results(comparison.project).pooled
    return int(both.images)


def images_scored() -> Counted:
    scoring = make_scoring()

    def read() -> int:
        if ask_where_changed(now=LATER):
            run(scoring)
        assert not ask_where_changed(now=LATER)
        (images,) = {cell.images for cell in score_cells(scoring.project)}
        return images

    run(scoring)
    return scoring.references.collection, read


def written(read: Callable[[Any], Any]) -> Counted:
    round, _authors = make_captioned_round(images=3)
    return round.collection, partial(read, round)


def stored_figures(round: Any) -> dict[str, Any]:
    assert round.pk in stale_rounds(now=LATER)
    compute(round_id=round.pk, now=NOW)
    return RoundFigures.objects.get(round=round).figures


def live_images(round: Any) -> int:
    list(recount_all(round.project))
    stored_figures(round)
    (row,) = live_statistics(round.project)
    assert row.statistics.captions == 2 * row.images
    return row.images


def verified(name: str) -> Counted:
    round, _authors = make_captioned_round(images=3, captions=1)
    verification = make_verification(round, places=1)
    rater = make_reviewer(verification)
    batch = take(verification, rater)
    assert batch is not None
    batch.verdicts.update(rating="GOOD", rated_at=NOW)
    submit(batch, rater)
    return round.collection, lambda: stored_figures(verification)["quality"][name]


FIGURES: dict[str, Callable[[], Counted]] = {
    "report": lambda: judged(lambda one: report_of(one).outcome.images.denominator),
    "results": lambda: judged(lambda one: results(one.project).results[0].images),
    "pooled": lambda: judged(pooled),
    "metrics and raters": lambda: judged(lambda one: evaluations_of(one.project).rows[0].images),
    "raters on a model": lambda: judged(
        lambda one: len(human_judgements_of(one.project, one.test_id, "de")[0].by_image)
    ),
    "file of judgements": lambda: judged(judgements_that_count),
    "scores": images_scored,
    "statistics": lambda: written(lambda round: statistics_in(round.project, round.language).images_with_2),
    "statistics of the page": lambda: written(live_images),
    "agreement": lambda: written(lambda round: stored_figures(round)["agreement"]["things"]),
    "file of captions": lambda: written(lambda round: exported_text(round.project, "captions", "xm3600").count("\n")),
    "captions drawn": lambda: verified("sampled"),
    "captions verified": lambda: verified("verified"),
}


@pytest.mark.parametrize("figure", FIGURES)
def test_figures_do_without_an_image_that_is_left_out_until_it_counts_again(figure):
    collection, read = FIGURES[figure]()
    assert read() == 3
    entry = leave_out(collection)
    assert read() == 2
    count_again(entry)
    assert read() == 3


NEW_WORK: dict[str, Callable[[Collection, Any], int]] = {
    "round": lambda within, model: make_round(collection=within, captioners=[model]).tasks.count(),
    "sample": lambda within, model: make_round(collection=within, captioners=[model], sample_size=3).tasks.count(),
    "comparison": lambda within, model: make_comparison(collection=within, base=model, language="en").pairs.count(),
    "form of comparisons": lambda within, model: max(
        row.images for row in coverage_of(make_project(), within, model, model)
    ),
    "size": lambda within, _model: size_of(within),
    "selection": lambda within, _model: pool_of(within).left_out["no_place"],
}


@pytest.mark.parametrize("kind", NEW_WORK)
def test_new_work_does_not_use_an_image_that_is_left_out(kind, collection):
    make_language("en")
    model = make_captioner(collection)
    assert NEW_WORK[kind](collection, model) == 3
    leave_out(collection)
    assert NEW_WORK[kind](collection, model) == 2


def test_another_caption_is_drawn_to_be_rated():
    round, _authors = make_captioned_round(images=3, captions=1)
    verification = make_verification(round, sample_size=1)
    drawn = verification.verification_tasks.get().caption
    entry = round.collection.entries.get(image=drawn.image_id)
    leave_out(round.collection, entry.position)
    assert fill_verification(round_id=verification.pk) == 1
    assert verification.verification_tasks.count() == 2


def test_a_subset_of_the_same_seed_has_the_same_images_but_those_left_out():
    collection = make_collection(8)
    base, test = (make_captioner(collection, language="de") for _ in range(2))

    def drawn() -> set[int]:
        made = make_comparison(collection=collection, subset=4, base=base, test=test)
        return set(made.pairs.values_list("image", flat=True))

    before = drawn()
    one = collection.entries.filter(image__in=before).order_by("position").first()
    leave_out(collection, one.position)
    assert before - drawn() == {one.image_id}


def test_open_work_goes_on_and_what_is_submitted_is_kept():
    round = make_round(images=3)
    leave_out(round.collection)
    assert submit_captions(round, make_annotator(round)).items.count() == 3
    assert (round.captions.counted().count(), round.captions.in_results().count()) == (3, 2)


def test_a_manager_leaves_an_image_out_with_a_reason_and_counts_it_again(collection):
    client, entry = client_of(collection.project.created_by), collection.entries.first()
    make_round(project=collection.project, collection=collection)
    at = [collection.slug, entry.image.public_id]
    page, image = reverse("dashboard:image-take-out", args=at), reverse("images:collection-image-show", args=at)
    assert "Open rounds and comparisons still give it to people" in text_of(client.get(page))
    assert client.post(page, {"leave-out": "1", "reason": " "}).status_code == 422
    assert not CollectionImage.objects.left_out().exists()
    shown = text_of(client.post(page, {"leave-out": "1", "reason": "A drawing"}, follow=True))
    assert "This image has been left out of results since" in shown
    assert "A drawing" in shown
    assert text_of(client.get(reverse("images:collection-show", args=at[:1]))).count("Left out of results") == 1
    log = AuditEntry.objects.latest("pk")
    assert (log.action, log.details) == ("collection.image-left-out", {"key": entry.key, "reason": "A drawing"})
    client.post(page, {"leave-out": "1", "reason": "Again"})
    assert collection.entries.left_out().get().exclusion_reason == "A drawing"
    client.post(page, {"count": "1"})
    assert AuditEntry.objects.latest("pk").action == "collection.image-counted-again"
    assert "left out of results since" not in client.get(image).text
    assert not collection.entries.left_out().exists()


def test_a_copy_of_the_collection_leaves_it_out_too_and_other_collections_do_not(collection):
    other = duplicate_collection(collection=collection, name="Other", by=collection.project.created_by, now=NOW)
    leave_out(collection)
    copy = duplicate_collection(collection=collection, name="Copy", by=collection.project.created_by, now=NOW)
    left_out = CollectionImage.objects.left_out()
    assert [left_out.filter(collection=one).count() for one in (collection, copy, other)] == [1, 1, 0]


PAGES = {
    "annotation": ("quality-show", "statistics-show", "project-show"),
    "scoring": ("score-list", "score-compare"),
    "sxs_eval": ("results-show", "metrics-show"),
}


def test_pages_of_figures_say_how_many_images_are_left_out():
    round, _authors = make_captioned_round(images=3)
    project, collection = round.project, round.collection
    comparison = make_comparison(project=project, collection=collection)
    scorings = [make_scoring_of(comparison, model) for model in (comparison.base, comparison.test)]
    client = client_of(project.created_by)
    pages = [reverse(f"{app}:{name}", args=[project.slug]) for app, names in PAGES.items() for name in names]
    pages += [reverse("sxs_eval:comparison-show", args=[project.slug, comparison.pk])]
    pages += [reverse("scoring:scoring-show", args=[project.slug, scorings[0].pk])]
    leave_out(collection)
    said = {page: text_of(client.get(page)).count("1 image is left out of results.") for page in pages}
    assert said == dict.fromkeys(pages, 1)


def make_scoring_of(comparison: Comparison, model: Any) -> Scoring:
    references = comparison.project.reference_sets.first() or make_references(
        project=comparison.project, collection=comparison.collection
    )
    scoring = make_scoring(references, model=model)
    run(scoring)
    return scoring
