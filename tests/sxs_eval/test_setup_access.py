"""Who sees the pages on which comparisons are set up, and the ways that lead to them."""

from __future__ import annotations

import re
from random import Random

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.services import batches
from core.people.models import Membership, Role
from tests.clients import client_of
from tests.factories import make_annotator, make_comparison, make_project, make_rater, make_round
from tests.sxs_eval.setting_up import path_of

pytestmark = pytest.mark.django_db


class TestWhoSeesThePages:
    def test_people_see_their_own_projects_only(self, manager, comparison):
        make_comparison(project=make_project("zebras"))
        page = manager.get(path_of("evaluation-list", comparison)).content.decode()
        assert "Lions" in page
        assert "Zebras" not in page

    @pytest.mark.parametrize("name", ["gold-list", "rater-list"])
    def test_who_writes_about_its_images_elsewhere_is_not_shown_captions(self, comparison, name):
        round = make_round(collection=comparison.collection)
        writer = make_annotator(round)
        Membership.objects.create(project=comparison.project, user=writer, role=Role.MANAGER)
        assert client_of(writer).get(path_of(name, comparison)).status_code == 200
        batches.take_batch(round=round, person=writer, now=timezone.now(), rng=Random(1))
        response = client_of(writer).get(path_of(name, comparison), follow=True)
        assert response.redirect_chain[0][0] == path_of("comparison-list", comparison)
        assert "You have a batch with images of this" in response.content.decode()
        assert not re.search("(base|test) caption of", response.content.decode())


class TestTheWaysIn:
    def test_the_project_page_leads_to_the_comparisons_and_they_lead_managers_alone_to_raters(
        self, manager, researcher, comparison
    ):
        page = manager.get(reverse("annotation:project-show", args=["lions"])).content.decode()
        assert path_of("comparison-list", comparison) in page
        make_rater(comparison)
        page = researcher.get(path_of("comparison-list", comparison)).content.decode()
        assert path_of("rater-list", comparison) not in page
