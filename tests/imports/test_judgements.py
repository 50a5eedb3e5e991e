"""Judgements by import: a closed comparison with the figures that the file had, left out where something is missing."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from core.allocation.models import Assignment, Batch, Task
from core.images.models import ImportJob
from core.jobs.models import JobState
from core.people.models import Project, User
from core.people.rules.pseudonyms import pseudonym
from office.dashboard.services.project_deletion import ask_for_deletion, delete_project
from office.imports.services.file_imports import GAPS, PREVIEW
from office.imports.services.undoing import ask_to_undo
from office.recruitment.selectors.costs import cost_rows
from research.inference.models import CaptioningModel, ModelCaption
from sxs_eval.models import Comparison, Judgement, RaterState, RaterStatus, TrialKind
from sxs_eval.selectors.overview import raters_of
from sxs_eval.services.comparisons import ComparisonError, PoolSettings, ask_for_missing_pairs, change_comparison
from tests.exported import exported_text
from tests.factories import NOW, make_collection, make_project
from tests.imports.sent import confirmed, run, send
from tests.kept import kept
from tests.sxs_eval.downloaded import make_judged
from tests.sxs_eval.judged import report
from tests.sxs_eval.test_downloads_read_back import make_partly_equal

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]
LATER = NOW + timedelta(days=2)


@kept
def judged() -> Comparison:
    """Three raters with gold pairs and repeats: one is paused, one excluded, and of the third some came late."""
    comparison = make_judged()
    people = sorted(set(Judgement.objects.values_list("person", flat=True)))
    RaterStatus.objects.create(comparison=comparison, person_id=people[0], state=RaterState.PAUSED)
    RaterStatus.objects.create(comparison=comparison, person_id=people[1], state=RaterState.EXCLUDED)
    late = Judgement.objects.filter(person=people[2], kind=TrialKind.PAIR)[:2].values_list("pk", flat=True)
    Judgement.objects.filter(pk__in=list(late)).update(is_late=True)
    return comparison


@pytest.fixture
def lines(judged) -> list[dict[str, Any]]:
    return [json.loads(line) for line in exported_text(judged.project, "judgements").splitlines()]


@kept
def partly_equal() -> Comparison:
    return make_partly_equal()


@pytest.fixture
def other(judged) -> Project:
    return another_with(judged)


def another_with(comparison: Comparison) -> Project:
    """Another project with the same images, and captions of the two models under their names."""
    project = make_project()
    comparison.collection.is_shared = True
    comparison.collection.save()
    for model in (comparison.base, comparison.test):
        mine = CaptioningModel.objects.create(name=model.name, project=project)
        for text, image in model.captions.values_list("text", "image"):
            ModelCaption.objects.create(model=mine, image_id=image, language_id="de", text=text)
    return project


def as_file(lines: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def imported(content: bytes, project: Any, collection: Any, name: str = "judged.jsonl", **wish: Any) -> ImportJob:
    return run(confirmed(content, name, project=project, collection=collection.slug, **wish), now=LATER)


def figures(comparison: Comparison) -> dict[str, Any]:
    """The report, without names of raters, which are pseudonyms."""
    said = report(comparison).as_json()
    said["raters"] = sorted((one | {"rater": ""} for one in said["raters"]), key=json.dumps)
    return said


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet", "xlsx"])
def test_an_export_comes_in_with_the_same_report_to_the_last_digit(judged, other, format):
    content = b"".join(_exported(judged, format))
    job = imported(content, other, judged.collection, f"judged.{format}")
    assert (job.state, job.error) == (JobState.DONE, "")
    made = Comparison.objects.get(project=other)
    assert figures(made) == figures(judged)
    assert figures(judged)["set_aside"] > 2
    assert (made.replication, made.seed, made.source) == (judged.replication, judged.seed, f"judged.{format}")
    assert made.gold_pairs.count() == len(set(judged.judgements.exclude(gold=None).values_list("gold", flat=True)))


def _exported(comparison: Comparison, format: str) -> Any:
    from office.exports.selectors.tables import ExportWish
    from office.exports.services.exports import export

    return export(ExportWish(comparison.project, "judgements", format, LATER))


def test_pairs_that_nobody_was_shown_count_as_they_did(partly_equal):
    content = exported_text(partly_equal.project, "judgements").encode()
    project = another_with(partly_equal)
    imported(content, project, partly_equal.collection)
    made = Comparison.objects.get(project=project)
    assert figures(made) == figures(partly_equal)
    assert figures(made)["outcome"]["images"]["counted_similar"] == 2


def test_what_is_exported_again_is_what_came_in(judged, other, lines):
    imported(as_file(lines), other, judged.collection, source="An older study")
    again = [json.loads(line) for line in exported_text(other, "judgements").splitlines()]
    same = ("image", "kind", "left_is", "choice", "score", "comment", "judged_at", "seconds", "counts", "why_not")

    def known(rows: list[dict[str, Any]]) -> list[Any]:
        return sorted(tuple(row[name] for name in same) for row in rows)

    assert known(again) == known(lines)
    assert {row["source"] for row in again} == {"An older study"}


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (["cider-d"], "cider-d"),
        (["cider-d", "bleu-4"], "*"),
        (["a metric of theirs"], "*"),
        (["", "cider-d"], "cider-d"),
    ],
)
def test_judgements_stay_no_evidence_for_the_metric_that_chose_the_models(judged, other, lines, said, kept):
    for number, line in enumerate(lines):
        line["chosen_by"] = said[number % len(said)]
    imported(as_file(lines), other, judged.collection)
    assert Comparison.objects.get(project=other).chosen_by == kept
    again = [json.loads(line) for line in exported_text(other, "judgements").splitlines()]
    assert {row["chosen_by"] for row in again} == {kept}


def test_the_preview_counts_judgements_by_pair_of_models_and_says_what_is_missing(judged, other, lines):
    ModelCaption.objects.filter(model__project=other, model__name=judged.base.name).first().delete()
    lines[0]["image"] = "nothing-like-it"
    job = send(as_file(lines), "judged.jsonl", project=other, collection=judged.collection.slug)
    (file,) = job.options[PREVIEW]
    number = len([line for line in lines if line["kind"] != "equal"])
    assert (file["kind"], file["languages"]) == ("judgements", {"de": number})
    (one,) = file["comparisons"]
    assert (one["base_model"], one["test_model"], one["raters"]) == (judged.base.name, judged.test.name, 3)
    assert file["images"]["unknown"] == 1
    reasons = {problem["kind"]: problem["count"] for problem in file["problems"]}
    assert reasons["The collection has no such image."] == 1
    assert any("has no caption of the image" in reason for reason in reasons)
    assert job.options[GAPS] == []


def test_a_file_without_sides_times_or_language_comes_in_as_what_it_says(judged, other):
    keys = list(judged.collection.entries.order_by("position").values_list("key", flat=True))
    names = {"base_model": judged.base.name, "test_model": judged.test.name}
    lines = [{"image": key, "rater": "ann@example.org", "score": 2, **names} for key in keys]
    job = send(as_file(lines), "judged.jsonl", project=other, collection=judged.collection.slug)
    assert [part for part, _text in job.options[GAPS]] == ["language"]
    imported(as_file(lines), other, judged.collection, language="de")
    made = Comparison.objects.get(project=other)
    said = report(made).as_json()
    assert said["outcome"]["gain"]["points"] == 100
    assert (made.replication, said["left"]["undefined"], said["seconds"]["undefined"]) == (
        1,
        "no_side_preferred",
        "no_times",
    )
    (row,) = raters_of(made)
    assert (row.scripted, row.left) == ({}, 0)
    assert "ann" not in row.person.username
    assert exported_text(other, "judgements").count(pseudonym(other, row.person.pk)) == len(keys)


def test_its_raters_cannot_sign_in_and_cost_nothing_and_nobody_is_asked_for_more(judged, other, lines):
    imported(as_file(lines), other, judged.collection)
    made = Comparison.objects.get(project=other)
    people = User.objects.filter(pk__in=made.judgements.values("person"))
    assert {(one.is_active, one.has_usable_password(), one.memberships.exists()) for one in people} == {
        (False, False, False)
    }
    assert cost_rows(other) == []
    assert not Task.objects.filter(pool=made.pool, is_open=True, places_taken__gt=0).exists()
    opened = PoolSettings(10, 3600, True, 0, 0, 5, 40)
    with pytest.raises(ComparisonError, match="from a file"):
        change_comparison(comparison=made, settings=opened, by=other.created_by, now=NOW)
    with pytest.raises(ComparisonError, match="gets no more pairs"):
        ask_for_missing_pairs(comparison_ids=[made.pk])
    made.refresh_from_db()
    assert (made.pool.is_open, made.awaits_pairs) == (False, False)


def test_a_file_is_imported_once(judged, other, lines):
    imported(as_file(lines), other, judged.collection)
    job = send(as_file(lines), "again.jsonl", project=other, collection=judged.collection.slug)
    assert "in the project already" in job.options[GAPS][0][1]


def test_what_a_project_exported_does_not_come_into_it_again(judged, lines):
    job = send(as_file(lines), "j.jsonl", project=judged.project, collection=judged.collection.slug)
    (file,) = job.options[PREVIEW]
    assert (file["kind"], len(job.options[GAPS])) == ("unknown", 1)
    assert "exported from it" in file["problems"][0]["kind"]


def test_a_deleted_project_takes_the_raters_of_its_files_along(judged, other, lines):
    before = User.objects.count()
    imported(as_file(lines), other, judged.collection)
    assert User.objects.count() == before + 3
    Project.objects.filter(pk=other.pk).update(archived_at=NOW)
    deletion = ask_for_deletion(project=other, by=other.created_by, now=LATER)
    delete_project(deletion_id=deletion.pk, now=LATER)
    assert User.objects.count() == before


def test_undoing_takes_out_the_comparison_its_raters_and_the_captions_that_came_along(judged, lines):
    project = make_project()
    collection = make_collection(images=0, project=project)
    for entry in judged.collection.entries.all():
        collection.entries.create(image=entry.image, key=entry.key, position=entry.position)
    before = User.objects.count()
    texts = {
        (row["image"], row[f"{of}_model"]): row[f"{of}_caption"]
        for row in lines
        for of in ("base", "test")
        if row["kind"] == "pair"
    }
    captions = [
        {"image": image, "caption": text, "model": model, "language": "de"} for (image, model), text in texts.items()
    ]
    job = _sent_together(project, collection, {"j.jsonl": as_file(lines), "captions.jsonl": as_file(captions)})
    assert [(part.kind, part.state) for part in job.parts.order_by("pk")] == [("captions", "done"), ("judged", "done")]
    made = Comparison.objects.get(project=project)
    assert figures(made) == figures(judged) | {"signature": figures(made)["signature"]}
    ask_to_undo(job=job, by=project.created_by, now=LATER)
    run(job, now=LATER)
    assert (job.stage, job.error) == ("undo", "")
    assert not Comparison.objects.filter(project=project).exists()
    assert not ModelCaption.objects.filter(model__project=project).exists()
    assert not Batch.objects.filter(pool=made.pool_id).exists()
    assert not Assignment.objects.filter(task__pool=made.pool_id).exists()
    assert User.objects.count() == before


def _sent_together(project: Any, collection: Any, files: dict[str, bytes]) -> ImportJob:
    from django.core.files.uploadedfile import SimpleUploadedFile

    from office.imports.services.file_imports import confirm, start_upload

    uploads = [SimpleUploadedFile(name, content) for name, content in files.items()]
    wish = {"collection": collection.slug}
    job = run(start_upload(project=project, uploads=uploads, wish=wish, by=project.created_by), now=LATER)
    confirm(job=job)
    job.refresh_from_db()
    return run(job, now=LATER)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"score": 9}, "score is “9”"),
        ({"judged_at": "2999-01-01T00:00:00+00:00"}, "later than now"),
        ({"replication": 0}, "replication is “0”"),
        ({"language": "not a tag"}, "not a tag"),
    ],
)
def test_a_file_with_a_wrong_line_is_refused_as_a_whole(judged, other, lines, change, reason):
    lines[1] |= change
    job = send(as_file(lines), "judged.jsonl", project=other, collection=judged.collection.slug)
    assert reason in job.options[PREVIEW][0]["problems"][0]["kind"]
    assert job.options[GAPS]
    assert not Comparison.objects.filter(project=other).exists()
