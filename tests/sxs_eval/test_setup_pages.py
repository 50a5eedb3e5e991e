"""Setting comparisons up: who sees those pages, what they show, and what can be done there."""

from __future__ import annotations

import re
from datetime import timedelta
from random import Random
from typing import Any, ClassVar

import pytest
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from allocation.models import Pool, Task
from annotation.services import batches
from inference.models import ModelCaption
from people.models import Membership, Role
from sxs_eval import defaults, tasks
from sxs_eval.models import Comparison, EqualCaptions, GoldPair, Instructions, Scale, Standing, StandingState
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

    @pytest.mark.parametrize("name", ["comparison-list", "results-show", "plan-show", "instructions-publish"])
    def test_the_tabs_say_which_page_this_is_and_lead_managers_to_the_project(self, manager, researcher, name):
        path, project_path = (
            reverse(f"sxs_eval:{name}", args=["lions"]),
            reverse("annotation:project-show", args=["lions"]),
        )
        for reader, leads_to_project in ((manager, True), (researcher, False)):
            tabs = reader.get(path).content.decode().partition('<nav class="tabs"')[2].partition("</nav>")[0]
            assert re.findall(r'href="([^"]+)" aria-current="page"', tabs) == [path]
            assert (f'href="{project_path}"' in tabs) == leads_to_project

    @pytest.mark.parametrize("name", ["rater-list", "rater-decide"])
    def test_a_researcher_neither_sees_who_the_raters_are_nor_decides_about_them(self, researcher, comparison, name):
        rater = make_rater(comparison)
        batch = judging.take_batch(comparison=comparison, rater=rater, now=NOW, rng=Random(1))
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
        assert manager.post(path).status_code in (404, 405)
        assert other.gold_pairs.filter(is_used=False).count() == 0
        assert not Comparison.objects.filter(awaits_pairs=True).exists()

    def test_people_see_their_own_projects_only(self, manager, comparison):
        make_comparison(project=make_project("zebras"))
        page = manager.get(path_of("evaluation-list", comparison)).content.decode()
        assert "Lions" in page
        assert "Zebras" not in page

    @pytest.mark.parametrize("name", ["gold-list", "rater-list"])
    def test_who_writes_about_its_pictures_elsewhere_is_not_shown_captions(self, comparison, name):
        round = make_round(collection=comparison.collection)
        writer = make_annotator(round)
        Membership.objects.create(project=comparison.project, user=writer, role=Role.MANAGER)
        assert client_of(writer).get(path_of(name, comparison)).status_code == 200
        batches.take_batch(round=round, annotator=writer, now=timezone.now(), rng=Random(1))
        response = client_of(writer).get(path_of(name, comparison), follow=True)
        assert response.redirect_chain[0][0] == path_of("comparison-list", comparison)
        assert "to finish yourself" in response.content.decode()
        assert not re.search("(base|test) caption of", response.content.decode())


