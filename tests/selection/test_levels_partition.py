"""The four levels of a selection share out its images: every figure's counts add up to those over all of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields

import pytest

from annotation.models import Round
from annotation.selectors.image_uses import progress_over
from annotation.selectors.statistics import project_statistics
from crosslens_metrics.caption_stats import CaptionStatistics
from research.scoring.models import Scoring
from research.scoring.selectors.restricting import by_level, restricted_figures, restriction
from research.scoring.selectors.scores import score_cells
from research.scoring.selectors.significance import paired_result
from research.selection.models import PlaceLevelChoice
from research.selection.rules.image_filters import ALL_IMAGES, ImageFilter, parse
from sxs_eval.models import Comparison
from sxs_eval.selectors.across import results_of
from sxs_eval.selectors.evidence import evidence_of
from sxs_eval.selectors.results import decided_of, level_outcomes
from tests.annotation.submitting import make_captions
from tests.factories import make_captioner, make_comparison, make_project, make_rater, make_round
from tests.scoring.scored import make_references, make_scorings, run
from tests.selection.placing import choose
from tests.sxs_eval.judged import judge_all, keys_of

pytestmark = pytest.mark.django_db

PER_LEVEL = {
    PlaceLevelChoice.REGION: 4,
    PlaceLevelChoice.COUNTRY: 3,
    PlaceLevelChoice.CONTINENT: 2,
    PlaceLevelChoice.ANYWHERE: 1,
}
IMAGES = sum(PER_LEVEL.values())


@dataclass(frozen=True)
class Evaluated:
    """A project with captions by people, two scored models, and a comparison of both, all of the same images."""

    round: Round
    test: Scoring
    base: Scoring
    comparison: Comparison

    def counts(self, images: ImageFilter) -> Counter[str]:
        """Everything that is counted over some images, by what it is."""
        project = self.round.project
        counts: Counter[str] = Counter()
        for _, statistics in project_statistics(project, images):
            for field in fields(CaptionStatistics):
                counts[f"statistics {field.name}"] += getattr(statistics, field.name)
        (progress,) = progress_over([self.round], images, project=project)
        counts += Counter(images=progress.images, wanted=progress.wanted, done=progress.done)
        for cell in restricted_figures(score_cells(project), project=project, filter=images):
            counts[f"scores {cell.model} {cell.metric}"] += cell.images
        only = None if images.is_all else restriction(images, project=project)
        paired = paired_result(
            test=self.test, base=self.base, metric="cider-d", method="bootstrap", resamples=20, only=only
        )
        assert paired is not None
        counts["significance"] = paired.images
        evidence = evidence_of([self.comparison], images)[self.comparison.pk]
        signs = Counter(decided_of(self.comparison, evidence).outcome.tolist())
        counts += Counter(wins=signs[1], losses=signs[-1], ties=signs[0])
        (result,) = results_of(project, filter=images).results
        counts += Counter(decided=result.images, incomplete=result.incomplete)
        return counts


@pytest.fixture
def evaluated() -> Evaluated:
    project = make_project("lions")
    round = make_round(project=project, images=IMAGES, language="bn")
    collection, images = round.collection, [task.image for task in round.tasks.order_by("pk").select_related("image")]
    make_captions(round, {image.pk: ["eins zwei"] * (1 + number % 3) for number, image in enumerate(images[:-1])})
    models = [make_captioner(collection, text, text=f"{text} caption", language="bn") for text in ("base", "test")]
    scorings = make_scorings(make_references(project=project, collection=collection, language="bn"), models)
    for scoring in scorings:
        run(scoring)
    base, test = models
    comparison = make_comparison(
        project=project, collection=collection, base=base, test=test, language="bn", replication=1
    )
    scores = dict(zip(keys_of(comparison)[1:], [1, -1, 0] * IMAGES, strict=False))
    judge_all(comparison, make_rater(comparison), scores)
    levels = [level for level, number in PER_LEVEL.items() for _ in range(number)]
    choose(project, "bn", dict(zip(images, levels, strict=True)))
    scoring_of = {scoring.model_id: scoring for scoring in scorings}
    return Evaluated(round, test=scoring_of[test.pk], base=scoring_of[base.pk], comparison=comparison)


def test_what_is_counted_over_the_levels_adds_up_to_what_is_counted_over_all_images(evaluated) -> None:
    by = {level: evaluated.counts(parse(f"level:{level}")) for level in PlaceLevelChoice.values}
    whole = evaluated.counts(ALL_IMAGES)
    assert sum(by.values(), Counter()) == +whole
    assert evaluated.counts(parse("chosen")) == whole
    assert {level: counts["images"] for level, counts in by.items()} == PER_LEVEL
    assert {level: counts["significance"] for level, counts in by.items()} == PER_LEVEL
    assert (whole["images"], whole["significance"], whole["decided"]) == (IMAGES, IMAGES, IMAGES - 1)
    assert min(whole[outcome] for outcome in ("wins", "losses", "ties")) == 3


def test_tables_by_level_have_each_image_once(evaluated) -> None:
    project = evaluated.round.project
    rows = by_level(score_cells(project, scorings=[evaluated.test.pk]), project=project)
    assert [row.images for row in rows] == list(PER_LEVEL.values())
    outcomes = level_outcomes(evaluated.comparison, evidence_of([evaluated.comparison])[evaluated.comparison.pk])
    assert sum(part.outcome.images.denominator for part in outcomes) == IMAGES - 1
