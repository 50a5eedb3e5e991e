"""Setting comparisons up: who sees those pages, what they show, and what can be done there."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from allocation.models import Pool
from inference.models import ModelCaption
from people.models import Membership, Role
from sxs_eval import tasks
from sxs_eval.models import Comparison, EqualCaptions, GoldPair, Instructions, Scale, Standing
from sxs_eval.selectors.overview import project_progress
from sxs_eval.services import judging
from tests.factories import (
    NOW,
    make_annotator,
    make_captioner,
    make_collection,
    make_comparison,
    make_project,
    make_rater,
    make_round,
    make_user,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def comparison() -> Comparison:
    return make_comparison(project=make_project("lions"), images=3, gold_percent=20)


@pytest.fixture
def project(comparison):
    return comparison.project


@pytest.fixture
def manager(project) -> Client:
    return client_of(project.created_by)


@pytest.fixture
def researcher(project) -> Client:
    return client_of(member_of(project, Role.RESEARCHER))


def member_of(project, role: Role):
    member = make_user()
    Membership.objects.create(project=project, user=member, role=role)
    return member


def client_of(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def path_of(name: str, comparison: Comparison) -> str:
    slug = comparison.project.slug
    of_project: dict[str, list[Any]] = {
        "evaluation-list": [],
        "comparison-list": [slug],
        "comparisons-progress": [slug],
        "comparison-create": [slug],
        "instructions-publish": [slug],
        "gold-change": [slug, comparison.pk, getattr(comparison.gold_pairs.first(), "pk", 1)],
        "rater-decide": [slug, comparison.pk, 1],
    }
    return reverse(f"sxs_eval:{name}", args=of_project.get(name, [slug, comparison.pk]))


OF_READERS = (
    "comparison-list",
    "comparisons-progress",
    "comparison-create",
    "comparison-settings",
    "gold-list",
    "instructions-publish",
)
OF_MANAGERS = ("rater-list",)
SENT_ONLY = ("pairs-add", "gold-change", "rater-decide")


class TestWhoSeesThePages:
    @pytest.mark.parametrize("name", [*OF_READERS, *OF_MANAGERS, "evaluation-list"])
    def test_a_manager_does(self, manager, comparison, name):
        assert manager.get(path_of(name, comparison)).status_code == 200

    @pytest.mark.parametrize("name", [*OF_READERS, "evaluation-list"])
    def test_a_researcher_does(self, researcher, comparison, name):
        assert researcher.get(path_of(name, comparison)).status_code == 200

    @pytest.mark.parametrize("name", ["rater-list", "rater-decide"])
    def test_a_researcher_neither_sees_who_the_raters_are_nor_decides_about_them(self, researcher, comparison, name):
        rater = make_rater(comparison)
        batch = judging.take_batch(comparison=comparison, rater=rater, now=NOW, rng=make_rng())
        judging.judge(batch_id=batch.pk, rater=rater, position=1, choice=3, now=NOW)
        path = reverse(
            f"sxs_eval:{name}", args=["lions", comparison.pk, rater.pk][: 3 if name == "rater-decide" else 2]
        )
        assert researcher.get(path).status_code in (404, 405)
        assert researcher.post(path, {"decision": "exclude", "note": "No."}).status_code in (404, 405)
        assert not Standing.objects.exists()
        page = researcher.get(path_of("comparison-list", comparison)).content.decode()
        assert path_of("rater-list", comparison) not in page

    @pytest.mark.parametrize("name", [*OF_READERS, *OF_MANAGERS, *SENT_ONLY, "evaluation-list"])
    def test_who_is_not_signed_in_is_asked_to(self, client, comparison, name):
        response = (
            client.post(path_of(name, comparison)) if name in SENT_ONLY else client.get(path_of(name, comparison))
        )
        assert response.status_code == 302
        assert response["Location"].startswith(reverse("account_login"))

    @pytest.mark.parametrize("name", [*OF_READERS, *OF_MANAGERS, *SENT_ONLY])
    def test_a_manager_of_another_project_is_not_told_that_they_exist(self, comparison, name):
        outsider = client_of(make_project().created_by)
        assert outsider.get(path_of(name, comparison)).status_code in (404, 405)
        assert outsider.post(path_of(name, comparison)).status_code in (404, 405)

    @pytest.mark.parametrize("name", [*OF_READERS, *OF_MANAGERS, *SENT_ONLY])
    @pytest.mark.parametrize("role", [Role.RATER, Role.ANNOTATOR, Role.PLAYER])
    def test_no_other_role_of_the_project_does(self, comparison, name, role):
        member = client_of(member_of(comparison.project, role))
        assert member.get(path_of(name, comparison)).status_code in (404, 405)
        assert member.post(path_of(name, comparison)).status_code in (404, 405)
        assert not Comparison.objects.filter(awaits_pairs=True).exists()

    @pytest.mark.parametrize("role", [Role.RATER, Role.ANNOTATOR, Role.PLAYER])
    def test_the_page_above_the_projects_is_for_managers_and_researchers(self, comparison, role):
        member = client_of(member_of(comparison.project, role))
        assert member.get(path_of("evaluation-list", comparison)).status_code == 403

    @pytest.mark.parametrize("name", ["comparison-settings", "gold-list", "rater-list", "pairs-add", "gold-change"])
    def test_a_comparison_of_another_project_is_not_found_under_this_one(self, manager, comparison, name):
        other = make_comparison(gold_percent=20)
        path = path_of(name, other).replace(other.project.slug, "lions")
        assert manager.get(path).status_code in (404, 405)
        assert manager.post(path).status_code == 404 if name != "rater-list" else True


def make_rng():
    from random import Random

    return Random(1)