class TestCreatingInTheBrowser:
    @pytest.fixture
    def collection(self):
        return make_collection(4)

    @pytest.fixture
    def models(self, collection):
        base = make_captioner(collection, "blip", text="base caption", language="de")
        test = make_captioner(collection, "pali", text="test caption", language="de")
        for model in (base, test):
            images = collection.entries.all()[: 2 if model == base else 4]
            ModelCaption.objects.bulk_create(
                ModelCaption(model=model, image_id=entry.image_id, language_id="bn", text=f"{model.name} {entry.key}")
                for entry in images
            )
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
            "hold_h": "1.5",
            "gold_percent": "10",
            "repeat_percent": "5",
            "checks_before_pause": "4",
            "failures_percent": "30",
        }

    def test_what_is_chosen_is_set_up_and_filled_at_once(
        self, manager, project, path, models, answers, monkeypatch, django_capture_on_commit_callbacks
    ):
        nudged: list[int] = []
        monkeypatch.setattr(tasks.fill_comparison, "delay", nudged.append)
        with django_capture_on_commit_callbacks(execute=True):
            response = manager.post(path, answers)
        assert response["Location"] == reverse("sxs_eval:comparison-list", args=["lions"])
        made = project.comparisons.filter(base=models[0])
        assert sorted(nudged) == sorted(made.values_list("pk", flat=True))
        assert {row.language_id for row in made} == {"de", "bn"}
        for row in made:
            assert (row.test, row.subset, row.seed, row.scale) == (models[1], None, 77, Scale.FIVE)
            assert row.equal_captions == EqualCaptions.SIMILAR
            assert (row.pool.replication, row.pool.batch_size, row.pool.hold_s) == (2, 6, 5400)
            assert (row.gold_percent, row.repeat_percent) == (10, 5)
            assert (row.checks_before_pause, row.failures_percent) == (4, 30)
            assert row.created_by == project.created_by
            assert row.awaits_pairs

    def test_the_form_sent_twice_makes_it_once(self, manager, project, path, answers):
        manager.post(path, answers)
        page = manager.post(path, answers, follow=True).content.decode()
        assert "There already, with the same seed, and left as it is: German, Bengali." in page
        assert project.comparisons.filter(base__name="blip").count() == 2

    def test_a_seed_is_drawn_anew_each_time_and_can_be_changed(self, manager, path):
        seeds = {manager.get(path).context["form"]["seed"].value() for _ in range(3)}
        assert len(seeds) == 3

    def test_each_language_has_how_many_images_both_describe_and_others_are_named_apart(self, manager, path):
        form = manager.get(path).context["form"]
        counts = {choice.coverage.language.tag: choice.coverage.images for choice in form.choices()}
        assert list(counts.items()) == [("de", 4), ("bn", 2)]
        page = manager.get(path).content.decode()
        assert "French" in page[page.index("No image is described by both models in:") :]
        assert "language-fr" not in page

    def test_a_language_without_images_is_not_taken_even_if_sent(self, manager, project, path, answers):
        response = manager.post(path, answers | {"language-de": "", "language-bn": "", "language-fr": "on"})
        assert response.status_code == 422
        assert "Choose at least one language" in response.content.decode()

    def test_two_models_without_a_language_in_common_are_said(self, manager, project, collection, models):
        other = make_captioner(collection, language="fr")
        asked = {"collection": collection.slug, "base": models[0].pk, "test": other.pk}
        page = manager.get(path_of_create(project), asked).content.decode()
        assert "No image of this collection is described by both models in any language." in page
        assert 'name="seed"' not in page

    def test_what_is_compared_already_is_said(self, manager, path, answers):
        manager.post(path, answers)
        assert manager.get(path).content.decode().count("compared already") == 2

    def test_languages_with_fewer_images_than_wanted_are_said_afterwards(self, manager, path, answers):
        page = manager.post(path, answers | {"subset": "3"}, follow=True).content.decode()
        assert "Fewer than 3 images are described by both models" in page
        assert "Bengali (2)" in page
        assert "German (4)" not in page

    @pytest.mark.parametrize(
        ("changes", "field", "error"),
        [
            ({"subset": "5"}, "subset", "has 4 images only"),
            ({"subset": "0"}, "subset", "greater than or equal to 1"),
            ({"seed": ""}, "seed", "This field is required"),
            ({"seed": "-1"}, "seed", "greater than or equal to 0"),
            ({"seed": str(2**70)}, "seed", "less than or equal to"),
            ({"scale": "6"}, "scale", "not one of the available choices"),
            ({"equal_captions": "hidden"}, "equal_captions", "not one of the available choices"),
            ({"replication": "0"}, "replication", "greater than or equal to 1"),
            ({"batch_size": "999"}, "batch_size", "less than or equal to 200"),
            ({"hold_h": "0"}, "hold_h", "greater than or equal to 0.25"),
            ({"gold_percent": "51"}, "gold_percent", "less than or equal to 50"),
            ({"repeat_percent": "x"}, "repeat_percent", "Enter a whole number"),
            ({"checks_before_pause": "0"}, "checks_before_pause", "greater than or equal to 1"),
            ({"failures_percent": "101"}, "failures_percent", "less than or equal to 100"),
            ({"language-de": "", "language-bn": ""}, "__all__", "Choose at least one language"),
        ],
    )
    def test_a_mistake_is_explained_at_its_field_and_nothing_is_made(
        self, manager, project, path, answers, changes, field, error
    ):
        response = manager.post(path, answers | changes)
        assert response.status_code == 422
        assert error in " ".join(response.context["form"].errors[field])
        assert error in response.content.decode()
        assert project.comparisons.filter(base__name="blip").count() == 0

    def test_the_models_are_offered_with_their_languages(self, manager, project, collection, models):
        page = manager.get(path_of_create(project), {"collection": collection.slug}).content.decode()
        assert "blip (2 languages)" in page

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

    def test_a_collection_that_one_model_describes_says_what_is_missing(self, manager, project):
        collection = make_collection(1)
        make_captioner(collection)
        page = manager.get(path_of_create(project), {"collection": collection.slug}).content.decode()
        assert "needs captions of this collection by two models" in page

    def test_a_collection_that_is_not_there_is_said(self, manager, project):
        page = manager.get(path_of_create(project), {"collection": "none"}).content.decode()
        assert "There is no such collection any more" in page


