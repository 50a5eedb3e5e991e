"""How often results were looked at before all planned images were complete, and the interval that holds anyway."""

from __future__ import annotations

import csv
from io import StringIO

import pytest
from django.test import Client
from django.urls import reverse

from core.people.models import Project
from sxs_eval.models import Comparison
from sxs_eval.selectors.results import looks_before
from tests.clients import client_of
from tests.exported import export_address
from tests.factories import make_comparison, make_rater
from tests.sxs_eval.judged import judge_all, keys_of, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def comparison(project: Project) -> Comparison:
    return make_comparison(project=project, images=4, replication=1)


@pytest.fixture
def manager(project: Project) -> Client:
    return client_of(project.created_by)


def judge(comparison: Comparison, *places: int) -> None:
    keys = keys_of(comparison)
    judge_all(comparison, make_rater(comparison), {keys[place]: 1 for place in places})


def report(manager: Client, comparison: Comparison) -> str:
    return text_of(manager.get(reverse("sxs_eval:comparison-show", args=[comparison.project.slug, comparison.pk])))


def looks_of(comparison: Comparison) -> list[int]:
    looks: list[int] = Comparison.objects.get(pk=comparison.pk).looks
    return looks


def test_each_new_number_of_complete_images_that_is_seen_is_one_look(manager, comparison):
    text = report(manager, comparison)
    assert "Planned: 4 images. Complete: 0." in text
    assert "nobody looked at results" in text
    assert looks_of(comparison) == []

    judge(comparison, 0, 1)
    for _again in range(2):
        text = report(manager, comparison)
    assert looks_of(comparison) == [2]
    assert "Planned: 4 images. Complete: 2." in text
    assert "results were looked at once" in text
    assert "ΔSxS at any time +100.0" in text
    assert "holds however often you look" in text

    judge(comparison, 2)
    manager.head(reverse("sxs_eval:results-show", args=[comparison.project.slug]))
    assert looks_of(comparison) == [2]
    manager.get(reverse("sxs_eval:results-show", args=[comparison.project.slug]))
    assert looks_of(comparison) == [2, 3]

    judge(comparison, 3)
    text = report(manager, comparison)
    assert looks_of(comparison) == [2, 3, 4]
    assert "Planned: 4 images. Complete: 4." in text
    assert "results were looked at 2 times" in text
    assert "at any time" not in text


def test_the_look_at_some_of_the_images_counts_all_that_are_complete(manager, comparison):
    judge(comparison, 0, 1)
    page = reverse("sxs_eval:comparison-show", args=[comparison.project.slug, comparison.pk])
    assert manager.get(page, {"images": "in:PL"}).status_code == 200
    assert looks_of(comparison) == [2]


@pytest.mark.parametrize("download", ["judgements", "tables"])
def test_downloads_are_looks_and_raters_pages_are_none(manager, comparison, download):
    judge(comparison, 0)
    rater = make_rater(comparison)
    client_of(rater).get(reverse("sxs_eval:work-show"))
    assert looks_of(comparison) == []
    slug = comparison.project.slug
    tables = reverse("sxs_eval:tables-export", args=[slug, "csv"])
    manager.get(tables if download == "tables" else export_address(slug, "judgements"))
    assert looks_of(comparison) == [1]


def test_the_table_says_the_plan_the_looks_and_the_interval_at_any_time(manager, comparison):
    judge(comparison, 0, 1)
    report(manager, comparison)
    answer = manager.get(reverse("sxs_eval:tables-export", args=[comparison.project.slug, "csv"]))
    [row] = csv.DictReader(StringIO(answer.content.decode("utf-8-sig")))
    assert (row["planned_images"], row["looks"], row["images"]) == ("4", "1", "2")
    assert -100 <= float(row["anytime_low"]) < float(row["gain"]) == 100.0
    assert float(row["anytime_high"]) == 100.0


def test_a_number_seen_again_later_is_one_look_and_what_came_after_the_plan_is_none():
    comparison = Comparison(looks=[2, 3, 2, 4, 5])
    assert looks_before(comparison, 4) == 2
