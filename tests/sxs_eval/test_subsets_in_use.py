"""A named subset stays for as long as a comparison is over its images."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from django.core.management.base import CommandError

from research.selection.models import Subset
from research.selection.selectors.subsets import subset_named
from research.selection.selectors.usage import uses_of_subset
from research.selection.services.subsets import SubsetError, delete_subset
from sxs_eval.models import Comparison
from sxs_eval.selectors.planning import ComparisonSetting
from sxs_eval.services.comparisons import ComparisonError, create_comparison, create_comparisons
from tests.commands import output_of
from tests.concurrency import together_with_errors
from tests.factories import NOW, make_comparison, make_project
from tests.selection.placing import make_subset


@pytest.fixture
def subset(comparison: Comparison) -> Subset:
    return make_subset(comparison.project, "xm2", [entry.image for entry in comparison.collection.entries.all()[:2]])


def create(comparison: Comparison, images: str = "subset:xm2") -> None:
    create_comparisons(
        project=comparison.project,
        languages=[comparison.language],
        base=comparison.base,
        test=comparison.test,
        collection=comparison.collection,
        setting=ComparisonSetting(seed=5, images=images),
        by=None,
        now=NOW,
    )


@pytest.mark.django_db
def test_a_subset_that_a_comparison_names_is_not_deleted_and_the_comparison_is_named(comparison, subset) -> None:
    create(comparison, "on:AS,subset:xm2")
    made = Comparison.objects.get(seed=5)
    [use] = uses_of_subset(subset)
    assert (use.title, use.has_begun) == (f"comparison {made.pk} in {made.language.name}", False)
    with pytest.raises(CommandError) as refused:
        output_of("image_subset", comparison.project.slug, "xm2", "--delete")
    assert str(refused.value) == f"“xm2” cannot be deleted, because it is used by: {use.title}."
    assert Subset.objects.filter(pk=subset.pk).exists()


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.django_db
@pytest.mark.parametrize("images", ["subset:xm20", "subset:XM2"])
def test_comparisons_over_subsets_with_similar_names_do_not_count(comparison, subset, images) -> None:
    make_subset(comparison.project, images.removeprefix("subset:"), [])
    create(comparison, images)
    delete_subset(subset=subset, by=None, now=NOW)
    assert not Subset.objects.filter(slug="xm2").exists()


@pytest.mark.django_db
def test_comparisons_of_other_projects_do_not_count(comparison, subset) -> None:
    other = make_comparison(project=make_project("tigers"))
    make_subset(other.project, "xm2", [])
    create(other)
    assert uses_of_subset(subset) == []


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_a_comparison_and_a_deletion_at_once_only_one_happens(comparison, subset) -> None:
    project = comparison.project
    acts: list[Callable[[], object]] = [
        partial(create_comparison, project=project, language=comparison.language, base=comparison.base,
                test=comparison.test, collection=comparison.collection,
                setting=ComparisonSetting(seed=5, images="subset:xm2"), by=None),
        partial(delete_subset, subset=subset_named(project, "xm2"), by=None, now=NOW),
    ]  # fmt: skip
    outcomes = together_with_errors(lambda act: act(), acts)
    [refused] = [one for one in outcomes if isinstance(one, BaseException)]
    assert isinstance(refused, ComparisonError | SubsetError)
    assert Subset.objects.filter(slug="xm2").exists() is Comparison.objects.filter(images="subset:xm2").exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_control_a_deletion_without_the_check_leaves_a_comparison_over_no_subset(comparison, subset) -> None:
    create(comparison)
    Subset.objects.filter(pk=subset.pk).delete()
    assert Comparison.objects.filter(images="subset:xm2").exists()
