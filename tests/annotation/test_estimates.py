"""What a new project will take, and the settings that it begins with."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Round, Tally
from annotation.rules.estimates import (
    Estimate,
    EstimateBasis,
    LanguagePlan,
    TimedAnswers,
    estimate,
    seconds_per_answer,
    total_estimate,
)
from annotation.selectors.estimates import last_settings, measured_times, settings_used
from annotation.services.campaign import LanguageBeginning
from core.images.models import Collection
from core.languages.models import Language
from core.languages.rules.groups import GROUPS
from core.people.models import Project
from office.recruitment.services.studies import RateInCurrency, set_rates
from research.inference.models import ModelCaption
from tests.annotation.submitting import begin_language
from tests.clients import client_of
from tests.factories import NOW, make_captioner, make_collection, make_project, make_round, make_user

PLAN = LanguagePlan(images=3600, replication=2, batch_size=15, pilot_images=150, people=5, hours_a_day=Decimal(2))


def begin(project: Project, collection: Collection, language: str = "de", **settings: Any) -> Round:
    """The first pilot of a language of the project."""
    return begin_language(project, collection, language, beginning=LanguageBeginning(), **settings)


class TestRules:
    def test_a_language_of_the_published_size(self):
        made = estimate(replace(PLAN, rate=Decimal("12.50")), caption_s=60, rating_s=10)
        # 300 captions of the pilot and 7,200 of the main round; 900 ratings of the pilot and 1,800 of the sample.
        assert made == Estimate(
            images=3600,
            captions=7500,
            ratings=2700,
            batches=20 + 480 + 60 + 120,
            active_ms=477_000_000,
            cost=Decimal("1656.25"),
            days=14,
        )
        assert made.hours == 132.5

    def test_a_collection_smaller_than_the_samples_and_no_pilot(self):
        made = estimate(replace(PLAN, images=7, pilot_images=0), caption_s=30, rating_s=10)
        assert (made.captions, made.ratings, made.batches) == (14, 21, 1 + 2)
        assert made.cost is None
        assert made.days == 1

    def test_a_pilot_is_never_larger_than_what_there_is(self):
        assert estimate(replace(PLAN, images=7), caption_s=30, rating_s=10).captions == 28

    def test_nothing_takes_no_time(self):
        assert estimate(replace(PLAN, images=0, rate=Decimal(9)), caption_s=30, rating_s=10) == Estimate(
            cost=Decimal("0.00")
        )

    def test_languages_are_worked_on_at_the_same_time(self):
        short = estimate(replace(PLAN, images=100, rate=Decimal(9)), caption_s=60, rating_s=10)
        long = estimate(replace(PLAN, rate=Decimal(9)), caption_s=60, rating_s=10)
        both = total_estimate([short, long])
        assert both.captions == short.captions + long.captions
        assert both.cost == short.cost + long.cost
        assert (both.days, both.images) == (long.days, 3600)
        assert total_estimate([]) == Estimate()

    @pytest.mark.parametrize(
        ("language", "everything", "expected"),
        [
            (TimedAnswers(100, 3, 4_500_000), TimedAnswers(900, 9, 9_000_000), (45, EstimateBasis.LANGUAGE)),
            (TimedAnswers(99, 3, 4_500_000), TimedAnswers(900, 9, 9_000_000), (10, EstimateBasis.ALL)),
            (TimedAnswers(100, 2, 4_500_000), TimedAnswers(900, 9, 9_000_000), (10, EstimateBasis.ALL)),
            (TimedAnswers(), TimedAnswers(99, 3, 1), (60, EstimateBasis.ASSUMED)),
        ],
    )
    def test_what_is_measured_counts_once_it_is_enough(self, language, everything, expected):
        found = seconds_per_answer(language, everything, assumed=60)
        assert (found.seconds, found.basis) == expected

    def test_hours_are_off_as_far_as_the_people_differ_whose_mean_they_follow(self):
        timed = TimedAnswers.of_people([(50, 1_000_000), (50, 2_000_000), (100, 3_000_000)])
        assert timed == TimedAnswers(200, 3, 6_000_000)
        # Two people are 500 seconds off what the mean of 30 would have them take, and one is not at all.
        assert timed.error_ms == pytest.approx((2 * 500_000**2 * 3 / 2) ** 0.5 / 200)
        caption = seconds_per_answer(timed, TimedAnswers(), assumed=60)
        assert caption.within == pytest.approx(4.30265 * timed.error_ms / 1000, rel=1e-4)
        made = estimate(PLAN, caption_s=30, rating_s=10, caption_within=3, rating_within=2)
        assert made.within_ms == pytest.approx(1000 * ((7500 * 3) ** 2 + (2700 * 2) ** 2) ** 0.5)
        assert total_estimate([made, made]).within_ms == pytest.approx(2 * made.within_ms)
        assumed = estimate(PLAN, caption_s=30, rating_s=10, caption_within=3)
        assert assumed.within_ms is total_estimate([made, assumed]).within_ms is None

    def test_the_groups_of_languages_are_those_of_the_method(self):
        assert [len(group.tags) for group in GROUPS.values()] == [36, 4, 5, 30]
        assert {"en"} | set(GROUPS["low-resource"].tags) | set(GROUPS["web"].tags) == set(GROUPS["all"].tags)


@pytest.mark.django_db
class TestSelectors:
    def test_times_are_summed_by_language_and_in_all(self):
        german = make_round(images=1)
        bengali = make_round(images=1, language="bn")
        for round, captions, ms in ((german, 80, 800_000), (german, 20, 200_000), (bengali, 10, 500_000)):
            Tally.objects.create(
                round=round, person=make_user(), captions=captions, rating_ms=ms // 4, writing_ms=ms - ms // 4
            )
        Tally.objects.create(round=german, person=make_user(), captions=50)
        measured = measured_times()
        assert measured.captions["de"] == TimedAnswers(100, 2, 1_000_000)
        assert measured.captions[""] == TimedAnswers(110, 3, 1_500_000)
        assert measured.caption("de").basis == EstimateBasis.ALL
        assert measured.caption("de").seconds == pytest.approx(1500 / 110)
        assert measured.ratings == {"": TimedAnswers()}
        assert measured.rating("de").basis == EstimateBasis.ASSUMED

    def test_ratings_in_verification_are_apart(self):
        rating = Round.objects.get(verifies=begin(make_project(), make_collection(2)))
        for _ in range(3):
            Tally.objects.create(round=rating, person=make_user(), captions=40, rating_ms=320_000)
        measured = measured_times()
        assert measured.captions == {"": TimedAnswers()}
        assert (measured.rating("de").seconds, measured.rating("de").basis) == (8, EstimateBasis.LANGUAGE)

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_the_settings_of_the_newest_project_that_one_manages(self):
        manager = make_user()
        assert last_settings(manager) is None
        begin(make_project("old", manager=manager), make_collection(2), batch_size=3)
        newest = make_project("newest", manager=manager)
        collection = make_collection(2)
        for tag, replication in (("de", 3), ("fr", 3), ("sw", 1)):
            begin(newest, collection, tag, replication=replication, batch_size=7, lease_s=7200)
        make_project("empty", manager=manager)
        begin(make_project("of-others"), collection)
        found = last_settings(manager)
        assert found is not None
        assert found.project == newest
        assert (found.replication, found.own_replications) == (3, {"sw": 1})
        assert (found.batch_size, found.lease_s) == (7, 7200)

    def test_the_rate_of_the_last_project_is_used_again(self):
        project = begin(make_project(), make_collection(2)).project
        found = settings_used(project)
        assert found is not None
        assert found.rate is None
        rates = {"": RateInCurrency(Decimal("11.50"), "EUR"), "de": RateInCurrency(Decimal(20), "EUR")}
        set_rates(project=project, rates=rates, by=project.created_by, now=NOW)
        found = settings_used(project)
        assert found is not None
        assert found.rate == (Decimal("11.50"), "EUR")

    def test_captions_from_a_file_are_no_settings(self):
        round = make_round(images=1, source="XM3600, CC BY 4.0")
        assert settings_used(round.project) is None


@pytest.mark.django_db
class TestPage:
    @pytest.fixture
    def collection(self) -> Collection:
        return make_collection(4)

    @pytest.fixture
    def project(self, collection) -> Project:
        return begin(make_project("lions"), collection, "sw", replication=3, batch_size=7, lease_s=7200).project

    @pytest.fixture
    def manager(self, project):
        return client_of(project.created_by)

    @pytest.fixture
    def path(self, collection) -> str:
        return f"{reverse('annotation:project-create')}?collection={collection.slug}"

    @pytest.fixture
    def answers(self, collection, project):
        return {
            "name": "Tigers",
            "captioners": [make_captioner(collection, "blip").pk],
            "batch_size": "5",
            "lease_h": "24",
            "languages": ["de", "bn"],
            "replication": "2",
            "replication-bn": "1",
        }

    def test_it_begins_with_the_settings_of_the_last_project_or_of_the_method(self, manager, path):
        page = manager.get(path)
        form = page.context["form"]
        assert "The settings are those of Lions." in page.text
        assert [form[name].value() for name in ("replication", "batch_size", "lease_h")] == [3, 7, 2]
        page = manager.get(f"{path}&settings=method")
        form = page.context["form"]
        assert "The settings are those of the method." in page.text
        assert [form[name].value() for name in ("replication", "batch_size", "lease_h")] == [2, 15, 24]

    def test_only_the_model_with_most_captions_is_ticked(self, collection, path):
        best, poor = make_captioner(collection, "best"), make_captioner(collection, "poor")
        ModelCaption.objects.filter(model=poor, image=collection.entries.first().image).delete()
        form = client_of(make_project().created_by).get(path).context["form"]
        assert form["captioners"].value() == [best.pk]

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_the_models_of_the_last_project_are_ticked(self, manager, project, collection, path):
        make_captioner(collection, "aaa")
        used = list(project.rounds.get(kind="main").captioners.values_list("pk", flat=True))
        assert manager.get(path).context["form"]["captioners"].value() == used

    def test_a_group_is_ticked_and_what_was_typed_is_kept_without_judging_it(self, manager, path, answers):
        page = manager.post(path, answers | {"group": "core", "name": "", "languages": ["de"], "replication": "900"})
        form = page.context["form"]
        assert page.status_code == 200
        assert set(form["languages"].value()) == {"de", "en", "es", "hi", "zh"}
        assert page.text.count(" checked") == 5 + 1  # And the model.
        assert form["replication"].value() == "900"
        assert "Correct these errors" not in page.text
        assert manager.post(path, answers | {"group": "last"}).context["form"]["languages"].value()[-1] == "sw"

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_an_unknown_group_is_no_way_around_the_form(self, manager, path, answers):
        assert manager.post(path, answers | {"group": "nobody", "languages": []}).status_code == 422

    def test_the_estimate_writes_nothing(self, manager, path, answers):
        money = {"rate": "10", "currency": "EUR", "people": "1", "hours_a_day": "1"}
        with CaptureQueriesContext(connection) as queries:
            page = manager.post(path, answers | money | {"estimate": "1", "begin": "pilot", "pilot_images": "2"})
        assert page.status_code == 200
        assert not [one["sql"] for one in queries if one["sql"].startswith(('INSERT INTO "annotation', "UPDATE"))]
        assert not Project.objects.filter(name="Tigers").exists()
        shown = page.context["estimate"]
        # German: 4 captions in the pilot, 8 in the main round, 12 + 12 ratings; Bengali: 2 + 4 and 6 + 12.
        assert [(line.language.pk, line.estimate.captions, line.estimate.ratings) for line in shown["lines"]] == [
            ("bn", 6, 18),
            ("de", 12, 24),
        ]
        assert shown["total"].estimate.cost == Decimal("1.50") + Decimal("2.67")
        assert "4.17 EUR" in page.text
        assert 'value="Tigers"' in page.text
        assert "German" in page.text[page.text.index("Each image needs more people than you have") :]

    def test_the_estimate_says_what_the_chosen_models_leave_out(self, manager, path, collection, answers):
        ModelCaption.objects.filter(model__name="blip", image=collection.entries.first().image).delete()
        page = manager.post(path, answers | {"estimate": "1", "pilot_images": "2"})
        assert page.context["estimate"]["left_out"] == 1
        assert "1 image has no English caption by the chosen models" in page.text

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_a_mistake_has_no_estimate_and_keeps_what_was_typed(self, manager, path, answers):
        page = manager.post(path, answers | {"estimate": "1", "batch_size": "0", "replication-bn": "99"})
        assert page.status_code == 422
        assert page.context["estimate"] is None
        assert page.context["form"]["replication-bn"].value() == "99"
        assert '<details class="own-numbers" open>' in page.text

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_all_36_languages_cost_no_more_queries_than_one(self, manager, path, answers):
        counts = []
        for tags in (["de"], list(Language.objects.values_list("pk", flat=True))):
            with CaptureQueriesContext(connection) as queries:
                assert (
                    manager.post(path, answers | {"languages": tags, "estimate": "1", "pilot_images": "2"}).status_code
                    == 200
                )
            counts.append(len(queries))
        assert counts[0] == counts[1] <= 26