def path_of_create(project) -> str:
    return reverse("sxs_eval:comparison-create", args=[project.slug])


class TestTheListOfComparisons:
    def test_it_shows_the_numbers_and_keeps_them_up_to_date(self, manager, comparison):
        judge_all(comparison, make_rater(comparison))
        for name in ("comparison-list", "comparisons-progress"):
            page = manager.get(path_of(name, comparison)).content.decode()
            assert "3 of 9 judgements" in page
            assert f'hx-get="{path_of("comparisons-progress", comparison)}"' in page
            assert ("<html" in page) == (name == "comparison-list")

    def test_it_links_to_all_that_is_done_there(self, manager, comparison):
        page = manager.get(path_of("comparison-list", comparison)).content.decode()
        for name in ("comparison-create", "comparison-settings", "rater-list", "instructions-publish"):
            assert path_of(name, comparison) in page
        assert f"{reverse('people:invitation-create', args=['lions'])}?role=rater" in page

    def test_it_costs_the_same_whatever_was_judged_and_however_many_there_are(self, manager, comparison):
        counts = []
        for _ in range(2):
            with CaptureQueriesContext(connection) as queries:
                manager.get(path_of("comparisons-progress", comparison))
            counts.append(len(queries))
            judge_all(comparison, make_rater(comparison))
            make_comparison(project=comparison.project, language="bn")
        assert counts[0] == counts[1] <= 12

    def test_counts_are_of_what_there_is(self, comparison):
        Comparison.objects.filter(pk=comparison.pk).update(gold_percent=0)
        comparison.refresh_from_db()
        finished, slow, late = (make_rater(comparison) for _ in range(3))
        judge_all(comparison, finished)
        judging.take_batch(comparison=comparison, rater=slow, now=NOW, rng=Random(1))
        overdue = judging.take_batch(comparison=comparison, rater=late, now=NOW - WEEK, rng=Random(1))
        row = project_progress(comparison.project, now=NOW).comparisons[0]
        assert (row.pairs, row.wanted, row.done, row.held, row.lapsed) == (3, 9, 3, 3, 3)
        assert (row.at_work, row.qualified, row.paused, row.left_out, row.open) == (1, 3, 0, 0, 3)
        judge_all(comparison, make_rater(comparison))
        judging.judge(batch_id=overdue.pk, rater=late, position=1, choice=0, now=NOW)
        row = project_progress(comparison.project, now=NOW).comparisons[0]
        assert (row.done, row.held, row.lapsed, row.late) == (6, 3, 2, 1)

    def test_equal_pairs_that_nobody_sees_are_beside_the_pairs(self, manager, project):
        collection = make_collection(3)
        made = make_comparison(
            project=project,
            collection=collection,
            base=make_captioner(collection, text="caption", language="de"),
            test=make_captioner(collection, text="caption", language="de"),
            equal_captions=EqualCaptions.SIMILAR,
        )
        row = next(row for row in project_progress(project, now=NOW).comparisons if row.comparison == made)
        assert (row.pairs, row.unseen, row.wanted) == (0, 3, 0)
        assert "and 3 equal" in manager.get(reverse("sxs_eval:comparison-list", args=["lions"])).content.decode()

    def test_paused_raters_are_a_notice_with_the_way_to_them_for_managers(self, manager, researcher, comparison):
        Standing.objects.create(comparison=comparison, person=make_rater(comparison))
        path = path_of("comparison-list", comparison)
        assert "1 rater failed too many attention items" in manager.get(path).content.decode()
        page = researcher.get(path).content.decode()
        assert "A manager of the project has to look at it" in page
        assert "1 rater paused" in researcher.get(path_of("evaluation-list", comparison)).content.decode()

    def test_evaluations_cost_the_same_however_many_comparisons_there_are(self, manager, comparison):
        counts = []
        for _ in range(2):
            with CaptureQueriesContext(connection) as queries:
                page = manager.get(path_of("evaluation-list", comparison)).content.decode()
            counts.append(len(queries))
            make_comparison(project=comparison.project, language="bn")
            judge_all(comparison, make_rater(comparison))
        assert counts[0] == counts[1] <= 10
        assert "3 of 18 judgements" in page

    @pytest.mark.parametrize("name", ["comparison-list", "comparison-create", "gold-list", "rater-list"])
    def test_pages_have_no_inline_script_or_style(self, manager, comparison, name):
        page = manager.get(path_of(name, comparison)).content.decode()
        assert " style=" not in page
        assert " onclick=" not in page


