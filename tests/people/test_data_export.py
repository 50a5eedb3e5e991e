"""One's own data as a file: all that one did, nothing of others, nothing that screen 2 must not show."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from typing import Any
from zipfile import ZipFile

import pytest
from django.urls import reverse

from annotation.models import Caption, CaptionBatch, Feedback, Rating, Round
from core.people import personal_data
from core.people.models import User
from core.people.selectors.data_export import write_archive
from core.people.services import audit_log, tokens
from core.people.services.consent import withdraw_consent
from gapgame.models import GapItem as Sentence
from sxs_eval.models import Judgement
from tests.annotation.submitting import submit_captions, take, write
from tests.annotation.verifying import make_captioned_round, make_reviewer, make_verification, rate_all
from tests.clients import client_of
from tests.factories import (
    NOW,
    join_project,
    make_annotator,
    make_comparison,
    make_player,
    make_rater,
    make_round,
    make_season,
    make_translation,
)
from tests.gapgame.seasons import play
from tests.sxs_eval import judged

pytestmark = pytest.mark.django_db
ADDRESS = reverse("people:data-download")
LATER = NOW + timedelta(hours=1)


@pytest.fixture
def round() -> Round:
    return make_round(images=4, replication=2, batch_size=2)


@pytest.fixture
def ann(round: Round) -> User:
    return make_annotator(round, "ann")


def archive_of(person: User) -> dict[str, Any]:
    """File name to what is in it: lists of rows, and the text."""
    file = io.BytesIO()
    write_archive(person, file)
    with ZipFile(file) as archive:
        assert archive.testzip() is None
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    return {name: json.loads(text) if name.endswith(".json") else text for name, text in files.items()}


def test_the_archive_has_what_the_person_did_in_every_kind_of_work(round: Round, ann: User):
    project = round.project
    submit_captions(round, ann, "Ein Bild von etwas ")
    rating = make_translation(round.project, language="de")
    writing = make_translation(round.project, language="de", kind="writing", revision=2)
    CaptionBatch.objects.update(guidelines_language="de", rating_translation=rating, writing_translation=writing)
    Feedback.objects.create(project=project, round=round, person=ann, text="Well done", by=project.created_by, at=NOW)
    tokens.make_token(user=ann, name="my script", may_write=False, expires_at=LATER, now=NOW)
    audit_log.record(project=project, action="annotator.paused", about="de", by=project.created_by, person=ann, now=NOW)
    withdraw_consent(project=project, user=ann, keeps_answers=True, now=LATER)
    data = archive_of(ann)
    assert data["account/profile.json"][0]["username"] == "ann"
    assert [row["language"] for row in data["account/language-skills.json"]] == ["de"]
    assert [row["role"] for row in data["account/memberships.json"]] == ["annotator"]
    consent = data["account/consents.json"][0]
    assert (consent["version"], consent["body"], consent["answers_kept"]) == (1, "I agree.", True)
    assert [row["name"] for row in data["account/tokens.json"]] == ["my script"]
    assert [row["action"] for row in data["account/log.json"]] == ["annotator.paused", "consent.withdrawn"]
    assert [row["you_did_it"] for row in data["account/log.json"]] == [False, True]
    typed = [row["text_as_typed"] for row in data["annotation/captions.json"]]
    assert typed == ["Ein Bild von etwas  1", "Ein Bild von etwas  2"]
    images = data["annotation/images.json"]
    keys = set(round.collection.entries.values_list("key", flat=True))
    assert {row["image_key"] for row in images} < keys
    assert all(row["rating"] == "GOOD" for row in images)
    assert "english caption" not in json.dumps(data)
    assert data["annotation/feedback.json"][0]["text"] == "Well done"
    assert data["annotation/batches.json"][0]["state"] == "done"
    batch = data["annotation/batches.json"][0]
    assert (batch["guidelines_revision"], batch["writing_language"], batch["writing_revision"]) == (1, "de", 2)
    for rows in (data["annotation/batches.json"], data["annotation/captions.json"]):
        assert {(row["guidelines_version"], row["guidelines_language"]) for row in rows} == {(1, "de")}


def test_every_file_is_told_of_in_the_text_and_an_empty_one_is_an_empty_list(ann: User):
    data = archive_of(ann)
    readme = data.pop("README.txt")
    assert all(name in readme for name in data)
    assert data["annotation/captions.json"] == []
    assert {name.split("/")[0] for name in data} == {"account", "images", "inference", "scoring", *personal_data._kinds}


@pytest.mark.long(reason="at least three others run each of its lines")
def test_of_images_assigned_there_is_no_rating_and_the_draft_is_there(round: Round, ann: User):
    done = submit_captions(round, ann)
    batch = take(round, ann)
    write(batch, ann, "Ein Entwurf")
    images = archive_of(ann)["annotation/images.json"]
    assigned = [row for row in images if row["batch"] == str(batch.pk)]
    assert len(assigned) == 2
    assert not [row for row in assigned if {"rating", "rated_at", "rating_ms"} & row.keys()]
    assert {row["text"] for row in assigned} == {"Ein Entwurf 1", "Ein Entwurf 2"}
    assert all("rating" in row for row in images if row["batch"] == str(done.pk))


@pytest.mark.long(reason="at least three others run each of its lines")
def test_what_is_in_submit_another_project_counts_as_assigned(round: Round, ann: User):
    submit_captions(round, ann)
    elsewhere = make_round(collection=round.collection, captioners=list(round.captioners.all()), batch_size=4)
    join_project(elsewhere.project, ann)
    Feedback.objects.create(
        project=round.project,
        round=round,
        person=ann,
        caption=Caption.objects.filter(author=ann).first(),
        text="It is a zebra",
        by=round.project.created_by,
        at=NOW,
        acknowledged_at=NOW,
    )
    assert "It is a zebra" in str(archive_of(ann))
    take(elsewhere, ann)
    data = archive_of(ann)
    assert not [row for row in data["annotation/images.json"] if "rating" in row]
    assert "It is a zebra" not in str(data)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_nothing_of_other_people_is_in_it():
    written, _authors = make_captioned_round(images=3, captions=1)
    manager = written.project.created_by
    verifying = make_verification(written, places=1)
    rater = make_reviewer(verifying, "rae")
    rate_all(verifying, rater, Rating.BAD)
    audit_log.record(
        project=written.project,
        action="round.opened",
        about="de",
        by=manager,
        person=None,
        now=NOW,
        details={"reason": "xyzzy"},
    )
    data = archive_of(rater)
    assert [row["rating"] for row in data["annotation/verdicts.json"]] == ["BAD"] * 3
    text = json.dumps(data, ensure_ascii=False)
    assert "Bild" not in text
    assert manager.username not in text
    assert "xyzzy" not in text


def test_judgements_are_there_as_given_and_nothing_says_whose_the_captions_are():
    comparison = make_comparison(images=3, gold_percent=50)
    rater = make_rater(comparison)
    for row in judged.take(comparison, rater).judgements.select_related("person").order_by("position"):
        judged.answer(row, 2, comment="=so")
    data = archive_of(rater)
    rows = data["sxs_eval/judgements.json"]
    given = Judgement.objects.filter(person=rater).order_by("judged_at", "pk").values_list("choice", flat=True)
    assert [row["choice"] for row in rows] == list(given)
    assert {row["said"] for row in rows} <= {"Left is better", "Right is better"}
    assert set(rows[0]) == {
        *("batch", "position", "comparison", "choice", "comment", "judged_at", "active_ms", "is_late", "said")
    }
    for secret in (comparison.base.name, comparison.test.name, "caption of"):
        assert secret not in json.dumps(data), secret


def test_of_the_game_finished_turns_are_there_and_no_word_that_may_still_be_guessed():
    season = make_season(items=2, batch_size=2)
    player = make_player(season, "pat", nickname="Patty")
    first, second = Sentence.objects.filter(item_set=season.item_set).order_by("pk")
    Sentence.objects.filter(pk=second.pk).update(word="zebrafish")
    play(player, item=first, guesses=("cat",))
    play(player, item=second, guesses=("dog",))
    data = archive_of(player.user)
    assert data["gapgame/game-seasons.json"][0]["nickname"] == "Patty"
    turns = data["gapgame/game-turns.json"]
    assert [(turn["word"], turn["outcome"], turn["score"]) for turn in turns] == [("cat", "attempt_1", 1.0)]
    assert "zebrafish" not in json.dumps(data)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_same_data_give_the_same_bytes_and_cost_as_many_queries_for_much_as_for_little(
    round: Round, ann: User, django_assert_max_num_queries: Any
):
    submit_captions(round, ann)
    first, second = io.BytesIO(), io.BytesIO()
    write_archive(ann, first)
    write_archive(ann, second)
    assert first.getvalue() == second.getvalue()
    submit_captions(round, ann)
    with django_assert_max_num_queries(45):
        write_archive(ann, io.BytesIO())


@pytest.mark.long(reason="at least three others run each of its lines")
def test_it_is_downloaded_as_a_file_that_nobody_keeps(ann: User):
    client = client_of(ann)
    response = client.get(ADDRESS)
    assert response["Content-Type"] == "application/zip"
    assert "no-store" in response["Cache-Control"]
    assert 'attachment; filename="crosslens-own-data.zip"' in response["Content-Disposition"]
    with ZipFile(io.BytesIO(b"".join(response))) as archive:
        assert json.loads(archive.read("account/profile.json"))[0]["username"] == "ann"
