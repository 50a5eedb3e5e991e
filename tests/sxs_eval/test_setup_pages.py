"""The pages of comparisons: their list, settings, gold pairs and instructions, who sees them, and removal."""

from __future__ import annotations

import re
from datetime import timedelta
from random import Random
from typing import ClassVar

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.services import batches
from core.allocation.models import Pool, Task
from core.people.defaults import default_text
from core.people.models import AuditEntry, Membership, Role
from research.inference.models import ModelCaption
from sxs_eval.forms.comparisons import MAX_GOLD_FILE_BYTES
from sxs_eval.models import Comparison, EqualCaptions, GoldPair, Instructions, Pair, RaterStatus
from sxs_eval.selectors.for_others import human_judgements_of
from sxs_eval.selectors.overview import project_progress
from sxs_eval.selectors.planning import ComparisonSetting
from sxs_eval.selectors.results import comparisons_of
from sxs_eval.services import comparison_removal, comparisons, judging
from sxs_eval.services import quality as gold_services
from sxs_eval.tasks import fill_comparison
from tests.clients import client_of
from tests.factories import (
    NOW,
    make_annotator,
    make_captioner,
    make_collection,
    make_comparison,
    make_project,
    make_rater,
    make_round,
)
from tests.queries import queries_of
from tests.sxs_eval.judged import judge_all
from tests.sxs_eval.setting_up import judge_in_turn, path_of

pytestmark = pytest.mark.django_db

WEEK = timedelta(days=7)


class TestTheListOfComparisons:
    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_it_shows_the_numbers_and_keeps_them_up_to_date(self, manager, comparison):
        judge_in_turn(comparison, make_rater(comparison))
        for name in ("comparison-list", "comparisons-progress"):
            page = manager.get(path_of(name, comparison)).content.decode()
            assert "3 of 9 judgements" in page
            assert f'hx-get="{path_of("comparisons-progress", comparison)}"' in page
            assert ("<html" in page) == (name == "comparison-list")
        assert "3 of 9 judgements" in manager.get(path_of("evaluation-list", comparison)).content.decode()

    def test_it_links_to_all_that_is_done_there(self, manager, comparison):
        page = manager.get(path_of("comparison-list", comparison)).content.decode()
        for name in ("comparison-create", "comparison-settings", "rater-list", "instructions-publish"):
            assert path_of(name, comparison) in page
        assert f"{reverse('people:invitation-create', args=['lions'])}?role=rater" in page

    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.parametrize(("name", "most"), [("comparisons-progress", 12), ("evaluation-list", 10)])
    def test_it_costs_the_same_whatever_was_judged_and_however_many_there_are(self, manager, comparison, name, most):
        counts = []
        for _ in range(2):
            counts.append(len(queries_of(lambda: manager.get(path_of(name, comparison)))))
            judge_in_turn(comparison, make_rater(comparison))
            make_comparison(project=comparison.project, language="bn")
        assert counts[0] == counts[1] <= most

    def test_counts_are_of_what_there_is(self, comparison):
        Comparison.objects.filter(pk=comparison.pk).update(gold_percent=0)
        comparison.refresh_from_db()
        finished, slow, late = (make_rater(comparison) for _ in range(3))
        judge_in_turn(comparison, finished)
        judging.take_batch(comparison=comparison, person=slow, now=NOW, rng=Random(1))
        overdue = judging.take_batch(comparison=comparison, person=late, now=NOW - WEEK, rng=Random(1))
        row = project_progress(comparison.project, now=NOW).comparisons[0]
        assert (row.tasks, row.wanted, row.done, row.assigned, row.expired) == (3, 9, 3, 3, 3)
        assert (row.at_work, row.qualified, row.paused, row.comparison.left_out, row.open) == (1, 3, 0, 0, 3)
        judge_in_turn(comparison, make_rater(comparison))
        judging.judge(batch_id=overdue.pk, person=late, position=1, choice=0, now=NOW)
        row = project_progress(comparison.project, now=NOW).comparisons[0]
        assert (row.done, row.assigned, row.expired, row.late) == (6, 3, 2, 1)

    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.usefixtures("comparison")
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
        assert (row.tasks, row.unseen, row.wanted) == (0, 3, 0)
        assert "plus 3 equal" in manager.get(reverse("sxs_eval:comparison-list", args=["lions"])).content.decode()

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_paused_raters_are_a_notice_with_the_way_to_them_for_managers(self, manager, researcher, comparison):
        RaterStatus.objects.create(comparison=comparison, person=make_rater(comparison))
        path = path_of("comparison-list", comparison)
        assert "1 rater failed too many attention items" in manager.get(path).content.decode()
        page = researcher.get(path).content.decode()
        assert "A manager of the project must review this" in page
        assert "1 rater paused" in researcher.get(path_of("evaluation-list", comparison)).content.decode()

    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.parametrize("name", ["comparison-list", "comparison-create", "gold-list", "rater-list"])
    def test_pages_have_no_inline_script_or_style(self, manager, comparison, name):
        page = manager.get(path_of(name, comparison)).content.decode()
        assert " style=" not in page
        assert " onclick=" not in page


