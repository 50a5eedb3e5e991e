"""What managers decide by the API about people, whom they name by the pseudonyms that answers have."""

from __future__ import annotations

from random import Random

import pytest
from django.utils import timezone

from annotation.models import Caption, CaptionState
from annotation.services import corrections
from core.people.rules.pseudonyms import pseudonym
from sxs_eval.models import Comparison, GoldPair, Judgement
from sxs_eval.services import judging
from tests.annotation.submitting import submit_captions
from tests.api.seeded import WRITTEN, Program, Seeded, make_seeded
from tests.api.test_work import address, code
from tests.factories import make_annotator, make_comparison, make_rater, make_round

pytestmark = pytest.mark.django_db


@pytest.fixture
def comparison() -> Comparison:
    made = make_comparison()
    rita = make_rater(made, "rita")
    judging.take_batch(comparison=made, person=rita, now=timezone.now(), rng=Random(1))
    first = Judgement.objects.order_by("position").first()
    judging.judge(
        batch_id=first.batch_id,
        person=rita,
        position=first.position,
        choice=0,
        comment="",
        active_ms=0,
        now=timezone.now(),
    )
    return made


@pytest.fixture
def mia(comparison: Comparison) -> Program:
    return Program(comparison.project.created_by)


def test_a_rater_is_paused_restored_and_excluded_for_good(comparison, mia):
    about = (comparison.project.slug, comparison.pk)
    (listed,) = mia.get(address("rater-list", *about)).json()["results"]
    assert (listed["state"], listed["judged"]) == ("", 1)
    where = address("rater-decide", *about, listed["rater"])

    def decided(**sent: str) -> str:
        answer = mia.post(where, **sent)
        assert answer.status_code == 200, answer.json()
        return answer.json()["state"]

    assert decided(decision="restore") == ""
    assert decided(decision="pause") == "paused"
    assert decided(decision="restore") == "restored"
    assert list(mia.post(where, decision="exclude").json()["errors"]) == ["note"]
    assert decided(decision="exclude", note="Only ever left.") == "excluded"
    assert decided(decision="restore") == "excluded"
    assert code(mia.post(address("rater-decide", *about, pseudonym(comparison.project, 0)), decision="pause")) == (
        404,
        "not-found",
    )


def test_gold_pairs_are_added_but_those_with_a_problem_and_switched_off(comparison, mia):
    where = address("gold-list", comparison.project.slug, comparison.pk)
    keys = comparison.collection.entries.values_list("key", flat=True)
    pair = {"better": "Ein Hund im Gras", "worse": "Ein Auto"}
    sent = [{"image": keys[0], **pair}, {"image": "nowhere.jpg", **pair}]
    before = GoldPair.objects.count()
    answer = mia.post(where, pairs=sent).json()
    assert (answer["added"], answer["already"]) == (1, 0)
    assert [problem["pair"] for problem in answer["problems"]] == [2]
    rows = mia.all_of(where)
    assert len(rows) == before + 1
    assert {row["image"]: row["better"] for row in rows}[keys[0]] == pair["better"]
    changed = mia.patch(f"{where}{rows[-1]['id']}/", is_used=False)
    assert changed.json() == rows[-1] | {"is_used": False}


@pytest.fixture
def seeded(made_once) -> Seeded:
    return made_once(make_seeded)


def test_an_annotator_is_paused_and_excluded_and_both_are_undone(seeded):
    mara = Program(seeded.manager)
    listed = mara.get(address("annotator-list", "lions", "de")).json()["results"]
    names = {person.username: pseudonym(seeded.project, person.pk) for person in (seeded.ann, seeded.rae)}
    ann = next(row for row in listed if row["annotator"] == names["ann-lions"])
    assert (ann["state"], ann["captions"], ann["is_excluded"]) == ("", 3, False)
    where = address("annotator-decide", "lions", "de", ann["annotator"])

    def decided(decision: str, **sent: str) -> tuple[str, bool]:
        answer = mara.post(where, decision=decision, **sent).json()
        return answer["state"], answer["is_excluded"]

    assert list(mara.post(where, decision="pause").json()["errors"]) == ["reason"]
    assert decided("pause", reason="On holiday.") == ("paused", False)
    assert decided("exclude", reason="Copied.") == ("paused", True)
    assert decided("undo") == ("paused", False)
    assert decided("lift") == ("", False)
    assert code(Program(seeded.ann).post(where, decision="qualify")) == (404, "not-found")


def test_an_unfinished_batch_is_given_to_somebody_else_or_it_is_said_why_not(seeded):
    mara, pilot = Program(seeded.manager), seeded.rating.round
    (row,) = mara.get(address("annotator-list", "lions", "fr")).json()["results"]
    assert row["open_batches"] == [str(seeded.rating.pk)]
    where = address("batch-move", "lions", seeded.rating.pk)
    refused = mara.post(where, annotator=row["annotator"])
    assert code(refused) == (409, "reassignment-refused")
    cid = make_annotator(pilot, "cid")
    moved = mara.post(where, annotator=pseudonym(seeded.project, cid.pk)).json()
    assert (moved["moved"], moved["left"]) == (seeded.rating.items.count(), 0)
    assert Program(cid).get(address("batch-show", moved["batch"])).json()["stage"] == "rate"
    again = mara.post(where, annotator=pseudonym(seeded.project, cid.pk))
    assert (code(again)[1], "ann-lions" in again.content.decode()) == ("reassignment-refused", False)


def test_feedback_on_a_round_reaches_the_annotator(seeded):
    mara = Program(seeded.manager)
    where, name = address("feedback-create", "lions", seeded.main.pk), pseudonym(seeded.project, seeded.ann.pk)
    assert list(mara.post(where, annotator=name, text=" ").json()["errors"]) == ["text"]
    made = mara.post(where, annotator=name, text="Shorter, please.")
    assert (made.status_code, made.json()["annotator"], made.json()["caption"]) == (201, name, None)
    assert [row["text"] for row in Program(seeded.ann).all_of(address("own-feedback-list"))] == ["Shorter, please."]


def test_a_returned_caption_is_rewritten_once_its_warnings_were_seen(seeded):
    round = make_round(project=seeded.project, language="cs")
    cid = make_annotator(round, "cid")
    submit_captions(round, cid, WRITTEN, now=timezone.now())
    caption = round.captions.first()
    where, program = address("caption-rewrite", caption.pk), Program(cid)
    assert code(program.get(where)) == (404, "not-found")
    corrections.return_for_correction(caption_id=caption.pk, note="Longer.", by=seeded.manager, now=timezone.now())
    shown = program.get(where).json()
    assert (shown["note"], shown["text"], shown["is_waiting"]) == ("Longer.", caption.text, True)
    assert code(program.put(where, text="")) == (422, "invalid-caption")
    warned = program.put(where, text="Ok")
    assert code(warned) == (409, "warnings-unseen")
    answer = program.put(where, text="Ok", seen=list(warned.json()["errors"]))
    assert (answer.status_code, answer.json()["text"], answer.json()["is_waiting"]) == (200, "Ok", False)
    assert program.put(where, text="Ok").status_code == 200
    assert code(program.put(where, text="Another one")) == (409, "rewrite-refused")
    assert Caption.objects.get(pk=caption.pk).state == CaptionState.COUNTED
