"""ΔSxS beside the difference of a metric: the page, its files, and the command that reads them."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.core.cache import cache
from django.urls import reverse

from crosslens_metrics.reports.correlations import correlations_of
from research.inference.models import ModelCaption
from sxs_eval.formats import metric_gains as downloads
from sxs_eval.models import Judgement
from tests.commands import output_of
from tests.factories import make_captioner, make_collection, make_comparison, make_project
from tests.scoring.scored import make_references, make_scoring, run
from tests.sxs_eval.judged import column_of, judged_once, text_of

pytestmark = pytest.mark.django_db

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
    return client.get(reverse("sxs_eval:metrics-show", args=["lions"]), asked)


def exported(client, layout, **asked):
    return client.get(reverse("sxs_eval:metrics-export", args=["lions", layout]), asked).content


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
    assert "B against A, German: people +50.0, metric +" in shown["plot"].summary
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
    report = json.loads(output_of("correlate", file, *chosen, "--json"))
    said = json.loads(exported(manager, "json"))["correlations"]["rouge-l" if flip else "rouge-l --no-flip"]
    assert report["parts"] == said["parts"]
    shown = page(manager, metric="rouge-l", flip="yes" if flip else "no").context["page"]["correlations"]
    (everything, *_others) = said["parts"].values() if isinstance(said["parts"], dict) else said["parts"]
    value = f"{everything['metrics']['rouge-l']['pearson']['value']:+.2f}".replace("-", "−")
    assert column_of(shown, "Pearson")[0].split()[0] == value


@pytest.mark.long(reason="at least three others run each of its lines")
def test_resamples_are_drawn_again_only_where_something_changed(manager, scored, monkeypatch):
    drawn = []

    def drawing(table, **about):
        drawn.append(about["flip"])
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
