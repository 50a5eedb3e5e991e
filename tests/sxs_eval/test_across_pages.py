"""All comparisons on one page: pooled, ranked, how many images more it takes; and ΔSxS beside metrics."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.core.cache import cache
from django.urls import reverse

from core.people.models import Project
from crosslens_metrics.reports.comparison_figures import UndefinedComparison
from crosslens_metrics.reports.correlations import correlations_of
from crosslens_metrics.sampling.intervals import Interval
from crosslens_metrics.undefined import UndefinedReason
from research.inference.models import ModelCaption
from sxs_eval.formats import metric_gains as downloads
from sxs_eval.formats.figure_tables import TableLayout, table
from sxs_eval.models import Judgement, RaterState, RaterStatus
from tests.clients import client_of
from tests.commands import output_of
from tests.factories import NOW, make_captioner, make_collection, make_comparison, make_project
from tests.scoring.scored import make_references, make_scoring, run
from tests.sxs_eval.judged import column_of, judged_once, report, results, text_of
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


def test_without_any_score_the_file_of_metrics_has_evaluations_and_no_correlations():
    project, collection = make_project("lions"), make_collection(4)
    base, test = (make_captioner(collection, f"m{n}", language="de") for n in range(2))
    judged_once(project, collection, base, test, [2, 2, 2, -2])
    client = client_of(project.created_by)
    content = client.get(reverse("sxs_eval:metrics-export", args=["lions", "json"])).json()
    assert (content["correlations"], len(content["evaluations"])) == (None, 1)
    assert client.get(reverse("sxs_eval:metrics-show", args=["lions"])).status_code == 200


def test_the_same_models_the_other_way_round_are_turned_and_another_scale_is_pooled_apart():
    project, collection = make_project("lions"), make_collection(4)
    base, test = (make_captioner(collection, f"m{n}", language="de") for n in range(2))
    for seed, pair in enumerate([(base, test), (test, base), (base, test)]):
        scores = [2, 2, 2, -2] if pair[0] == base else [-2, -2, -2, 2]
        judged_once(project, collection, *pair, scores, seed=seed, scale=5 if seed == 2 else 7)
    (pooled,) = results(project).pooled
    assert (pooled.base, pooled.test, len(pooled.comparisons)) == ("m0", "m1", 2)
    assert (pooled.wins, pooled.losses) == (6, 2)


def test_figures_side_by_side_say_in_what_they_differ(made_once):
    project = made_once(make_compared_models)
    assert "should not be compared" not in shown(project)
    french = project.comparisons.get(language="fr")
    french.gold_percent, french.failures_percent, french.checks_before_pause = 10, 30, 20
    french.save()
    found, text = results(project), shown(project)
    said = (
        "these should not be compared, because they differ in gold pairs per 100 pairs: 10 against 0; failures in "
        "percent / attention items after which raters are paused: 30/20 against not given."
    )
    assert f"Gains: {said}" in text
    assert f"m1 against m0, French, German: {said}" in text
    assert f"Comparisons in this ranking: {said}" in text
    (pooled,), (component,) = found.pooled, found.ranking.components
    assert "|of:sxs-majority/2|" in str(pooled.signature)
    assert "|gold:0+10|repeats:0|pause:30/20+none|instructions:1|instructions-in:original|complete:12|" in str(
        pooled.signature
    )
    assert str(component.signature).startswith("bradley-terry|v:4|prior:1.0|raters:4|comparisons:4|")
    assert str(component.signature) in text
    lines = table(found, TableLayout.TEX).splitlines()
    assert (
        sum(line.startswith("% rows should not be compared, because they differ in gold pairs") for line in lines) == 1
    )
    assert sum(": its comparisons differ in gold pairs" in line for line in lines) == 1
    signatures = [row["signature"] for row in csv.DictReader(io.StringIO(table(found, TableLayout.CSV)))]
    own = [str(report(row.comparison).signature) for row in found.results]
    assert signatures == [*own, str(pooled.signature)]


def test_instructions_in_another_language_keep_figures_apart_and_images_still_to_come_do_not(made_once):
    project = made_once(make_compared_models)
    french = project.comparisons.get(language="fr")
    french.batches.update(instructions_language="fr")
    said = "they differ in languages of the instructions: fr against original."
    assert shown(project).count(said) == 3, "Of the gains, of those pooled and of the ranking."
    assert "|instructions:1|instructions-in:fr|complete:6|similar:0|set-aside:0|raters:1|" in str(
        report(french).signature
    )
    french.batches.update(instructions_language="")
    Judgement.objects.filter(comparison=french).first().delete()
    found, text = results(project), shown(project)
    assert (found.unlike, found.pooled[0].unlike, found.ranking.components[0].unlike) == ([], (), ())
    assert "should not be compared" not in text
    assert text.count("these gains are not all over the same images yet") == 1
    assert "not all over the same images yet" in table(found, TableLayout.TEX)


class TestAcross:
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
        assert "LOSSES p-value Outcomes Images " in text
        assert "66.7% 16.7% 0.3750 6 6 6 incomplete 6 set aside" in text
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
        assert UndefinedComparison(UndefinedReason.FEW_WINS) in separable
        text = shown(project)
        assert "Fewer than 5 wins either way link it with the others" in text
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


ANSWERS = {
    ("A", "B", "de"): [3, 3, -3, 2, 0, 1],
    ("A", "B", "es"): [1, -1, -3, 2, 0, 1],
    ("A", "C", "de"): [3, 1, 2, 2, 0, 1],
    ("A", "C", "es"): [-1, -1, -2, 2, 0, 1],
    ("B", "C", "de"): [1, 1, -2, -2, 0, 1],
}
SAID = {"A": "ein Hund", "B": "ein Hund auf der Wiese", "C": "ein Hund läuft heute über die grüne Wiese"}
"""The nearer a caption is to the references, the longer it is."""
PEOPLE = "ein Hund läuft heute über die grüne Wiese am Wald"


def make_judged():
    """Three models in German and Spanish, all but one pair of which are compared."""
    project, collection = make_project("lions"), make_collection(6)
    models = {name: make_captioner(collection, name, text=text, language="de") for name, text in SAID.items()}
    for name, model in models.items():
        ModelCaption.objects.bulk_create(
            ModelCaption(model=model, image_id=entry.image_id, language_id="es", text=f"{SAID[name]} de {entry.key}")
            for entry in collection.entries.all()
        )
    for (base, test, language), scores in ANSWERS.items():
        judged_once(project, collection, models[base], models[test], scores, language=language)
    return project, collection, models


def make_scored():
    project, collection, judged = make_judged()
    for language in ("de", "es"):
        references = make_references(project=project, collection=collection, language=language, texts=[PEOPLE])
        for model in judged.values():
            run(make_scoring(references, model=model, metrics=["rouge-l"]))
    return project, collection, judged


@pytest.fixture
def judged(made_once):
    """The project, the collection, and the models that are compared."""
    return made_once(make_judged)


@pytest.fixture
def scored(made_once):
    return made_once(make_scored)


@pytest.fixture
def manager(client, request):
    made = request.getfixturevalue("scored" if "scored" in request.fixturenames else "judged")
    client.force_login(made[0].created_by)
    return client


def page(client, **asked):
    return client.get(reverse("sxs_eval:metrics-show", args=["lions"]), {"min_images": 0} | asked)


def exported(client, layout, **asked):
    return client.get(reverse("sxs_eval:metrics-export", args=["lions", layout]), {"min_images": 0} | asked).content


def test_the_reference_set_is_chosen_on_the_page_and_in_its_files(manager, scored):
    project, collection, models = scored
    silver = make_references(project=project, collection=collection, name="Silver", texts=["ein Hund"])
    for model in models.values():
        run(make_scoring(silver, model=model, metrics=["rouge-l"]))
    shown = {name: page(manager, references=name) for name in ("", "People", "Silver")}

    cells = {name: column_of(one.context["page"]["table"], "difference") for name, one in shown.items()}
    signs = {name: [text[0] for text in some if text] for name, some in cells.items()}
    assert signs == {"": ["+"] * 5, "People": ["+"] * 5, "Silver": ["−"] * 3}
    assert '<option value="Silver" dir="auto" selected>' in shown["Silver"].content.decode()
    rows = json.loads(exported(manager, "json", references="Silver"))["evaluations"]
    assert {row["language"]: row["references"] for row in rows} == {"de": "Silver", "es": ""}
    table = csv.DictReader(io.StringIO(exported(manager, "csv", references="Silver").decode("utf-8-sig")))
    assert [row["references"] for row in table] == [row["references"] for row in rows]
    assert page(manager, references="Gold").status_code == 404


@pytest.mark.long(reason="at least three others run each of its lines")
def test_each_comparison_is_a_point_and_correlations_stand_over_the_core_languages_and_the_others(manager, scored):
    shown = page(manager, metric="rouge-l").context["page"]
    assert len(shown["plot"]["points"]) == len(ANSWERS)
    assert sorted(point["kind"] for point in shown["plot"]["points"]) == ["core", "core", "rest", "rest", "rest"]
    places = zip(column_of(shown["table"], "models"), column_of(shown["table"], "language"), strict=True)
    german = list(places).index(("B against A\n", "German"))
    # Four wins and one loss of six.
    assert column_of(shown["table"], "gain")[german] == "+50.0"
    assert column_of(shown["table"], "difference")[german].startswith("+")
    assert "B against A, German: people +50.0, metric +" in shown["plot"]["summary"]
    assert column_of(shown["correlations"], "evaluations") == ["5", "2", "3"]
    assert column_of(shown["correlations"], "points") == ["10", "4", "6"]
    once = page(manager, metric="rouge-l", flip="no").context["page"]
    assert column_of(once["correlations"], "points") == ["5", "2", "3"]
    assert column_of(once["correlations"], "Pearson")[0] != column_of(shown["correlations"], "Pearson")[0]


@pytest.mark.parametrize("flip", [True, False])
def test_the_command_reads_the_file_and_gives_the_same_figures(manager, scored, tmp_path, flip):
    file = tmp_path / "metrics.csv"
    file.write_bytes(exported(manager, "csv"))
    chosen = ("--human=gain", "--metric=rouge-l", "--group=language=zh,en,hi,es", *([] if flip else ["--no-flip"]))
    report = json.loads(output_of("correlate", file, *chosen, "--min-images=0", "--json"))
    asked = {"flip": "yes" if flip else "no"}
    said = json.loads(exported(manager, "json", **asked))["correlations"]
    assert report == said
    shown = page(manager, metric="rouge-l", **asked).context["page"]["correlations"]
    everything = said["parts"][0]
    value = f"{everything['metrics']['rouge-l']['pearson']['value']:+.2f}".replace("-", "−")
    assert column_of(shown, "Pearson")[0].split()[0] == value


def test_comparisons_of_few_images_or_chosen_by_the_metric_are_no_points_unless_asked_for(manager, scored):
    project, _collection, _models = scored
    few = text_of(page(manager, metric="rouge-l", min_images=30))
    assert few.count("No point: fewer than 30 images judged.") == len(ANSWERS)
    assert "5 comparisons are no points: the table says why." in few
    first, second, *_others = project.comparisons.order_by("pk")
    for comparison, chosen_by in ((first, "rouge-l"), (second, "*")):
        comparison.chosen_by = chosen_by
        comparison.save()
    text = text_of(page(manager, metric="rouge-l"))
    assert "chosen by ROUGE-L" in text
    assert "chosen by scores" in text
    assert text.count("No point: it was planned because of these scores.") == 2
    plots = [page(manager, metric="rouge-l", **asked).context["page"]["plot"] for asked in ({}, {"with_chosen": "on"})]
    assert [len(plot["points"]) for plot in plots] == [len(ANSWERS) - 2, len(ANSWERS)]
    rows = list(csv.DictReader(io.StringIO(exported(manager, "csv").decode("utf-8-sig"))))
    assert [row["chosen_by"] for row in rows] == ["rouge-l", "*", "", "", ""]


def test_rows_of_the_file_have_a_signature_of_what_they_are_from(manager, scored):
    project, collection, _models = scored
    rows = json.loads(exported(manager, "json"))["evaluations"]
    start = (
        f"sxs-majority|v:2|replication:1|scale:7|collection:{collection.slug}|drawn:all|images:all|equal:shown|gold:0"
    )
    assert all(row["signature"].startswith(start) for row in rows)
    assert len({row["signature"] for row in rows if row["language"] == "de"}) == 1
    comparison = project.comparisons.get(base__name="A", test__name="B", language="de")
    comparison.subset = 6
    comparison.save()
    signatures = [row["signature"] for row in json.loads(exported(manager, "json"))["evaluations"]]
    assert sum("|drawn:6|" in signature for signature in signatures) == 1
    assert all(row["rouge-l_signature"].startswith("rouge-l|v:1|") for row in rows)
    assert {row["rouge-l_references"] for row in rows} == {"People"}


def test_the_page_says_what_its_intervals_hold_for_and_which_references_were_used(manager, scored):
    text = text_of(page(manager, metric="rouge-l"))
    assert "Scored against these references: People." in text
    assert "generalises to other models like these, with these 2 languages (jackknife with Student’s t)" in text
    assert "2 degrees of freedom" in text
    assert "over comparisons" in text
    assert page(manager, metric="rouge-l", min_images="x").status_code == 200


@pytest.mark.long(reason="at least three others run each of its lines")
def test_resamples_are_drawn_again_only_where_something_changed(manager, scored, monkeypatch):
    drawn = []

    def drawing(table, **about):
        drawn.append(about["rules"].flip)
        return correlations_of(table, **about)

    cache.clear()
    monkeypatch.setattr(downloads, "correlations_of", drawing)
    first, again = (page(manager).context["page"]["correlations"].rows for _time in range(2))
    assert first == again
    assert drawn == [True]
    page(manager, flip="no")
    assert drawn == [True, False]
    Judgement.objects.filter(score=-3).delete()
    assert page(manager).context["page"]["correlations"].rows != first
    assert drawn == [True, False, True]


def test_a_comparison_without_scores_or_judgements_says_what_lacks(manager, scored):
    project, collection, models = scored
    model = make_captioner(collection, "D", language="de")
    make_comparison(project=project, collection=collection, base=models["B"], test=model, language="de")
    judged_once(project, collection, models["A"], model, [1] * 6)
    text = text_of(page(manager))
    assert "A and D have no scores against the same references." in text
    assert "No image has all its judgements yet." in text
    assert len(page(manager).context["page"]["plot"]["points"]) == len(ANSWERS)


def test_scores_that_were_not_computed_alike_are_no_point(manager, judged):
    project, collection, models = judged
    references = make_references(project=project, collection=collection, texts=[PEOPLE])
    for model in models.values():
        run(make_scoring(references, model=model, metrics=["rouge-l"]))
    score = references.scorings.get(model=models["A"]).passes.get().scores.get()
    score.signature = score.signature.replace("v:1", "v:0")
    score.save()
    text = text_of(page(manager))
    assert "scored differently (versions of the metric: 1 against 0" in text
    assert len(page(manager).context["page"]["plot"]["points"]) == 1


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_project_without_scores_says_what_it_takes(manager):
    for asked in ({}, {"metric": "nothing"}, {"flip": "x"}):
        assert "You need judged comparisons, and automatic scores" in text_of(page(manager, **asked))