WEEK = timedelta(days=7)


def judge_all(comparison: Comparison, rater) -> None:
    batch = judging.take_batch(comparison=comparison, rater=rater, now=NOW, rng=Random(1))
    for position in batch.judgements.values_list("position", flat=True):
        judging.judge(batch_id=batch.pk, rater=rater, position=position, choice=0, now=NOW)


class TestSettings:
    ANSWERS: ClassVar[dict[str, str]] = {
        "replication": "4",
        "batch_size": "7",
        "hold_h": "2",
        "gold_percent": "0",
        "repeat_percent": "9",
        "checks_before_pause": "6",
        "failures_percent": "50",
    }

    def test_they_are_saved(self, manager, comparison):
        response = manager.post(path_of("comparison-settings", comparison), self.ANSWERS)
        assert response.status_code == 302
        comparison = Comparison.objects.select_related("pool").get(pk=comparison.pk)
        assert (comparison.pool.replication, comparison.pool.batch_size, comparison.pool.hold_s) == (4, 7, 7200)
        assert (comparison.gold_percent, comparison.repeat_percent) == (0, 9)
        assert (comparison.checks_before_pause, comparison.failures_percent) == (6, 50)
        assert not comparison.pool.is_open
        assert set(Task.objects.filter(pool=comparison.pool).values_list("places", flat=True)) == {4}

    def test_a_lease_left_alone_stays_to_the_second(self, manager, comparison):
        Pool.objects.filter(pk=comparison.pool_id).update(hold_s=1234)
        shown = manager.get(path_of("comparison-settings", comparison)).context["form"].initial
        manager.post(path_of("comparison-settings", comparison), {**shown, "batch_size": "3"})
        assert Pool.objects.get(pk=comparison.pool_id).hold_s == 1234

    def test_lowering_the_replication_says_how_many_stay_above(self, manager, comparison):
        for _ in range(2):
            judge_all(comparison, make_rater(comparison))
        answers = self.ANSWERS | {"replication": "1"}
        page = manager.post(path_of("comparison-settings", comparison), answers, follow=True).content.decode()
        assert "German: 3 pairs keep more places" in page

    def test_a_mistake_changes_nothing(self, manager, comparison):
        response = manager.post(path_of("comparison-settings", comparison), self.ANSWERS | {"gold_percent": "90"})
        assert response.status_code == 422
        assert "less than or equal to 50" in response.content.decode()
        comparison.refresh_from_db()
        assert comparison.gold_percent == 20

    def test_new_captions_are_looked_for(self, researcher, comparison, monkeypatch, django_capture_on_commit_callbacks):
        nudged: list[int] = []
        monkeypatch.setattr(tasks.fill_comparison, "delay", nudged.append)
        with django_capture_on_commit_callbacks(execute=True):
            assert researcher.post(path_of("pairs-add", comparison)).status_code == 302
        assert nudged == [comparison.pk]
        assert Comparison.objects.get(pk=comparison.pk).awaits_pairs


