"""Creating comparisons in the browser, also over some of the images: what is offered, refused and set up."""

from __future__ import annotations

import pytest
from django.urls import reverse

from core.images.models import CollectionImage
from crosslens_metrics.reports.comparison_figures import ComparisonOutcome, GainFigure
from research.inference.models import ModelCaption
from research.selection.models import PlaceLevelChoice, Subset
from research.selection.rules.image_filters import parse
from sxs_eval.models import Comparison, EqualCaptions, Pair
from sxs_eval.selectors.evidence import evidence_of
from sxs_eval.selectors.planning import ComparisonSetting
from sxs_eval.selectors.results import level_outcomes, report_of
from sxs_eval.services import comparisons as services
from sxs_eval.services.comparisons import ComparisonError, create_comparison, create_comparisons
from tests.factories import NOW, make_captioner, make_collection, make_rater
from tests.selection.placing import choose
from tests.sxs_eval.judged import judge_all
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
        page = manager.post(path, answers | {"seed": "78"}, follow=True).content.decode()
        assert "Not created, because these models are compared on the same images already: German, Bengali." in page
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


@pytest.fixture
def subset(comparison: Comparison) -> Subset:
    """The first two images of the collection."""
    made = Subset.objects.create(project=comparison.project, slug="xm2", name="XM2", created_at=NOW)
    entries = CollectionImage.objects.filter(collection=comparison.collection).order_by("position")
    made.images.set([entry.image for entry in entries[:2]])
    return made


def create(comparison: Comparison, images: str) -> Comparison:
    return create_comparison(
        project=comparison.project,
        language=comparison.language,
        base=comparison.base,
        test=comparison.test,
        collection=comparison.collection,
        setting=ComparisonSetting(seed=comparison.seed, images=images),
        by=None,
        with_pairs=True,
    )


def points_of(outcome: ComparisonOutcome) -> float:
    assert isinstance(outcome.gain, GainFigure)
    return outcome.gain.points


def images_in(comparison: Comparison) -> set[int]:
    return set(Pair.objects.filter(comparison=comparison).values_list("image", flat=True))


def test_only_pairs_of_the_named_images_are_made_and_images_outside_are_not_missing(comparison, subset) -> None:
    made = create(comparison, "subset:xm2")
    assert images_in(made) == set(subset.images.values_list("pk", flat=True))
    assert (made.images, made.left_out) == ("subset:xm2", 0)


def test_no_pair_is_made_where_no_image_is_left(comparison, subset) -> None:
    subset.images.clear()
    assert images_in(create(comparison, "subset:xm2")) == set()


@pytest.mark.parametrize("images", ["subset:none", "nowhere"])
def test_a_filter_that_cannot_be_applied_makes_nothing(comparison, images) -> None:
    before = Comparison.objects.count()
    with pytest.raises(ComparisonError, match=images.removeprefix("subset:")):
        create(comparison, images)
    assert Comparison.objects.count() == before


def test_a_comparison_over_other_images_is_another_comparison(comparison, subset) -> None:
    def again() -> tuple[int, int]:
        made, already = create_comparisons(
            project=comparison.project, languages=[comparison.language], base=comparison.base, test=comparison.test,
            collection=comparison.collection, by=comparison.project.created_by, now=NOW,
            setting=ComparisonSetting(
                seed=comparison.seed, scale=comparison.scale, subset=comparison.subset, images="subset:xm2"
            ),
        )  # fmt: skip
        return len(made), len(already)

    assert again() == (1, 0)
    assert again() == (0, 1)


