"""Creating comparisons in the browser: what is offered, what is refused, and what is set up."""

from __future__ import annotations

import pytest
from django.urls import reverse

from sxs_eval.models import EqualCaptions
from tests.factories import make_captioner, make_collection
from tests.sxs_eval.planning import describe

pytestmark = pytest.mark.django_db


def path_of_create(project) -> str:
    return reverse("sxs_eval:comparison-create", args=[project.slug])


@pytest.mark.usefixtures("comparison")
class TestCreatingInTheBrowser:
    @pytest.fixture
    def models(self, collection):
        base = make_captioner(collection, "blip", text="base caption", language="de")
        test = make_captioner(collection, "pali", text="test caption", language="de")
        describe(collection, "blip", "bn", images=2)
        describe(collection, "pali", "bn")
        return base, test

    @pytest.fixture
    def path(self, project, collection, models):
        base, test = models
        return f"{path_of_create(project)}?collection={collection.slug}&base={base.pk}&test={test.pk}"

    @pytest.fixture
    def answers(self):
        return {
            "language-de": "on",
            "language-bn": "on",
            "subset": "",
            "seed": "77",
            "scale": "5",
            "equal_captions": "similar",
            "replication": "2",
            "batch_size": "6",
            "lease_h": "1.5",
            "gold_percent": "10",
            "repeat_percent": "5",
            "checks_before_pause": "4",
            "failures_percent": "30",
        }

    def test_what_is_chosen_is_set_up_and_filled_at_once(
        self, manager, project, path, models, answers, nudged, django_capture_on_commit_callbacks
    ):
        with django_capture_on_commit_callbacks(execute=True):
            response = manager.post(path, answers)
        assert response["Location"] == reverse("sxs_eval:comparison-list", args=["lions"])
        made = project.comparisons.filter(base=models[0])
        assert sorted(nudged) == sorted(made.values_list("pk", flat=True))
        assert {row.language_id for row in made} == {"de", "bn"}
        for row in made:
            assert (row.test, row.subset, row.seed, row.scale) == (models[1], None, 77, 5)
            assert row.equal_captions == EqualCaptions.SIMILAR
            assert (row.pool.replication, row.pool.batch_size, row.pool.lease_s) == (2, 6, 5400)
            assert (row.gold_percent, row.repeat_percent) == (10, 5)
            assert (row.checks_before_pause, row.failures_percent) == (4, 30)
            assert row.created_by == project.created_by
            assert row.awaits_pairs

    def test_the_form_sent_twice_makes_it_once_and_what_is_compared_already_is_said(
        self, manager, project, path, answers
    ):
        manager.post(path, answers)
        page = manager.post(path, answers, follow=True).content.decode()
        assert "Not created, because comparisons with the same seed already exist: German, Bengali." in page
        assert project.comparisons.filter(base__name="blip").count() == 2
        assert manager.get(path).content.decode().count("already compared") == 2

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_each_language_says_how_many_images_both_describe_and_each_seed_is_new(self, manager, path):
        form = manager.get(path).context["form"]
        counts = {coverage.language.tag: coverage.images for coverage, _wanted in form.choices()}
        assert list(counts.items()) == [("de", 4), ("bn", 2)]
        page = manager.get(path).content.decode()
        assert "French" in page[page.index("No image has captions by both models in:") :]
        assert "language-fr" not in page
        seeds = {manager.get(path).context["form"]["seed"].value() for _ in range(3)}
        assert len(seeds) == 3

    def test_a_language_without_images_is_not_taken_even_if_sent(self, manager, project, path, answers):
        response = manager.post(path, answers | {"language-de": "", "language-bn": "", "language-fr": "on"})
        assert response.status_code == 422
        assert "Choose at least one language" in response.content.decode()

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_languages_with_fewer_images_than_wanted_are_said_afterwards(self, manager, path, answers):
        page = manager.post(path, answers | {"subset": "3"}, follow=True).content.decode()
        assert "There are fewer than 3 pairs, because both models describe fewer images" in page
        assert "Bengali (2)" in page
        assert "German (4)" not in page

    def test_a_mistake_is_explained_at_its_field_and_nothing_is_made(self, manager, project, path, answers):
        for changes, field, error in (
            ({"subset": "5"}, "subset", "has only 4 images"),
            ({"subset": "0"}, "subset", "greater than or equal to 1"),
            ({"seed": ""}, "seed", "This field is required"),
            ({"seed": "-1"}, "seed", "greater than or equal to 0"),
            ({"seed": str(2**70)}, "seed", "less than or equal to"),
            ({"scale": "6"}, "scale", "not one of the available choices"),
            ({"equal_captions": "hidden"}, "equal_captions", "not one of the available choices"),
            ({"replication": "0"}, "replication", "greater than or equal to 1"),
            ({"batch_size": "999"}, "batch_size", "less than or equal to 200"),
            ({"lease_h": "0"}, "lease_h", "greater than or equal to 0.25"),
            ({"gold_percent": "51"}, "gold_percent", "less than or equal to 50"),
            ({"repeat_percent": "x"}, "repeat_percent", "Enter a whole number"),
            ({"checks_before_pause": "0"}, "checks_before_pause", "greater than or equal to 1"),
            ({"failures_percent": "101"}, "failures_percent", "less than or equal to 100"),
            ({"language-de": "", "language-bn": ""}, "__all__", "Choose at least one language"),
        ):
            response = manager.post(path, answers | changes)
            assert response.status_code == 422, changes
            assert error in " ".join(response.context["form"].errors[field])
            assert error in response.content.decode()
        assert project.comparisons.filter(base__name="blip").count() == 0

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_models_are_offered_with_their_languages_or_have_none_in_common(self, manager, project, collection, models):
        page = manager.get(path_of_create(project), {"collection": collection.slug}).content.decode()
        assert "blip (2 languages)" in page
        other = make_captioner(collection, language="fr")
        asked = {"collection": collection.slug, "base": models[0].pk, "test": other.pk}
        page = manager.get(path_of_create(project), asked).content.decode()
        assert "No image in this collection has captions by both models in the same language." in page
        assert 'name="seed"' not in page

    @pytest.mark.parametrize(
        ("base", "test", "error"),
        [
            ("blip", "blip", "A model cannot be compared with itself"),
            ("blip", "", "This field is required"),
            ("elsewhere", "pali", "This model has no captions of this collection"),
        ],
    )
    def test_two_models_that_cannot_be_compared_are_said(self, manager, project, collection, models, base, test, error):
        keys = {model.name: model.pk for model in models} | {"": ""}
        keys["elsewhere"] = make_captioner(make_collection(1)).pk
        asked = {"collection": collection.slug, "base": keys[base], "test": keys[test]}
        page = manager.get(path_of_create(project), asked).content.decode()
        assert error in page
        assert "language-de" not in page

    def test_a_collection_of_one_model_and_one_that_is_not_there_say_what_is_missing(self, manager, project):
        collection = make_collection(1)
        make_captioner(collection)
        page = manager.get(path_of_create(project), {"collection": collection.slug}).content.decode()
        assert "needs captions of this collection by two models" in page
        page = manager.get(path_of_create(project), {"collection": "none"}).content.decode()
        assert "There is no such collection in this project" in page