class TestGoldPairs:
    @pytest.fixture
    def gold(self, comparison) -> GoldPair:
        return comparison.gold_pairs.first()

    def send(self, client: Client, comparison: Comparison, *lines: str, **more: str):
        file = SimpleUploadedFile("gold.jsonl", "\n".join(lines).encode())
        return client.post(path_of("gold-list", comparison), {"file": file, **more}, follow=True)

    def keys(self, comparison) -> list[str]:
        return list(comparison.collection.entries.order_by("key").values_list("key", flat=True))

    def test_both_captions_are_shown_with_which_is_better(self, manager, comparison, gold):
        page = manager.get(path_of("gold-list", comparison)).content.decode()
        assert page.index(gold.better) < page.index(gold.worse)
        assert "Not answered yet." in page

    def test_one_is_switched_off_and_on_again(self, researcher, comparison, gold):
        path = reverse("sxs_eval:gold-change", args=["lions", comparison.pk, gold.pk])
        for sent, is_used in (("0", False), ("1", True)):
            response = researcher.post(path, {"is_used": sent, "page": "1"})
            assert response["Location"].endswith(f"/gold/?page=1#gold-{gold.pk}")
            gold.refresh_from_db()
            assert gold.is_used is is_used

    def test_a_gold_pair_of_another_comparison_is_not_changed(self, manager, comparison):
        other = make_comparison(gold_percent=20).gold_pairs.first()
        path = reverse("sxs_eval:gold-change", args=["lions", comparison.pk, other.pk])
        assert manager.post(path, {"is_used": "0"}).status_code == 404
        other.refresh_from_db()
        assert other.is_used

    def test_those_that_most_raters_failed_come_first(self, manager, comparison, gold):
        failed = comparison.gold_pairs.last()
        rater = make_rater(comparison)
        batch = judging.take_batch(comparison=comparison, rater=rater, now=NOW, rng=Random(1))
        batch.judgements.create(
            position=90, comparison=comparison, person=rater, kind="gold", gold=failed, test_is_left=True, choice=0,
            score=0, judged_at=NOW,
        )  # fmt: skip
        page = manager.get(path_of("gold-list", comparison))
        assert page.context["golds"][0].gold == failed
        assert "Failed by 1 of 1 rater." in page.content.decode()

    def test_own_pairs_are_added_by_key_and_only_those_used_where_that_is_asked_for(self, manager, project):
        comparison = make_comparison(project=project, images=3, gold_percent=20)
        comparison.gold_pairs.exclude(pk=comparison.gold_pairs.first().pk).delete()
        drawn = comparison.gold_pairs.get()
        key = next(entry.key for entry in comparison.collection.entries.all() if entry.image_id != drawn.image_id)
        line = f'{{"image": "{key}", "better": "Ein Hund", "worse": "Ein Boot"}}'
        page = self.send(manager, comparison, line, only_these="on").content.decode()
        assert "1 gold pair was added, 0 were there already" in page
        own = comparison.gold_pairs.get(better="Ein Hund", worse="Ein Boot")
        assert own.image.entries.get().key == key
        assert own.is_used
        drawn.refresh_from_db()
        assert not drawn.is_used
        again = self.send(manager, comparison, line).content.decode()
        assert "0 gold pairs were added, 1 were there already" in again

    def test_lines_that_cannot_be_taken_are_named_one_by_one_and_the_others_are_taken(self, manager, comparison):
        comparison.gold_pairs.all().delete()
        first, second, _third = self.keys(comparison)
        page = self.send(
            manager, comparison,
            f'{{"image": "{first}", "better": "Ein Hund", "worse": "Ein Boot"}}',
            '{"image": "nowhere", "better": "Ein Hund", "worse": "Ein Boot"}',
            f'{{"image": "{second}", "better": "Ein Hund"}}',
            f'{{"image": "{second}", "better": "Ein Hund", "worse": "Ein  Hund "}}',
            '{"better": "Ein Hund", "worse": "Ein Boot"}',
            "not json",
            f'{{"image": "{first}", "better": "Eine Katze", "worse": "Ein Boot"}}',
            '["a list"]',
            only_these="",
        )  # fmt: skip
        assert page.status_code == 422
        text = page.content.decode()
        for problem in (
            "Line 2: “nowhere”: no image of the collection has this key",
            "Line 3: worse: There is no caption.",
            "Line 4: Both captions are the same",
            "Line 5: Names no image",
            "Line 6:",
            f"Line 7: “{first}” has another gold pair already",
            "Line 8: Not a JSON object with “image”, “better” and “worse”.",
        ):
            assert problem in text, problem
        assert "Line 1:" not in text
        assert comparison.gold_pairs.get().better == "Ein Hund"

    def test_a_picture_of_another_collection_is_not_taken(self, manager, comparison):
        other = make_collection(1).entries.get()
        line = f'{{"image": "{other.key}", "better": "Ein Hund", "worse": "Ein Boot"}}'
        assert "no image of the collection" in self.send(manager, comparison, line).content.decode()

    def test_a_file_without_one_good_line_switches_nothing_off(self, manager, comparison, gold):
        self.send(manager, comparison, "not json", only_these="on")
        assert not comparison.gold_pairs.filter(is_used=False).exists()

    @pytest.mark.parametrize(
        ("content", "error"),
        [
            (b"\xff\xfe\x00{", "UTF-8"),
            (b"[{", "JSON"),
            (b"", "The submitted file is empty"),
            (b" " * 6_000_000, "5 MB"),
        ],
    )
    def test_a_file_that_cannot_be_read_is_said(self, manager, comparison, content, error):
        file = SimpleUploadedFile("gold.jsonl", content)
        response = manager.post(path_of("gold-list", comparison), {"file": file})
        assert response.status_code == 422
        assert error in response.content.decode()

    def test_no_file_is_said_at_the_field(self, manager, comparison):
        response = manager.post(path_of("gold-list", comparison), {"only_these": "on"})
        assert response.status_code == 422
        assert response.context["form"].errors["file"]


