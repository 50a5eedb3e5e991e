"""What is sent to plan comparisons: scores, what does not fit, and the pace that hours are reckoned with."""

from __future__ import annotations

from random import Random

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from core.people.models import User
from research.inference.models import CaptioningModel
from sxs_eval.formats.plans import MAX_BYTES
from sxs_eval.forms.planning import MAX_PAIRS
from sxs_eval.models import Comparison, Judgement, RaterState, RaterStatus
from sxs_eval.rules.pace import MIN_TIMED, JudgingPace
from sxs_eval.selectors.planning import measured_pace
from sxs_eval.services.judging import take_batch
from tests.factories import NOW, make_comparison, make_project, make_rater
from tests.scoring.scored import make_references, make_scoring, run
from tests.sxs_eval.planning import SCORES, create, form_of, page_of, rows_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("models")]


def test_an_uploaded_file_takes_the_place_of_what_stands_in_the_field_and_stays_there(manager, project, collection):
    upload = SimpleUploadedFile("scores.csv", ("\ufeff" + SCORES.replace(",", ";")).encode())

    page = manager.post(page_of(project), form_of(collection, scores="nonsense", file=upload))

    assert page.status_code == 200
    assert "de;Beta;52;55" in page.content.decode()
    assert "nonsense" not in page.content.decode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (SCORES.encode("utf-16"), "not saved as UTF-8"),
        (b"x" * (MAX_BYTES + 1), "larger than 300 kB"),
        (b"", "Paste the scores here"),
        (b"language,model,a,b\nde,A\0,1,2\n", "Null characters are not allowed."),
    ],
)
def test_a_file_that_cannot_be_used_is_told(manager, project, collection, content, message):
    upload = SimpleUploadedFile("scores.csv", content)

    page = manager.post(page_of(project), form_of(collection, file=upload))

    assert page.status_code == 422
    assert message in page.content.decode()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"scores": ""}, "Paste the scores here"),
        ({"scores": "language,model,a,b\nde,A,x,1\n"}, "Line 2: a is “x”."),
        ({"scores": "x" * (MAX_BYTES + 1)}, "larger than 300 kB"),
        ({"core": "zh, de--DE"}, "is not a BCP-47 language tag"),
        ({"small": "-1"}, "greater than or equal to 0"),
        ({"sets": "a, b"}, "There is no column of scores named “a”"),
        ({"collection": "gone"}, "There is no such collection in this project."),
        ({"replication": "0"}, "greater than or equal to 1"),
    ],
)
def test_what_does_not_fit_is_told_and_the_scores_stay(manager, project, collection, changed, message):
    page = manager.post(page_of(project), form_of(collection, **changed))

    assert page.status_code == 422
    assert message in page.content.decode()
    if "scores" not in changed:
        assert "de,Gamma,70,80" in page.content.decode()


def test_more_pairs_than_the_page_takes_are_refused(manager, project, collection):
    rows = "".join(f"de,m{number},{number},{number}\n" for number in range(44))

    page = manager.post(page_of(project), form_of(collection, scores="language,model,a,b\n" + rows))

    assert page.status_code == 422
    assert f"make 946 pairs of models, and this page takes {MAX_PAIRS}." in page.content.decode()


def judged(comparison: Comparison, *seconds: float) -> User:
    """A new rater whose first judgements took so long."""
    rater = make_rater(comparison)
    batch = take_batch(comparison=comparison, person=rater, now=NOW, rng=Random(1))
    for spent, row in zip(seconds, Judgement.objects.filter(batch=batch).order_by("position"), strict=False):
        Judgement.objects.filter(pk=row.pk).update(choice=0, score=0, judged_at=NOW, active_ms=int(1000 * spent))
    return rater


def test_hours_are_reckoned_with_the_mean_pace_of_the_project_where_it_is_measured(manager, project, collection):
    comparison = make_comparison(project=project, images=MIN_TIMED)
    judged(comparison, *[10.0] * (MIN_TIMED // 2), *[11.0] * (MIN_TIMED // 2 - 1))
    assert measured_pace(project) == JudgingPace(20.0)

    judged(comparison, 60.0)

    pace = measured_pace(project)
    # Half of them took 10 seconds, one a minute, and the rest 11.
    assert pace.seconds == pytest.approx((100 + 99 + 60) / 20)
    assert (pace.judgements, pace.raters) == (MIN_TIMED, 2)
    assert measured_pace() == pace
    assert measured_pace(make_project()) == JudgingPace(20.0)
    page = manager.post(page_of(project), form_of(collection))
    assert page.context["ticked"].hours == pytest.approx((18 + 4) * 12.95 / 3600)
    assert page.context["within"] == pytest.approx(pace.within_hours(22))
    assert f"This is the mean of {MIN_TIMED} judgements in this project." in page.content.decode()
    given = manager.post(page_of(project), form_of(collection, pace="36"))
    assert given.context["ticked"].hours == pytest.approx((18 + 4) / 100)


def test_the_pace_is_that_of_judgements_that_count_and_were_timed(project):
    comparison = make_comparison(project=project, images=MIN_TIMED)
    judged(comparison, *[10.0] * MIN_TIMED)
    bob = judged(comparison, *[500.0] * MIN_TIMED)
    judged(comparison, *[0.0] * MIN_TIMED)
    status = RaterStatus.objects.create(comparison=comparison, person=bob)

    assert measured_pace(project) == JudgingPace(10.0, MIN_TIMED, 1)
    RaterStatus.objects.filter(pk=status.pk).update(state=RaterState.RESTORED)
    assert measured_pace(project).judgements == 2 * MIN_TIMED


def test_more_images_than_there_are_mean_all(manager, project, collection):
    create(manager, project, form_of(collection, subset="600"))
    assert set(Comparison.objects.values_list("subset", flat=True)) == {None}


def test_the_scores_of_the_project_fill_the_form(manager, project, collection):
    for name in ("People", "Translated"):
        references = make_references(project=project, collection=collection, language="de", name=name)
        for model in CaptioningModel.objects.filter(name__in=("Alpha", "Beta")):
            run(make_scoring(references, model=model, metrics=["bleu"]))
    page = manager.get(page_of(project), {"figure": "bleu-4"})
    filled = page.context["form"].initial
    lines = filled["scores"].splitlines()
    assert (sorted(lines[0].split(",")), len(lines)) == (["People", "Translated", "language", "model"], 3)
    proposal = manager.post(page_of(project), form_of(collection, scores=filled["scores"], metric="bleu-4"))
    assert list(rows_of(proposal)) == [("de", "Alpha", "Beta")]
    assert "figure=bleu-4" in page.text
