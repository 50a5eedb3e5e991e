"""Setting comparisons up: which images, in what order, which gold pairs; and what the database itself refuses."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from core.allocation.models import Task
from research.inference.models import CaptioningModel, ModelCaption
from sxs_eval import tasks
from sxs_eval.models import Comparison, EqualCaptions, GoldPair, Instructions, Judgement, Pair, RaterStatus, TrialKind
from sxs_eval.selectors.planning import ComparisonSetting
from sxs_eval.services import comparisons as services
from sxs_eval.services.quality import exclude_rater, restore_rater
from tests.concurrency import together
from tests.factories import (
    NOW,
    make_captioner,
    make_collection,
    make_comparison,
    make_language,
    make_project,
    make_rater,
)
from tests.sweeping import sweep
from tests.sxs_eval.judged import take
from tests.sxs_eval.setting_up import judge_in_turn

pytestmark = pytest.mark.django_db


def images_of(comparison: Comparison) -> set[int]:
    return set(comparison.pairs.values_list("image_id", flat=True))


def undescribe(model: CaptioningModel, images: int) -> list[int]:
    """Take the captions of some images away again."""
    gone = list(ModelCaption.objects.filter(model=model).order_by("pk")[:images])
    for caption in gone:
        caption.delete()
    return [caption.image_id for caption in gone]


def make_pair_of_models(collection, base: str = "base caption", test: str = "test caption", language: str = "de"):
    return {
        "collection": collection,
        "base": make_captioner(collection, text=base, language=language),
        "test": make_captioner(collection, text=test, language=language),
    }


class TestSubsets:
    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_the_same_seed_draws_the_same_images_for_other_models_and_another_seed_others(self):
        collection = make_collection(30)
        german = make_comparison(**make_pair_of_models(collection), subset=8, seed=5)
        bengali = make_comparison(**make_pair_of_models(collection, language="bn"), language="bn", subset=8, seed=5)
        assert len(images_of(german)) == 8
        assert images_of(german) == images_of(bengali)
        drawn = [images_of(make_comparison(**make_pair_of_models(collection), subset=8, seed=seed)) for seed in (5, 6)]
        assert drawn[0] != drawn[1]

    def test_an_image_that_is_not_described_is_replaced_by_the_next_and_the_others_stay(self):
        collection = make_collection(30)
        whole = make_comparison(**make_pair_of_models(collection), subset=8, seed=5)
        models = make_pair_of_models(collection)
        missing = next(iter(images_of(whole)))
        ModelCaption.objects.filter(model=models["test"], image=missing).delete()
        patched = make_comparison(**models, subset=8, seed=5)
        assert len(images_of(patched)) == 8
        assert images_of(whole) - images_of(patched) == {missing}
        assert patched.left_out == 1

    def test_where_too_few_are_described_all_of_them_are_taken(self):
        collection = make_collection(5)
        models = make_pair_of_models(collection)
        undescribe(models["base"], 3)
        made = make_comparison(**models, subset=4)
        assert (made.pairs.count(), made.left_out) == (2, 3)

    def test_a_subset_that_is_full_stays_as_it_is_when_images_before_it_are_described(self):
        models = make_pair_of_models(make_collection(12))
        late = list(ModelCaption.objects.filter(model=models["test"]).order_by("pk")[:6])
        ModelCaption.objects.filter(pk__in=[caption.pk for caption in late]).delete()
        made = make_comparison(**models, subset=4)
        before = images_of(made)
        ModelCaption.objects.bulk_create(late)
        assert services.fill_comparison(comparison_id=made.pk) == 0
        assert images_of(made) == before

    def test_without_a_subset_images_that_lack_a_caption_of_either_model_are_left_out(self):
        collection = make_collection(5)
        models = make_pair_of_models(collection)
        gone = undescribe(models["base"], 1)
        gone += [ModelCaption.objects.filter(model=models["test"]).order_by("-pk").first().image_id]
        ModelCaption.objects.filter(model=models["test"], image=gone[-1]).delete()
        made = make_comparison(**models)
        assert made.left_out == 2
        assert images_of(made).isdisjoint(gone)


class TestFilling:
    def test_it_is_done_once_however_often_it_runs(self):
        comparison = make_comparison(images=5, gold_percent=10)
        before = (images_of(comparison), Task.objects.count(), GoldPair.objects.count())
        assert services.fill_comparison(comparison_id=comparison.pk) == 0
        assert (images_of(comparison), Task.objects.count(), GoldPair.objects.count()) == before

    def test_it_goes_on_where_it_was_stopped(self, monkeypatch):
        monkeypatch.setattr(services, "PAIRS_PER_INSERT", 2)
        comparison = make_comparison(images=5)
        kept = comparison.pairs.order_by("pk").first()
        for pair in comparison.pairs.exclude(pk=kept.pk):
            pair.task.delete()
        Comparison.objects.update(awaits_pairs=True)
        assert services.fill_comparison(comparison_id=comparison.pk) == 4
        assert comparison.pairs.count() == Task.objects.count() == 5
        assert Pair.objects.get(pk=kept.pk).task_id == kept.task_id
        comparison.refresh_from_db()
        assert not comparison.awaits_pairs

    def test_images_described_since_come_in(self):
        collection = make_collection(3)
        models = make_pair_of_models(collection)
        [image] = undescribe(models["test"], 1)
        comparison = make_comparison(**models)
        assert (comparison.pairs.count(), comparison.left_out) == (2, 1)
        ModelCaption.objects.create(model=models["test"], image_id=image, language_id="de", text="Da ist es.")
        services.ask_for_missing_pairs(comparison_ids=[comparison.pk])
        assert services.fill_comparison(comparison_id=comparison.pk) == 1
        comparison.refresh_from_db()
        assert (comparison.pairs.count(), comparison.left_out, comparison.awaits_pairs) == (3, 0, False)

    def test_the_order_of_pairs_hangs_on_the_seed(self):
        collection = make_collection(12)
        keys = [
            list(comparison.pool.tasks.order_by("pk").values_list("shuffle_key"))
            for comparison in (make_comparison(**make_pair_of_models(collection), seed=seed) for seed in (1, 2))
        ]
        assert keys[0] != keys[1]
        assert keys[0] != sorted(keys[0])

    def test_new_pairs_have_the_places_that_are_asked_for_by_then(self):
        comparison = make_comparison(images=3)
        services.change_replication(comparison=comparison, replication=5, by=comparison.project.created_by, now=NOW)
        comparison.pairs.first().task.delete()
        services.fill_comparison(comparison_id=comparison.pk)
        assert set(Task.objects.values_list("places", flat=True)) == {5}


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_comparisons_whose_nudge_was_lost_are_filled_by_the_sweep():
    done = make_comparison(images=2)
    waiting = services.create_comparison(
        project=done.project,
        language=make_language("de"),
        **make_pair_of_models(make_collection(4)),
        setting=ComparisonSetting(seed=1),
        by=None,
    )
    Pair.objects.filter(comparison=done).first().delete()
    sweep(tasks.fill_comparison)
    waiting.refresh_from_db()
    assert (waiting.pairs.count(), waiting.awaits_pairs) == (4, False)
    # Nobody asked for those of the other one.
    assert done.pairs.count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_make_no_pair_twice(monkeypatch):
    monkeypatch.setattr(services, "PAIRS_PER_INSERT", 3)
    collection = make_collection(20)
    comparison = services.create_comparison(
        project=make_project(),
        language=make_language("de"),
        **make_pair_of_models(collection),
        setting=ComparisonSetting(gold_percent=10, seed=1),
        by=None,
    )
    added = together(lambda _: services.fill_comparison(comparison_id=comparison.pk), range(4))
    assert sum(added) == 20
    assert comparison.pairs.count() == Task.objects.count() == 20
    assert max(Counter(comparison.gold_pairs.values_list("image", flat=True)).values()) == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_the_same_form_sent_by_two_tabs_at_once_makes_its_comparisons_once():
    project, collection = make_project(), make_collection(2)
    about: dict[str, Any] = {
        "project": project,
        "languages": [make_language("de"), make_language("bn")],
        "by": project.created_by,
        "now": NOW,
    }
    about |= {**make_pair_of_models(collection), "setting": ComparisonSetting(seed=9)}
    outcomes = together(lambda _: services.create_comparisons(**about), range(3))
    assert sum(len(made) for made, _already in outcomes) == 2
    assert sum(len(already) for _made, already in outcomes) == 4
    assert project.comparisons.count() == 2
    assert Instructions.objects.filter(project=project).count() == 1


class TestEqualCaptions:
    @pytest.fixture
    def models(self) -> dict[str, Any]:
        collection = make_collection(3)
        models = make_pair_of_models(collection, base="caption", test="caption")
        first = ModelCaption.objects.filter(model=models["test"]).order_by("pk").first()
        ModelCaption.objects.filter(pk=first.pk).update(text="quite another one")
        second = ModelCaption.objects.filter(model=models["test"]).order_by("pk")[1]
        ModelCaption.objects.filter(pk=second.pk).update(text=f"  {second.text.replace(' ', '  ')} ")
        return models

    def test_they_are_shown_like_any_other_unless_it_is_said(self, models):
        comparison = make_comparison(**models)
        assert comparison.pairs.filter(task=None).count() == 0
        assert Task.objects.count() == 3

    def test_they_count_without_being_shown_where_that_is_said(self, models):
        comparison = make_comparison(**models, equal_captions=EqualCaptions.SIMILAR)
        assert comparison.pairs.count() == 3
        assert comparison.pairs.filter(task=None).count() == 2
        assert comparison.pairs.get(task__isnull=False).test_caption.text == "quite another one"
        batch = take(comparison, make_rater(comparison))
        assert batch.judgements.count() == 1


class TestGoldPairs:
    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_a_caption_of_the_image_is_better_than_one_of_another_image(self):
        comparison = make_comparison(images=30, gold_percent=10)
        golds = list(comparison.gold_pairs.all())
        assert len(golds) > 20
        for gold in golds:
            key = gold.image.entries.get().key
            assert gold.better in (f"base caption of {key}", f"test caption of {key}")
            assert not gold.worse.endswith(key)

    def test_both_models_give_better_and_worse_captions_so_that_neither_can_be_told_by_it(self):
        comparison = make_comparison(images=60, gold_percent=10)
        starts = Counter((gold.better[:4], gold.worse[:4]) for gold in comparison.gold_pairs.all())
        assert set(starts) == {("base", "base"), ("base", "test"), ("test", "base"), ("test", "test")}

    def test_no_more_are_drawn_than_can_be_looked_through(self, monkeypatch):
        monkeypatch.setattr(services, "MAX_DRAWN_GOLD_PAIRS", 4)
        assert 0 < make_comparison(images=12, gold_percent=10).gold_pairs.count() <= 4

    def test_they_are_drawn_by_the_seed(self):
        collection = make_collection(12)
        models = make_pair_of_models(collection)
        drawn = [
            list(
                make_comparison(**models, project=make_project(), gold_percent=10, seed=seed)
                .gold_pairs.order_by("image")
                .values_list("image", "better", "worse")
            )
            for seed in (1, 1, 2)
        ]
        assert drawn[0] == drawn[1] != drawn[2]

    def test_a_caption_that_fits_the_image_as_well_is_never_the_worse_one(self):
        comparison = make_comparison(
            **make_pair_of_models(collection := make_collection(12), base="same", test="same"), gold_percent=10
        )
        ModelCaption.objects.filter(image__collections=collection).update(text="always the same")
        comparison.gold_pairs.all().delete()
        services.fill_comparison(comparison_id=comparison.pk)
        assert not comparison.gold_pairs.exists()

    def test_none_are_drawn_until_they_are_asked_for_and_never_where_there_are_own_ones(self):
        plain = make_comparison(images=6)
        assert not plain.gold_pairs.exists()
        settings = services.PoolSettings(
            batch_size=5, lease_s=60, is_open=True, gold_percent=20, repeat_percent=0, checks_before_pause=5,
            failures_percent=40,
        )  # fmt: skip
        services.change_comparison(comparison=plain, settings=settings, by=plain.project.created_by, now=NOW)
        assert plain.gold_pairs.exists()
        own = make_comparison(images=6)
        GoldPair.objects.create(comparison=own, image=own.pairs.first().image, better="Ein Hund", worse="Ein Boot")
        services.change_comparison(comparison=own, settings=settings, by=own.project.created_by, now=NOW)
        assert own.gold_pairs.count() == 1

    def test_one_that_is_switched_off_comes_no_more(self):
        comparison = make_comparison(images=6, gold_percent=50)
        comparison.gold_pairs.update(is_used=False)
        batch = take(comparison, make_rater(comparison))
        assert not batch.judgements.filter(kind=TrialKind.GOLD).exists()


class TestDecisionsAboutRaters:
    @pytest.fixture
    def comparison(self) -> Comparison:
        return make_comparison(images=4, batch_size=4)

    def taken(self, comparison: Comparison) -> Counter[int]:
        return Counter(comparison.pool.tasks.values_list("places_taken", flat=True))

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_a_rater_left_out_of_one_comparison_works_on_in_another(self, comparison):
        other = make_comparison(project=comparison.project, images=4, batch_size=4)
        rater = make_rater(comparison)
        for each in (comparison, other):
            judge_in_turn(each, rater)
        exclude_rater(comparison=comparison, rater=rater, note="", by=comparison.project.created_by, now=NOW)
        assert self.taken(comparison) == {0: 4}
        assert self.taken(other) == {1: 4}

    def test_a_restored_rater_keeps_all_places(self, comparison):
        rater = make_rater(comparison)
        judge_in_turn(comparison, rater)
        RaterStatus.objects.create(comparison=comparison, person=rater, paused_at=NOW)
        restore_rater(comparison=comparison, rater=rater, note="", by=comparison.project.created_by, now=NOW)
        assert self.taken(comparison) == {1: 4}


class TestWhatTheDatabaseRefuses:
    @pytest.fixture
    def comparison(self) -> Comparison:
        return make_comparison(images=2, gold_percent=50)

    @pytest.fixture
    def judgement(self, comparison) -> Judgement:
        batch = take(comparison, make_rater(comparison))
        return batch.judgements.filter(kind=TrialKind.PAIR).first()

    def refuses(self, name: str, change) -> None:
        with pytest.raises(IntegrityError) as refused, transaction.atomic():
            change()
        # SQLite names the columns of a unique constraint, not the constraint.
        assert name in str(refused.value) or "UNIQUE constraint failed" in str(refused.value)

    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.parametrize(
        ("name", "change"),
        [
            ("comparison_scale_known", {"scale": 6}),
            ("comparison_equal_captions_known", {"equal_captions": "hidden"}),
            ("comparison_subset_not_empty", {"subset": 0}),
            ("comparison_attention_at_most_half", {"gold_percent": 51}),
            ("comparison_attention_at_most_half", {"repeat_percent": 51}),
            ("comparison_pause_rule_possible", {"checks_before_pause": 0}),
            ("comparison_pause_rule_possible", {"failures_percent": 101}),
        ],
    )
    def test_a_comparison_that_cannot_be(self, comparison, name, change):
        self.refuses(name, lambda: Comparison.objects.filter(pk=comparison.pk).update(**change))

    def test_a_model_against_itself(self, comparison):
        self.refuses(
            "comparison_of_two_models",
            lambda: Comparison.objects.filter(pk=comparison.pk).update(test=comparison.base_id),
        )
        with pytest.raises(services.ComparisonError, match="cannot be compared with itself"):
            make_comparison(base=(model := comparison.base), test=model)

    def test_a_version_of_instructions_or_a_pair_of_one_image_twice(self, comparison):
        self.refuses(
            "instructions_version_once",
            lambda: Instructions.objects.create(project=comparison.project, version=1, body="Again."),
        )
        first, second = comparison.pairs.all()
        self.refuses("pair_once_per_image", lambda: Pair.objects.filter(pk=second.pk).update(image=first.image_id))

    def test_two_gold_pairs_of_one_image_or_one_of_a_single_caption(self, comparison):
        gold = GoldPair.objects.first()
        self.refuses(
            "gold_pair_once_per_image",
            lambda: GoldPair.objects.create(comparison=comparison, image_id=gold.image_id, better="a", worse="b"),
        )
        self.refuses("gold_pair_of_two_captions", lambda: GoldPair.objects.filter(pk=gold.pk).update(worse=gold.better))

    def test_two_showings_at_one_position_or_one_pair_twice_to_one_rater(self, judgement):
        other = judgement.batch.judgements.exclude(pk=judgement.pk).filter(kind=TrialKind.PAIR).first()
        same = Judgement.objects.filter(pk=other.pk)
        self.refuses("judgement_one_per_position", lambda: same.update(position=judgement.position))
        self.refuses("judgement_once_per_pair_and_rater", lambda: same.update(pair=judgement.pair_id))

    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.parametrize(
        "change",
        [
            {"choice": 2, "score": 2, "judged_at": NOW, "test_is_left": False},
            {"choice": 2, "score": -2, "judged_at": NOW, "test_is_left": True},
            {"choice": 2, "score": 2, "judged_at": None, "test_is_left": True},
            {"choice": None, "score": 0, "judged_at": None},
        ],
    )
    def test_an_answer_that_does_not_say_what_its_side_says(self, judgement, change):
        same = Judgement.objects.filter(pk=judgement.pk)
        self.refuses("judgement_score_is_choice_by_side", lambda: same.update(**change))

    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.parametrize("choice", [4, -4])
    def test_an_answer_that_the_scale_does_not_have(self, judgement, choice):
        answer = {"choice": choice, "score": choice, "judged_at": NOW, "test_is_left": True}
        same = Judgement.objects.filter(pk=judgement.pk)
        self.refuses("judgement_choice_on_its_scale", lambda: same.update(**answer))

    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.parametrize(
        "change", [{"kind": "gold"}, {"kind": "repeat"}, {"kind": "other"}, {"pair": None}, {"assignment": None}]
    )
    def test_a_judgement_of_no_kind_or_two(self, judgement, change):
        self.refuses("judgement_of_one_kind", lambda: Judgement.objects.filter(pk=judgement.pk).update(**change))

    def test_a_pair_that_is_skipped_as_attention_items_are(self, judgement):
        same = Judgement.objects.filter(pk=judgement.pk)
        self.refuses("judgement_skipped_has_no_answer", lambda: same.update(is_skipped=True))

    def test_a_server_of_the_version_before_lays_out_batches_while_it_is_replaced(self, judgement):
        columns = [field.column for field in Judgement._meta.fields if field.name not in ("id", "is_skipped")]
        again = {"position": "100", "kind": "'repeat'", "assignment_id": "NULL", "repeated_id": "id"}
        values = [again.get(column, column) for column in columns]
        with connection.cursor() as cursor:
            into, of = f"sxs_eval_judgement ({', '.join(columns)})", ", ".join(values)
            cursor.execute(f"INSERT INTO {into} SELECT {of} FROM sxs_eval_judgement WHERE id = %s", [judgement.pk])  # noqa: S608
        assert not judgement.repeat.is_skipped

    def test_two_statuses_of_one_rater_or_an_unknown_one(self, comparison, judgement):
        status = RaterStatus.objects.create(comparison=comparison, person=judgement.person)
        self.refuses(
            "status_once_per_rater", lambda: RaterStatus.objects.create(comparison=comparison, person=judgement.person)
        )
        self.refuses("status_state_known", lambda: RaterStatus.objects.filter(pk=status.pk).update(state="late"))

    def test_every_named_constraint_is_broken_here(self):
        """A constraint that is added to the models wants a case above."""
        known = {
            constraint.name
            for model in (Instructions, Comparison, Pair, GoldPair, Judgement, RaterStatus)
            for constraint in model._meta.constraints
        }
        broken = Path(__file__).read_text(encoding="utf-8")
        assert {name for name in known if f'"{name}"' not in broken} == set()
