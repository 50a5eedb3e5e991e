"""Comparisons over some of the images of a collection."""

from __future__ import annotations

import pytest
from django.urls import reverse

from core.images.models import CollectionImage
from crosslens_metrics.reports.comparison_figures import ComparisonOutcome, GainFigure
from research.inference.models import ModelCaption
from research.selection.models import PlaceLevelChoice, Subset
from research.selection.rules.image_filters import parse
from sxs_eval.models import Comparison, Pair
from sxs_eval.selectors.results import evidence_of, level_outcomes, report_of
from sxs_eval.selectors.setup import ComparisonSetting
from sxs_eval.services import comparisons as services
from sxs_eval.services.comparisons import ComparisonError, create_comparison, create_comparisons
from tests.factories import NOW, make_rater
from tests.selection.placing import choose
from tests.sxs_eval.judged import judge_all

pytestmark = pytest.mark.django_db


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
