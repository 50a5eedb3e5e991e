"""What managers and researchers set up by the API: languages, pilots, verifications, comparisons, scorings, runs."""

from __future__ import annotations

import pytest

from annotation.models import Round, RoundKind
from research.inference.models import ModelCaption
from research.scoring.models import Scoring
from sxs_eval.models import Comparison
from tests.api.seeded import Program, Seeded, make_seeded
from tests.api.test_work import address, code
from tests.factories import make_captioner, make_collection, make_language
from tests.scoring.scored import make_references

pytestmark = pytest.mark.django_db


@pytest.fixture
def seeded(made_once) -> Seeded:
    return made_once(make_seeded)


@pytest.fixture
def mia(seeded: Seeded) -> Program:
    return Program(seeded.manager)


@pytest.fixture
def _two_models(seeded: Seeded) -> None:
    """Both describe the images of a collection in German and French."""
    collection = make_collection(4, project=seeded.project)
    type(collection).objects.filter(pk=collection.pk).update(slug="zoo")
    for name in ("blip", "git"):
        model = make_captioner(collection, name=name, text=name, language="de")
        ModelCaption.objects.bulk_create(
            ModelCaption(model=model, image_id=entry.image_id, language_id="fr", text=f"{name} de {entry.key}")
            for entry in collection.entries.all()
        )
    for language in ("de", "fr"):
        make_references(project=seeded.project, collection=collection, language=language)


def test_a_language_is_added_as_on_the_page(seeded, mia):
    make_language("pl")
    collection = seeded.main.collection.slug
    sent = {"collection": collection, "languages": ["pl"], "replication": 3, "pilot_images": 2}
    answer = mia.post(address("language-list", "lions"), **sent)
    assert answer.status_code == 202, answer.json()
    (made,) = answer.json()["results"]
    assert (made["language"], made["kind"], made["replication"]) == ("pl", "pilot", 3)
    assert mia.get(answer["Location"]).json()["results"] == [address("round-show", "lions", made["id"])]
    again = mia.post(address("language-list", "lions"), **sent)
    assert code(again) == (422, "invalid")
    assert list(again.json()["errors"]) == ["languages"]


def test_languages_are_estimated_as_on_the_page_and_nothing_is_stored(seeded, mia):
    make_language("pl")
    rounds = Round.objects.count()
    sent = {"collection": seeded.main.collection.slug, "languages": ["pl"], "pilot_images": 2}
    sent |= {"replications": {"pl": 3}, "rate": 12.5, "currency": "EUR"}
    answer = mia.post(address("languages-estimate", "lions"), **sent)
    assert answer.status_code == 200, answer.json()
    said = answer.json()
    (polish,) = said["languages"]
    assert (said["currency"], polish["language"], polish["caption_basis"]) == ("EUR", "pl", "assumed")
    assert polish["captions"] == said["total"]["captions"] == 3 * said["images"] + 3 * 2
    assert polish["cost"] == said["total"]["cost"] == f"{12.5 * polish['hours']:.2f}"
    assert Round.objects.count() == rounds
    refused = mia.post(address("languages-estimate", "lions"), **sent | {"currency": ""})
    assert list(refused.json()["errors"]) == ["currency"]
    for unknown in ("99999999999999999999", "999", "x"):
        refused = mia.post(address("languages-estimate", "lions"), **sent | {"captioners": [unknown]})
        assert list(refused.json()["errors"]) == ["captioners"]
    assert code(Program(seeded.ann).post(address("languages-estimate", "lions"), **sent)) == (404, "not-found")


def test_a_verification_is_planned_and_settings_not_sent_stay_as_they_are(seeded, mia):
    mia.post(address("round-step", "lions", seeded.main.pk, "close"), assigned="let-finish")
    answer = mia.post(address("verification-plan", "lions", seeded.main.pk), sample_size=2)
    assert code(answer) == (409, "step-refused")
    before = mia.get(address("round-show", "lions", seeded.main.pk)).json()
    changed = mia.patch(address("round-show", "lions", seeded.main.pk), batch_size=7).json()
    assert changed == before | {"batch_size": 7}


def test_a_pilot_is_planned_in_a_language_that_has_had_one(seeded, mia):
    refused = mia.post(address("pilot-plan", "lions", "fr"), sample_size=99)
    assert list(refused.json()["errors"]) == ["sample_size"]
    pilot = Round.objects.get(kind=RoundKind.PILOT, language="fr")
    assert code(mia.post(address("pilot-plan", "lions", "fr"), sample_size=1)) == (409, "step-refused")
    mia.post(address("round-step", "lions", pilot.pk, "close"), assigned="let-finish")
    assert mia.post(address("pilot-plan", "lions", "xx")).status_code == 404