class TestSettings:
    ANSWERS: ClassVar[dict[str, str]] = {
        "replication": "4",
        "batch_size": "7",
        "lease_h": "2",
        "gold_percent": "0",
        "repeat_percent": "9",
        "checks_before_pause": "6",
        "failures_percent": "50",
    }

    def test_a_lease_left_alone_stays_to_the_second(self, manager, comparison):
        Pool.objects.filter(pk=comparison.pool_id).update(lease_s=1234)
        shown = manager.get(path_of("comparison-settings", comparison)).context["form"].initial
        manager.post(path_of("comparison-settings", comparison), {**shown, "batch_size": "3"})
        assert Pool.objects.get(pk=comparison.pool_id).lease_s == 1234

    def test_lowering_the_replication_says_how_many_stay_above(self, manager, comparison):
        for _ in range(2):
            judge_in_turn(comparison, make_rater(comparison))
        answers = self.ANSWERS | {"replication": "1"}
        page = manager.post(path_of("comparison-settings", comparison), answers, follow=True).content.decode()
        assert "German: 3 pairs keep more places" in page

    def test_a_mistake_changes_nothing_and_settings_are_saved(self, manager, comparison):
        response = manager.post(path_of("comparison-settings", comparison), self.ANSWERS | {"gold_percent": "90"})
        assert response.status_code == 422
        assert "less than or equal to 50" in response.content.decode()
        comparison.refresh_from_db()
        assert comparison.gold_percent == 20
        response = manager.post(path_of("comparison-settings", comparison), self.ANSWERS)
        assert response.status_code == 302
        comparison = Comparison.objects.select_related("pool").get(pk=comparison.pk)
        assert (comparison.pool.replication, comparison.pool.batch_size, comparison.pool.lease_s) == (4, 7, 7200)
        assert (comparison.gold_percent, comparison.repeat_percent) == (0, 9)
        assert (comparison.checks_before_pause, comparison.failures_percent) == (6, 50)
        assert not comparison.pool.is_open
        assert set(Task.objects.filter(pool=comparison.pool).values_list("places", flat=True)) == {4}

    def test_new_captions_are_looked_for(self, researcher, comparison, nudged, django_capture_on_commit_callbacks):
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

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_both_captions_are_shown_with_which_is_better_and_how_large_a_file_may_be(self, manager, comparison, gold):
        page = manager.get(path_of("gold-list", comparison)).content.decode()
        assert page.index(gold.better) < page.index(gold.worse)
        assert "No answers yet." in page
        assert f"At most {gold_services.MAX_LINES:,} lines and {MAX_GOLD_FILE_BYTES // 10**6} MB." in page

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

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_those_that_most_raters_failed_come_first(self, manager, comparison, gold):
        failed = comparison.gold_pairs.last()
        rater = make_rater(comparison)
        batch = judging.take_batch(comparison=comparison, person=rater, now=NOW, rng=Random(1))
        batch.judgements.create(
            position=90, comparison=comparison, scale=7, person=rater, kind="gold", gold=failed, test_is_left=True,
            choice=0, score=0, judged_at=NOW,
        )  # fmt: skip
        page = manager.get(path_of("gold-list", comparison))
        assert page.context["page"][0] == failed
        assert "Failed by 1 of 1 rater." in page.content.decode()

    @pytest.mark.usefixtures("comparison")
    def test_own_pairs_are_added_by_key_and_only_those_used_where_that_is_asked_for(self, manager, project):
        comparison = make_comparison(project=project, images=3, gold_percent=20)
        comparison.gold_pairs.exclude(pk=comparison.gold_pairs.first().pk).delete()
        drawn = comparison.gold_pairs.get()
        key = next(entry.key for entry in comparison.collection.entries.all() if entry.image_id != drawn.image_id)
        line = f'{{"image": "{key}", "better": "Ein Hund", "worse": "Ein Boot"}}'
        page = self.send(manager, comparison, line, only_these="on").content.decode()
        assert "1 gold pair was added. 0 were already there" in page
        own = comparison.gold_pairs.get(better="Ein Hund", worse="Ein Boot")
        assert own.image.entries.get().key == key
        assert own.is_used
        drawn.refresh_from_db()
        assert not drawn.is_used
        again = self.send(manager, comparison, line).content.decode()
        assert "0 gold pairs were added. 1 were already there" in again

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
            f'{{"image": "{second}", "better": "Un chien", "worse": "Un bateau", "language": "fr"}}',
            only_these="",
        )  # fmt: skip
        assert page.status_code == 422
        text = page.content.decode()
        for problem in (
            "Line 2: No image has the key, file name or SHA-256 “nowhere”",
            "Line 3: worse: There is no caption.",
            "Line 4: Both captions are the same",
            "Line 5: No image is named",
            "Line 6:",
            f"Line 7: “{first}” already has a different gold pair",
            "Line 8: This line is not a JSON object with “image”, “better” and “worse”.",
            "Line 9: The line says that its caption is in fr",
        ):
            assert problem in text, problem
        assert "Line 1:" not in text
        assert comparison.gold_pairs.get().better == "Ein Hund"

    @pytest.mark.parametrize("is_list", [False, True])
    def test_a_file_with_more_lines_than_a_page_can_wait_for_adds_nothing(
        self, manager, comparison, monkeypatch, is_list
    ):
        comparison.gold_pairs.all().delete()
        monkeypatch.setattr(gold_services, "MAX_LINES", 2)
        monkeypatch.setattr(gold_services, "LINES_AT_ONCE", 1)
        first, second, third = (
            f'{{"image": "{key}", "better": "Ein Hund", "worse": "Ein Boot"}}' for key in self.keys(comparison)
        )
        file = [f"[{first}, {second}, {third}]"] if is_list else [first, second, "not json"]
        page = self.send(manager, comparison, *file, only_these="on")
        assert page.status_code == 422
        assert "The file has more than 2 lines. Split it." in page.content.decode()
        assert not comparison.gold_pairs.exists()
        self.send(manager, comparison, first, second)
        assert comparison.gold_pairs.count() == 2

    def test_an_image_of_another_collection_is_not_taken_and_nothing_is_switched_off(self, manager, comparison, gold):
        other = make_collection(1).entries.get()
        line = f'{{"image": "{other.key}", "better": "Ein Hund", "worse": "Ein Boot"}}'
        assert "No image has the key" in self.send(manager, comparison, line).content.decode()
        self.send(manager, comparison, "not json", only_these="on")
        assert not comparison.gold_pairs.filter(is_used=False).exists()

    def test_a_file_that_cannot_be_read_is_said(self, manager, comparison):
        for content, error in (
            (b"\xff\xfe\x00{", "UTF-8"),
            (b"[{", "JSON"),
            (b"", "The submitted file is empty"),
            (None, "This field is required"),
            (b" " * (MAX_GOLD_FILE_BYTES + 1), "The file is larger than 1 MB. Upload it in several parts."),
        ):
            sent = {} if content is None else {"file": SimpleUploadedFile("gold.jsonl", content)}
            response = manager.post(path_of("gold-list", comparison), {"only_these": "on", **sent})
            assert response.status_code == 422
            assert error in response.content.decode()


class TestInstructions:
    def test_an_empty_text_is_refused_and_the_next_version_is_put_in_force(self, manager, comparison, researcher):
        response = manager.post(path_of("instructions-publish", comparison), {"body": " "})
        assert response.status_code == 422
        assert Instructions.objects.count() == 1
        path = path_of("instructions-publish", comparison)
        assert Instructions.objects.get(project=comparison.project).version == 1
        page = researcher.post(path, {"body": "## Look **twice**"}, follow=True).content.decode()
        assert "Version 2 is now in use" in page
        assert "<h2>Look <strong>twice</strong></h2>" in page
        assert Instructions.objects.get(project=comparison.project, version=2).body == "## Look **twice**"

    def test_a_project_without_comparisons_begins_with_the_default(self):
        project = make_project()
        page = client_of(project.created_by).get(reverse("sxs_eval:instructions-publish", args=[project.slug]))
        assert page.context["form"]["body"].value() == default_text("instructions")


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