class TestInstructions:
    def test_the_next_version_is_put_in_force_and_shown_as_raters_see_it(self, researcher, comparison):
        path = path_of("instructions-publish", comparison)
        assert Instructions.objects.get(project=comparison.project).version == 1
        page = researcher.post(path, {"body": "## Look **twice**"}, follow=True).content.decode()
        assert "Version 2 is in force" in page
        assert "<h2>Look <strong>twice</strong></h2>" in page
        assert Instructions.objects.get(project=comparison.project, version=2).body == "## Look **twice**"

    def test_an_empty_text_is_refused(self, manager, comparison):
        response = manager.post(path_of("instructions-publish", comparison), {"body": " "})
        assert response.status_code == 422
        assert Instructions.objects.count() == 1

    def test_a_project_without_comparisons_begins_with_the_default(self):
        project = make_project()
        page = client_of(project.created_by).get(reverse("sxs_eval:instructions-publish", args=[project.slug]))
        assert page.context["form"]["body"].value() == defaults.instructions()


class TestTheWaysIn:
    def test_the_project_page_leads_to_the_comparisons(self, manager, comparison):
        page = manager.get(reverse("annotation:project-show", args=["lions"])).content.decode()
        assert path_of("comparison-list", comparison) in page

    @pytest.mark.parametrize(
        "name", ["instructions", "comparison", "pair", "goldpair", "judgingbatch", "judgement", "standing"]
    )
    def test_rows_are_looked_up_by_the_installer_without_captions_and_not_changed(self, comparison, name):
        judge_all(comparison, make_rater(comparison))
        Standing.objects.create(comparison=comparison, person=make_rater(comparison), state=StandingState.EXCLUDED)
        installer = client_of(make_user(is_staff=True, is_superuser=True))
        model = apps.get_model("sxs_eval", name)
        row = reverse(f"admin:sxs_eval_{name}_change", args=[model.objects.first().pk])
        for path in (reverse(f"admin:sxs_eval_{name}_changelist"), row):
            page = installer.get(path)
            assert page.status_code == 200
            assert not re.search("(base|test) caption of", page.content.decode())
        assert installer.get(reverse(f"admin:sxs_eval_{name}_add")).status_code == 403
