"""Comparisons made by mistake: deleted, or left out of everything that is computed over several of them."""

from __future__ import annotations

import pytest
from django.urls import reverse

from core.allocation.models import Pool, Task
from core.people.models import AuditEntry
from research.inference.models import ModelCaption
from sxs_eval.models import Comparison, Pair
from sxs_eval.selectors.human_judgements import human_judgements_of
from sxs_eval.selectors.results import comparisons_of
from sxs_eval.selectors.setup import ComparisonSetting
from sxs_eval.services import comparison_removal, comparisons
from sxs_eval.tasks import fill_comparison
from tests.factories import NOW, make_comparison, make_rater
from tests.sxs_eval.judged import judge_all

pytestmark = pytest.mark.django_db


def page_of(comparison: Comparison) -> str:
    return reverse("sxs_eval:comparison-remove", args=[comparison.project.slug, comparison.pk])


def judge(comparison: Comparison) -> None:
    keys = comparison.collection.entries.values_list("key", flat=True)
    judge_all(comparison, make_rater(comparison, "rita"), dict.fromkeys(keys, 3))


def test_a_comparison_in_which_nobody_has_judged_is_deleted_with_its_pairs_and_not_its_captions(manager, comparison):
    captions = ModelCaption.objects.count()
    assert "Delete the comparison" in manager.get(page_of(comparison)).text
    assert manager.post(page_of(comparison), {"delete": "1"}).status_code == 302
    assert not any(kind.objects.exists() for kind in (Comparison, Pair, Pool, Task))
    assert ModelCaption.objects.count() == captions
    assert AuditEntry.objects.get(action="comparison.deleted").about == f"comparison {comparison.pk}, de"
    fill_comparison(comparison.pk)


def test_work_of_raters_is_never_deleted(manager, comparison):
    judge(comparison)
    assert "Leave it out of the results instead" in manager.post(page_of(comparison), {"delete": "1"}, follow=True).text
    assert "Delete the comparison" not in manager.get(page_of(comparison)).text
    assert Comparison.objects.filter(pk=comparison.pk).exists()


def test_what_is_left_out_counts_nowhere_gives_no_work_and_may_be_made_again(manager, project, comparison):
    judge(comparison)
    assert human_judgements_of(project, comparison.base_id, "de")
    sent = {"leave-out": "1", "scope": "one", "reason": "The wrong captions"}
    assert manager.post(page_of(comparison), {**sent, "reason": ""}).status_code == 422
    manager.post(page_of(comparison), sent)
    assert not comparisons_of(project)
    assert not human_judgements_of(project, comparison.base_id, "de")
    results = manager.get(reverse("sxs_eval:results-show", args=[project.slug])).text
    assert "1 comparison is left out of these results." in results
    assert "The wrong captions" in manager.get(reverse("sxs_eval:comparison-show", args=["lions", comparison.pk])).text
    assert not Pool.objects.get(pk=comparison.pool_id).is_open
    about = {"languages": [comparison.language], "base": comparison.base, "test": comparison.test}
    setting = ComparisonSetting(seed=comparison.seed)
    made, already = comparisons.create_comparisons(
        project=project, collection=comparison.collection, setting=setting, by=project.created_by, now=NOW, **about
    )
    assert (len(made), already) == (1, [])
    manager.post(page_of(comparison), {"count": "1"})
    assert comparison in comparisons_of(project)


@pytest.mark.parametrize(("scope", "number"), [("one", 1), ("pair", 2), ("test", 3), ("base", 2)])
def test_all_comparisons_of_a_model_are_left_out_at_once(manager, project, comparison, scope, number):
    models = {"base": comparison.base, "test": comparison.test, "collection": comparison.collection}
    make_comparison(project=project, **models | {"base": comparison.test, "test": comparison.base})
    another = make_comparison(project=project, collection=comparison.collection, base=comparison.test)
    assert another.base == comparison.test
    manager.post(page_of(comparison), {"leave-out": "1", "scope": scope, "reason": "A mistake"})
    assert Comparison.objects.left_out().count() == number
    again = {"reason": "x", "by": project.created_by, "now": NOW}
    left_out = list(Comparison.objects.left_out())
    assert comparison_removal.leave_out_comparisons(comparisons=left_out, **again) == 0
