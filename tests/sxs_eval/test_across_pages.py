"""All comparisons of a project on one page: pooled, ranked, and how many images more it takes."""

from __future__ import annotations

import pytest
from django.urls import reverse

from core.people.models import Project
from crosslens_metrics.intervals import Interval
from crosslens_metrics.reports.comparison_figures import UndefinedComparison
from crosslens_metrics.undefined import UndefinedReason
from sxs_eval.models import RaterState, RaterStatus
from tests.clients import client_of
from tests.factories import NOW, make_captioner, make_collection, make_comparison, make_project
from tests.sxs_eval.judged import judged_once, report, results, text_of
from tests.sxs_eval.planning import describe
from tests.tiers import some

pytestmark = pytest.mark.django_db


def make_compared_models() -> Project:
    """Three models in German, two of them in French too, over the same images."""
    project, collection = make_project("lions"), make_collection(6)
    german = [make_captioner(collection, f"m{n}", language="de", text=f"m{n} sagt") for n in range(3)]
    for model in german[:2]:
        describe(collection, model.name, "fr", images=6)
    answers = {
        (0, 1, "de"): [3, 3, -3, 2, 0, 1],
        (0, 1, "fr"): [3, -1, -3, 2, 0, 1],
        (1, 2, "de"): [1, -1, 2, -2, 1, -3],
        (0, 2, "de"): [1, 1, 2, -2, 1, 3],
    }
    for (base, test, language), scores in answers.items():
        judged_once(project, collection, german[base], german[test], scores, language=language)
    return project


def shown(project: Project, **asked: str) -> str:
    response = client_of(project.created_by).get(reverse("sxs_eval:results-show", args=["lions"]), asked)
    assert response.status_code == 200
    return text_of(response)


class TestAcross:
    @pytest.fixture(autouse=True)
    def _few_resamples(self, monkeypatch):
        monkeypatch.setattr("crosslens_metrics.reports.comparisons.RANKING_RESAMPLES", 100)

    @pytest.fixture
    def project(self, made_once) -> Project:
        return made_once(make_compared_models)

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_results_have_the_figures_of_each_report_pooled_over_languages_and_the_images_needed(self, project):
        found = results(project)
        for result in found.results:
            own = report(result.comparison)
            outcome = own.outcome
            assert (result.images, result.incomplete) == (outcome.images.denominator, outcome.images.incomplete)
            assert (result.wins, result.losses) == (outcome.wins.count, outcome.losses.count)
            assert (result.percent(result.wins), result.gain) == (outcome.wins.percent, outcome.gain)
            assert result.sign_test == outcome.sign_test
            assert result.alpha == (own.alpha if isinstance(own.alpha, UndefinedComparison) else own.alpha.value)
        (pooled,) = found.pooled
        assert (pooled.base, pooled.test) == ("m0", "m1")
        # German: four wins, one loss of six; French: three wins, two losses of six.
        assert (pooled.wins, pooled.losses, pooled.outcomes) == (7, 3, 12)
        assert pooled.images == 6
        assert pooled.gain.points == pytest.approx(100 * 4 / 12)
        wide, narrow = found.results[0].images_needed, results(project, width_points=5).results[0].images_needed
        assert narrow == pytest.approx(4 * wide, abs=4)

    def test_pooled_figures_say_what_they_are_of_and_what_lacks_judgements(self, project):
        french = project.comparisons.get(language="fr")
        rater = french.judgements.earliest("pk").person
        RaterStatus.objects.create(comparison=french, person=rater, state=RaterState.PAUSED, paused_at=NOW)
        (pooled,) = results(project).pooled
        assert (pooled.outcomes, pooled.incomplete, pooled.set_aside) == (6, 6, 6)
        text = shown(project).split("Pooled")[1]
        assert "LOSSES p-value Outcomes Images Incomplete Set aside" in text
        assert "66.7% 16.7% 0.3750 6 6 6 6" in text
        # French has no outcome left, so the figures are of German alone.
        assert "German" in text.split("66.7%")[0]
        assert "French" not in text.split("66.7%")[0]
        assert [part.language_id for part in pooled.comparisons] == ["de"]

    def test_the_page_has_gains_ranking_and_sizes_also_of_one_language_alone(self, project):
        text = shown(project)
        assert "m1 against m0 German +50.0" in text
        assert "m1 against m0 German, French +33.3" in text or "m1 against m0 French, German +33.3" in text
        assert "Stronger" in text
        assert "m2" in text.split("Strengths")[1]
        assert "± 5.0 points" in text
        text = shown(project, language="fr")
        assert "m1 against m0 French" in text
        assert "m1 against m0 German" not in text
        assert "A ranking needs at least three models" in text

    @pytest.mark.parametrize(
        "points", some(["2.5", "0", "nan", "x", "1e9", "-1", ""], short=3, reason="refused by the same field")
    )
    def test_a_width_that_cannot_be_is_said_and_the_usual_one_taken(self, project, points):
        text = shown(project, points=points, language="fr")
        assert ("± 2.5 points" if points == "2.5" else "± 5.0 points") in text

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_a_comparison_without_judgements_does_not_spoil_the_ranking(self, project):
        collection = make_collection(1)
        make_comparison(project=project, collection=collection)
        (component,) = results(project).ranking.components
        assert len(component.models) == 3

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_the_ranking_has_intervals_or_says_why_not_and_calls_no_such_pair_inseparable(self, project):
        (component,) = results(project).ranking.components
        assert [model.model for model in component.models][-1] == "m0"
        assert all(isinstance(model.interval, Interval | UndefinedComparison) for model in component.models)
        separable = [pair.separable for pair in component.pairs]
        assert UndefinedComparison(UndefinedReason.RESAMPLES_UNDEFINED) in separable
        text = shown(project)
        assert "There are too few images: the figure is undefined" in text
        assert text.count("not separable") == separable.count(False)

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_a_comparison_that_no_other_touches_has_a_ranking_of_its_own(self, project):
        collection = make_collection(3)
        loner, winner = (make_captioner(collection, name, language="de", text=name) for name in ("loner", "winner"))
        judged_once(project, collection, loner, winner, [3, 3, 3])
        text = shown(project)

        assert "The models fall into groups that were never compared with each other" in text
        ours, theirs = text.split("Strengths")[1:]
        assert "m0" in ours
        assert "winner +0.97 never lost" in theirs
        assert "loner -0.97 never won" in theirs.replace("−", "-")
        assert "One side won every image, so the judgements cannot say how large the lead is." in theirs