class TestForm:
    @pytest.fixture
    def path(self, comparison) -> str:
        address = reverse("sxs_eval:comparison-create", args=[comparison.project.slug])
        chosen = f"base={comparison.base_id}&test={comparison.test_id}"
        return f"{address}?collection={comparison.collection.slug}&{chosen}"

    @pytest.fixture
    def answers(self, comparison) -> dict[str, str]:
        return {
            f"language-{comparison.language_id}": "on", "subset": "", "seed": "78", "scale": "7",
            "equal_captions": "shown", "replication": "1", "batch_size": "6", "lease_h": "1", "gold_percent": "0",
            "repeat_percent": "0", "checks_before_pause": "4", "failures_percent": "30",
        }  # fmt: skip

    def test_only_images_that_the_filter_leaves_count_as_pairs_wanted_and_described(
        self, manager, comparison, subset, path, answers
    ) -> None:
        only = answers | {"only": "subset:xm2"}
        assert "There are fewer" not in manager.post(path, only, follow=True).content.decode()
        captions = ModelCaption.objects.filter(model=comparison.base)
        first, second, third = (entry.image for entry in comparison.collection.entries.order_by("position"))
        Pair.objects.all().delete()
        captions.filter(image=third).delete()
        assert "There are fewer" not in manager.post(path, only | {"seed": "79"}, follow=True).content.decode()
        captions.filter(image=first).delete()
        page = manager.post(path, only | {"seed": "80"}, follow=True).content.decode()
        assert "There are fewer than 2 pairs, because both models describe fewer images: German (1)." in page
        subset.images.set([first, third])
        page = manager.post(path, only | {"seed": "81"})
        assert page.status_code == 422
        assert "Both models describe none of these images in these languages: German." in page.content.decode()
        assert not Comparison.objects.filter(seed=81).exists()
        assert captions.filter(image=second).exists()

    def test_a_subset_that_is_deleted_meanwhile_is_named(self, manager, comparison, subset, path, answers, monkeypatch):
        def deleted(**_: object) -> None:
            raise ComparisonError("This project has no subset “xm2”.")

        monkeypatch.setattr(services, "create_comparisons", deleted)
        page = manager.post(path, answers | {"only": "subset:xm2"})
        assert page.status_code == 422
        assert "This project has no subset “xm2”." in page.content.decode()

    def test_it_makes_a_comparison_over_a_subset(self, manager, comparison, subset, path, answers) -> None:
        manager.post(path, answers | {"only": " SUBSET:xm2 "})
        assert Comparison.objects.get(seed=78).images == "subset:xm2"

    @pytest.mark.parametrize(
        ("only", "says"),
        [
            ("nowhere", "“nowhere” is not a term of an image filter."),
            ("subset:none", "This project has no subset “none”."),
            ("level:region", "The collection has no such image for these languages:"),
        ],
    )
    def test_it_refuses_a_filter_that_leaves_nothing(self, manager, subset, path, answers, only, says) -> None:
        page = manager.post(path, answers | {"only": only})
        assert page.status_code == 422
        assert says in page.content.decode()
        assert not Comparison.objects.filter(seed=78).exists()


class TestFigures:
    """Two raters judge a comparison, and one that has only the images of the subset."""

    @pytest.fixture
    def judged(self, comparison, subset) -> Comparison:
        scores = {
            entry.key: score for entry, score in zip(comparison.collection.entries.all(), (2, -1, 3), strict=True)
        }
        only = create(comparison, "subset:xm2")
        for name in ("ann", "bob"):
            for one in (comparison, only):
                judge_all(one, make_rater(one, name + str(one.pk)), scores)
        return only

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_over_a_subset_they_are_those_of_a_comparison_with_only_its_images(self, comparison, judged) -> None:
        (over,) = evidence_of([comparison], parse("subset:xm2")).values()
        ours, alone = report_of(comparison, over), report_of(judged)
        assert over.pairs == 2
        assert ours.outcome == alone.outcome
        assert (ours.judgements, ours.distribution) == (alone.judgements, alone.distribution)
        assert ours.outcome != report_of(comparison).outcome

    def test_by_level_they_are_those_of_its_filter(self, manager, comparison, subset, judged) -> None:
        path = reverse("sxs_eval:comparison-show", args=[comparison.project.slug, comparison.pk])
        assert "how near to the language" not in manager.get(path).content.decode()
        entries = comparison.collection.entries.order_by("position")
        scores = {entry.key: score for entry, score in zip(entries, (2, -1, 3), strict=True)}
        judge_all(comparison, make_rater(comparison, "cleo"), scores)
        before = report_of(comparison).as_json()
        near, other = (entry.image for entry in entries[:2])
        choose(
            comparison.project, comparison.language_id, {near: PlaceLevelChoice.REGION, other: PlaceLevelChoice.COUNTRY}
        )
        rows = level_outcomes(comparison, evidence_of([comparison])[comparison.pk])
        assert [row.region for row in rows] == ["region", "country"]
        for row in rows:
            (over,) = evidence_of([comparison], parse(f"level:{row.region}")).values()
            alone = report_of(comparison, over).outcome
            assert points_of(row.outcome) == points_of(alone)
            assert (row.outcome.images, row.outcome.wins) == (alone.images, alone.wins)
        assert [points_of(row.outcome) for row in rows] == [100, -100]
        assert report_of(comparison).as_json() == before
        page = manager.get(path)
        assert [(row.region, row.outcome.images.denominator) for row in page.context["page"]["levels"]] == [
            ("region", 1),
            ("country", 1),
        ]
        assert "Gain by how near to the language the images were taken" in page.content.decode()

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_the_page_takes_the_filter_and_says_what_is_wrong_with_another(self, manager, comparison, judged) -> None:
        path = reverse("sxs_eval:comparison-show", args=[comparison.project.slug, comparison.pk])
        assert manager.get(path, {"images": "subset:xm2"}).context["pairs"] == 2
        assert manager.get(path, {"images": "level:region"}).context["pairs"] == 0
        wrong = manager.get(path, {"images": "subset:none"})
        assert wrong.status_code == 422
        assert "This project has no subset “none”." in wrong.content.decode()