@pytest.mark.usefixtures("_two_models")
def test_models_are_compared_in_all_languages_that_both_have_or_in_those_named(seeded, mia):
    models = {row["name"]: row["id"] for row in mia.all_of(address("model-list"))}
    sent = {"collection": "zoo", "base": models["blip"], "test": models["git"], "seed": 1}
    wrong = mia.post(address("comparison-list", "lions"), **sent, languages=["xx"])
    assert wrong.json()["errors"] == {"languages": ["Valid values: de, fr."]}
    one = mia.post(address("comparison-list", "lions"), **sent, languages=["fr"])
    assert one.status_code == 202, one.json()
    both = mia.post(address("comparison-list", "lions"), **sent)
    assert ([row["language"] for row in both.json()["results"]], both.json()["already"]) == (["de"], ["fr"])
    (made,) = both.json()["results"]
    where = address("comparison-show", "lions", made["id"])
    assert mia.post(f"{where}leave-out/", reason="Wrong models.").json()["exclusion_reason"] == "Wrong models."
    assert mia.post(f"{where}count/").json()["excluded_at"] is None
    assert mia.delete(where).status_code == 204
    assert Comparison.objects.get().language_id == "fr"


@pytest.mark.usefixtures("_two_models")
def test_models_that_a_metric_chose_are_compared_with_its_mark(seeded, mia):
    models = {row["name"]: row["id"] for row in mia.all_of(address("model-list"))}
    sent = {"collection": "zoo", "base": models["blip"], "test": models["git"], "seed": 1}
    wrong = mia.post(address("comparison-list", "lions"), **sent, chosen_by="taste")
    assert list(wrong.json()["errors"]) == ["chosen_by"]
    for language, chosen_by in (("fr", "cider-d"), ("de", "*")):
        about = {"languages": [language], "chosen_by": chosen_by}
        (made,) = mia.post(address("comparison-list", "lions"), **sent, **about).json()["results"]
        assert made["chosen_by"] == Comparison.objects.get(pk=made["id"]).chosen_by == chosen_by


@pytest.mark.usefixtures("_two_models")
def test_all_models_are_scored_in_all_languages_by_one_request(seeded, mia):
    answer = mia.post(address("score-list", "lions"), metrics=["cider"])
    assert answer.status_code == 202, answer.json()
    made = {(row["model"], row["language"]) for row in answer.json()["results"]}
    assert made == {(name, language) for name in ("blip", "git") for language in ("de", "fr")}
    assert len(mia.get(answer["Location"]).json()["results"]) == 4
    wrong = mia.post(address("score-list", "lions"), metrics=["cider"], languages=["xx"])
    assert wrong.json()["errors"] == {"languages": ["Valid values: de, fr."]}
    french = mia.post(address("score-list", "lions"), metrics=["rouge-l"], languages=["fr"]).json()["results"]
    assert {row["language"] for row in french} == {"fr"}
    again = mia.post(address("score-again", "lions", french[0]["id"]))
    assert again.status_code == 202
    assert mia.delete(address("score-show", "lions", french[0]["id"])).status_code == 204
    assert Scoring.objects.count() == 3


def test_a_project_is_started_by_its_name_and_by_managers_alone(seeded, mia):
    made = mia.post(address("project-list"), name="Tigers")
    assert (made.status_code, made.json()["slug"], made.json()["roles"]) == (201, "tigers", ["manager"])
    assert code(Program(seeded.ann).post(address("project-list"), name="Bears")) == (403, "not-allowed")


@pytest.mark.usefixtures("_two_models")
def test_references_become_an_evaluation_set_and_are_removed(seeded, mia):
    one, other = mia.all_of(address("reference-list", "lions"))
    where = address("reference-show", "lions", one["id"])
    changed = mia.patch(where, is_evaluation=True).json()
    assert changed["is_evaluation"] is True
    assert mia.delete(where).status_code == 204
    refused = mia.post(address("references-translate", "lions", other["id"]), languages=["fr"], translator=1)
    assert list(refused.json()["errors"]) == ["translator"]
    assert code(mia.post(address("reference-again", "lions", other["id"]))) == (409, "references-refused")


def test_what_cannot_be_set_now_is_refused(seeded, mia):
    mia.post(address("round-step", "lions", seeded.main.pk, "close"), assigned="let-finish")
    refused = mia.patch(address("round-show", "lions", seeded.main.pk), is_open=True)
    assert refused.json()["errors"] == {"is_open": ["This cannot be set here."]}


@pytest.mark.usefixtures("_two_models")
def test_images_without_references_stand_for_themselves(seeded, mia):
    where = address("reference-list", "lions")
    assert list(mia.post(where, collection="zoo", language="xx").json()["errors"]) == ["language"]
    made = mia.post(where, collection="zoo", language="fr")
    assert (made.status_code, made.json()["kind"], made.json()["images"]) == (200, "none", 4)
    assert mia.post(where, collection="zoo", language="fr").json()["id"] == made.json()["id"]
