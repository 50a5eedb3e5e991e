"""A judgement outside the scale of its own comparison is refused wherever one comes in."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from crosslens_metrics.formats.judgements import read_judgements
from crosslens_metrics.formats.problems import FileProblemsError
from crosslens_metrics.reports.comparison import CountedJudgements
from crosslens_metrics.scales import MAX_LEVELS, SCALES, Scale, ScaleLevel
from sxs_eval.models import Judgement
from sxs_eval.services import judging
from tests.factories import NOW, make_comparison, make_rater
from tests.sxs_eval.judged import take

KNOWN = {number for scale in SCALES.values() for number in scale.numbers}
TRIED = sorted({*KNOWN, max(KNOWN) + 1, min(KNOWN) - 1})
OUTSIDE = [(scale, number) for scale in SCALES.values() for number in TRIED if number not in scale]


def named(value: Scale | int) -> str:
    return f"{value.points}-points" if isinstance(value, Scale) else str(value)


def trial_of(scale: Scale) -> Judgement:
    comparison = make_comparison(images=1, replication=1, scale=scale.points)
    return take(comparison, make_rater(comparison), now=timezone.now()).judgements.get()


def answer(client: Client, trial: Judgement, number: int, **more: Any) -> Any:
    client.force_login(trial.person)
    address = reverse("sxs_eval:judgement-save", args=[trial.batch_id, trial.position])
    return client.post(address, {"choice": number}, **more)


def level(number: int) -> ScaleLevel:
    return ScaleLevel(number, "NAME", "choice", "label", "short")


@pytest.mark.parametrize(("scale", "number"), OUTSIDE, ids=named)
class TestOutside:
    @pytest.mark.postgres
    @pytest.mark.django_db
    @pytest.mark.parametrize("is_left", [True, False])
    def test_the_database_refuses_it(self, scale, number, is_left):
        rows = Judgement.objects.filter(pk=trial_of(scale).pk)
        score = number if is_left else -number
        with pytest.raises(IntegrityError, match="judgement_choice_on_its_scale"), transaction.atomic():
            rows.update(choice=number, score=score, test_is_left=is_left, judged_at=NOW)

    @pytest.mark.postgres
    @pytest.mark.django_db
    def test_it_is_no_answer(self, scale, number):
        trial = trial_of(scale)
        about = {"batch_id": trial.batch_id, "person": trial.person, "position": trial.position, "now": timezone.now()}
        with pytest.raises(judging.NotOnScaleError) as refused:
            judging.judge(**about, choice=number)
        assert refused.value.choices == scale.numbers

    def test_a_file_that_names_the_scale_is_refused(self, scale, number, tmp_path):
        file = tmp_path / "judgements.csv"
        file.write_text(f"image,rater,score,scale\na.jpg,ann,0,{scale.points}\nb.jpg,ann,{number},{scale.points}\n")
        with pytest.raises(FileProblemsError, match="line 3: score is") as refused:
            read_judgements(file)
        assert f"Give one of {', '.join(map(str, scale.numbers))}, test against base" in str(refused.value)

    def test_a_report_is_refused(self, scale, number):
        name, sides = np.array(["a.jpg"], dtype=object), np.array([1], dtype=np.int8)
        with pytest.raises(ValueError, match="Scores on this scale are"):
            CountedJudgements(name, name, np.array([number]), sides, np.array([1.0]), scale)


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.django_db
@pytest.mark.parametrize("scale", SCALES.values(), ids=named)
def test_the_page_offers_each_level_with_its_key_and_keeps_it(scale, client: Client):
    trial = trial_of(scale)
    client.force_login(trial.person)
    page = client.get(reverse("sxs_eval:batch-show", args=[trial.batch_id])).content.decode()
    assert page.count('name="choice"') == scale.points
    for key, level in scale.keys.items():
        assert re.search(rf'data-key="{key}"\s+name="choice" value="{level.number}"', page)
    for number in scale.numbers:
        answer(client, trial, number)
        trial.refresh_from_db()
        assert (trial.choice, trial.scale) == (number, scale.points)
        judging.undo(batch_id=trial.batch_id, person=trial.person, position=trial.position, now=timezone.now())


@pytest.mark.parametrize("scale", SCALES.values(), ids=named)
def test_a_file_has_a_level_as_a_number_and_by_its_name(scale, tmp_path):
    file = tmp_path / "judgements.csv"
    for number in scale.numbers:
        for written in (number, scale[number].name):
            file.write_text(f"image,rater,score,scale\na.jpg,ann,{written},{scale.points}\n")
            (comparison,) = read_judgements(file).comparisons
            assert (comparison.judged.score.tolist(), comparison.judged.scale) == ([number], scale)


def test_a_comparison_in_a_file_has_one_scale_and_a_known_one(tmp_path):
    file = tmp_path / "judgements.csv"
    file.write_text("image,rater,score,scale\na.jpg,ann,2,7\nb.jpg,ann,2,5\nc.jpg,ann,2,six\n")
    with pytest.raises(FileProblemsError) as refused:
        read_judgements(file)
    assert "line 3: base_model, test_model or scale differs from line 2" in str(refused.value)
    assert f"line 4: scale is “six”. Give one of: {', '.join(map(str, SCALES))}." in str(refused.value)


def test_scales_are_kept_under_their_points():
    assert all(scale.points == points <= MAX_LEVELS for points, scale in SCALES.items())


@pytest.mark.parametrize(
    ("numbers", "problem"),
    [
        ([1, 1, 0, -1], "must go down"),
        ([-1, 0, 1], "must go down"),
        ([2, 1, 0, -1], "needs its opposite"),
        (range(5, -6, -1), "has 11 levels, but keys for 9"),
    ],
)
def test_a_scale_that_cannot_be_answered_is_refused(numbers, problem):
    with pytest.raises(ValueError, match=problem):
        Scale("points", tuple(level(number) for number in numbers))
