"""What managers' programs read of a project, page by page; what they may not know of is not there."""

from __future__ import annotations

import csv
import json
import shutil
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Caption, Rating, Release, Round
from annotation.services import figures
from annotation.services.feedback import check_level
from core.images.models import Collection
from core.jobs.models import JobState
from core.people.models import AuditEntry, Membership, Project, Role, User
from core.people.rules.pseudonyms import pseudonym
from research.selection.models import PlaceLevelChoice
from tests.annotation.submitting import caption_from_file, make_captions, take
from tests.api.seeded import WRITTEN, Program, Seeded, make_failed_release, make_seeded
from tests.api.test_work import address, code
from tests.clients import client_of
from tests.exported import export_address
from tests.factories import NOW, join_project, make_annotator, make_collection, make_project, make_round, make_user
from tests.selection.placing import choose, place
from tests.tiers import some

pytestmark = pytest.mark.django_db
WITH_WORDS = ("caption-list", "rating-list", "verdict-list", "feedback-list", "release-list")
OTHERS = ("language-list", "progress-show")


@pytest.fixture
def seeded(made_once) -> Seeded:
    return made_once(make_seeded)


@pytest.fixture
def mia(seeded: Seeded) -> Program:
    return Program(seeded.manager)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_one_is_told_who_one_is_and_finds_the_projects_that_one_is_in(seeded, mia):
    told = Program(seeded.ann).get(address("me")).json()
    assert (told["username"], told["reads_english"]) == ("ann-lions", True)
    assert [skill["language"] for skill in told["languages"]] == ["de", "es", "fr"]
    make_project("zebras")
    Membership.objects.create(project=seeded.project, user=seeded.manager, role=Role.RESEARCHER)
    mine = mia.all_of(address("project-list"))
    assert [(row["slug"], row["roles"]) for row in mine] == [("lions", ["manager", "researcher"])]
    assert mia.get(address("project-show", "lions")).json() == mine[0]
    assert code(mia.get(address("project-show", "zebras"))) == (404, "not-found")
    assert mine[0]["archived_at"] is None
    Project.objects.filter(pk=seeded.project.pk).update(archived_at=NOW)
    assert mia.all_of(address("project-list"))[0]["archived_at"] == "2026-03-02T09:00:00Z"


def test_rounds_are_told_with_their_states(seeded, mia):
    rounds = mia.all_of(address("round-list", "lions"), limit=3)
    told = {row["id"]: (row["kind"], row["state"], row["language"], row["verifies"]) for row in rounds}
    assert told[seeded.main.pk] == ("main", "open", "de", None)
    assert told[seeded.verification.pk] == ("verification", "open", "de", seeded.main.pk)
    assert len(told) == Round.objects.filter(project=seeded.project).count()
    of_german = mia.all_of(address("round-list", "lions"), language="DE")
    assert {row["id"] for row in of_german} == {seeded.main.pk, seeded.verification.pk}
    assert mia.get(address("round-show", "lions", seeded.main.pk)).json() in rounds
    assert [row["tag"] for row in mia.get(address("language-list", "lions")).json()["results"]] == ["de", "es", "fr"]


def test_how_far_each_round_is_is_what_the_page_says(seeded, mia):
    figures.compute(round_id=seeded.main.pk, now=seeded.main.created_at)
    rounds = {row["round"]: row for row in mia.get(address("progress-show", "lions")).json()["rounds"]}
    assert (rounds[seeded.main.pk]["wanted"], rounds[seeded.main.pk]["done"]) == (27, 6)
    assert rounds[seeded.rating.round_id]["assigned"] == 3


def test_images_come_in_the_order_of_their_collections(seeded, mia):
    images = mia.all_of(address("image-list", "lions"), limit=2)
    assert len(images) == len({image["key"] for image in images}) == 15
    of_main = [image for image in images if image["collection"] == seeded.main.collection.slug]
    assert [image["key"] for image in of_main] == sorted(image["key"] for image in of_main)
    served = of_main[0]["served"]
    assert served["licence"] == "CC BY 4.0"
    assert [size["width"] for size in served["sizes"]] == [320, 640]


def test_researchers_read_what_people_wrote_under_pseudonyms_and_no_feedback(seeded, mia):
    rho = make_user("rho")
    Membership.objects.create(project=seeded.project, user=rho, role=Role.RESEARCHER)
    program = Program(rho)
    assert len(program.all_of(address("image-list", "lions"))) == 15
    for name in {*WITH_WORDS, *OTHERS} - {"feedback-list"}:
        assert program.get(address(name, "lions")).json() == mia.get(address(name, "lions")).json()
    assert code(program.get(address("feedback-list", "lions"))) == (404, "not-found")
    assert code(program.post(address("release-list", "lions"), title="x")) == (403, "not-allowed")


@pytest.mark.long(reason="at least three others run each of its lines")
def test_captions_are_told_with_keys_and_pseudonyms_and_ratings_with_english_captions(seeded, mia):
    captions = mia.all_of(address("caption-list", "lions"), limit=4)
    assert len(captions) == Caption.objects.count() == 6
    entries = dict(seeded.main.collection.entries.values_list("key", "image"))
    assert [entries[row["image"]] for row in captions] == sorted(entries[row["image"]] for row in captions)
    assert all(row["text"].startswith(WRITTEN) for row in captions)
    assert {row["author"] for row in captions} >= {pseudonym(seeded.project, seeded.ann.pk)}
    assert "ann-lions" not in json.dumps(captions)
    ratings = mia.all_of(address("rating-list", "lions"), limit=4)
    assert len(ratings) == 6
    assert {row["rating"] for row in ratings} == {"GOOD"}
    assert all(row["english_caption"].startswith("english caption of") for row in ratings)


@pytest.mark.parametrize("limit", some([5, 6, 1, 2, 3, 7], short=2, reason="the same cuts at other places"))
def test_however_a_list_is_cut_every_row_comes_once_and_in_one_order(seeded, mia, limit):
    whole = mia.all_of(address("caption-list", "lions"))
    other = make_round(project=seeded.project, language="cs", collection=seeded.main.collection)
    texts = {image: ["jedna věta", "druhá věta"] for image in other.tasks.values_list("image", flat=True)}
    make_captions(other, texts)
    assert mia.get(address("caption-list", "lions"), limit=6).json()["results"] == whole
    everything = mia.all_of(address("caption-list", "lions"))
    assert mia.all_of(address("caption-list", "lions"), limit=limit) == everything
    assert len(everything) == len(whole) + 2 * len(texts)
    assert mia.all_of(address("caption-list", "lions"), limit=limit, language="cs") == everything[6:]
    assert mia.all_of(address("caption-list", "lions"), limit=limit, round=seeded.main.pk) == whole


def test_images_come_once_each_also_where_an_older_collection_has_a_later_name():
    project = make_project("zebras")
    for language, name in (("de", "Zoo"), ("fr", "Aviary"), ("cs", "Meadow")):
        collection = make_collection(3)
        Collection.objects.filter(pk=collection.pk).update(name=name)
        make_round(project=project, language=language, collection=collection)
    program, where = Program(project.created_by), address("image-list", "zebras")
    everything = [row["id"] for row in program.all_of(where)]
    assert [row["id"] for row in program.all_of(where, limit=2)] == everything
    assert len(set(everything)) == len(everything) == 9


@pytest.mark.long(reason="at least three others run each of its lines")
def test_what_is_added_behind_the_cursor_comes_and_what_is_before_it_does_not_come_again(seeded, mia):
    first = mia.get(address("feedback-list", "lions"), limit=1).json()
    assert first["next"] is None
    for number in range(3):
        seeded.feedback.pk = None
        seeded.feedback.text = f"more {number}"
        seeded.feedback.save()
    first = mia.get(address("feedback-list", "lions"), limit=2).json()
    seeded.feedback.pk, seeded.feedback.text = None, "last"
    seeded.feedback.save()
    second = mia.get(first["next"]).json()
    assert [row["text"] for row in second["results"]] == ["more 1", "more 2"]
    assert [row["text"] for row in mia.get(second["next"]).json()["results"]] == ["last"]


def test_a_caption_comes_with_where_its_image_was_taken_and_for_what_it_was_chosen(seeded, mia):
    image = Caption.objects.filter(round__project=seeded.project).earliest("pk").image
    place(image, "DE", continent="EU")
    choose(seeded.project, "de", {image: PlaceLevelChoice.REGION})
    origins = [row["image_origin"] for row in mia.all_of(address("caption-list", "lions"))]
    assert next(one for one in origins if one["level"]) == {
        "countries": "DE",
        "regions": "",
        "continent": "EU",
        "chosen_for": "de",
        "level": "region",
        "table": "made-table-1",
        "borders": "made-1",
    }
    assert {"".join(one.values()) for one in origins if not one["level"]} == {""}


def test_a_page_costs_as_many_queries_as_the_next(seeded, mia, django_assert_max_num_queries):
    where = address("caption-list", "lions")
    following = mia.get(where, limit=2).json()["next"]
    with django_assert_max_num_queries(14):
        mia.get(following)


def test_a_cursor_that_was_not_given_out_is_refused(mia):
    for cursor in ("x", "W10=", "WzEsMl0=", "WyIxIiwyLDNd", "WzEsMiwxZTQwMF0=", "e30=", "é", "WzEsMix0cnVlXQ=="):
        assert code(mia.get(address("caption-list", "lions"), cursor=cursor)) == (400, "bad-cursor"), cursor


ROUNDS = [("round", text) for text in ("x", "0", "\0", "9" * 19, "0" * 19 + "1" + "0" * 5000)]


def test_a_query_that_makes_no_sense_is_refused_by_name(mia):
    for name, value in (("limit", "0"), ("limit", "1001"), ("limit", "many"), *ROUNDS):
        refused = mia.get(address("caption-list", "lions"), **{name: value})
        assert code(refused) == (422, "invalid")
        assert set(refused.json()["errors"]) == {name}


@pytest.mark.parametrize("shown", [{"rated": "GOOD"}, {"rated": "BAD"}, {"apart": "ratings"}, {"unchecked": "yes"}])
def test_captions_are_found_by_the_filters_of_the_page_check(seeded, mia, shown):
    item = seeded.submitted.items.order_by("position")[0]
    type(item).objects.filter(pk=item.pk).update(rating="BAD")
    check_level(caption_id=item.caption.pk, level=Rating.GOOD, by=seeded.manager, now=timezone.now())
    where, asked = address("caption-list", "lions"), {**shown, "round": seeded.main.pk}
    page = client_of(seeded.manager).get(reverse("annotation:check-show", args=["lions", "de"]), asked).context["page"]
    expected = {row.caption.pk for shown in page["images"] for row in shown["rows"] if row.is_asked}
    assert {one["id"] for one in mia.all_of(where, limit=2, **asked)} == expected
    name = pseudonym(seeded.project, seeded.ann.pk)
    hers = set(Caption.objects.filter(author=seeded.ann).values_list("pk", flat=True))
    assert {one["id"] for one in mia.all_of(where, annotator=name, **asked)} == expected & hers
    assert code(mia.get(where, annotator="nobody", **asked)) == (404, "not-found")
    researcher = Program(join_project(seeded.project, make_user("rho"), Role.RESEARCHER))
    assert researcher.get(where, **asked).status_code == (403 if "unchecked" in shown else 200)
    assert "GOOD" in mia.get(where, verdict="good").json()["errors"]["verdict"][0]


def test_a_list_has_nothing_of_another_project(seeded, mia):
    before = {name: mia.all_of(address(name, "lions")) for name in WITH_WORDS}
    make_seeded("zebras")
    assert {name: mia.all_of(address(name, "lions")) for name in WITH_WORDS} == before


def test_rows_of_a_round_that_is_not_of_the_project_are_not_there(seeded, mia):
    other = make_seeded("zebras")
    assert mia.all_of(address("caption-list", "lions"), round=other.main.pk) == []
    assert code(mia.get(address("round-show", "lions", other.main.pk))) == (404, "not-found")


def test_verdicts_are_told_once_they_were_submitted(seeded, mia):
    where = address("verdict-list", "lions")
    assert mia.all_of(where) == []
    rae = Program(seeded.rae)
    count = seeded.to_rate.verdicts.count()
    for position in range(1, count + 1):
        rae.put(address("verdict-save", seeded.to_rate.pk, position), rating="GOOD")
    rae.post(address("rating-batch-submit", seeded.to_rate.pk))
    verdicts = mia.all_of(where, limit=2)
    assert len(verdicts) == len({row["id"] for row in verdicts}) == count
    assert {row["rater"] for row in verdicts} == {pseudonym(seeded.project, seeded.rae.pk)}


def test_an_export_is_the_file_of_the_page(seeded, mia, client):
    client.force_login(seeded.manager)
    for chosen in ({"format": "xm3600"}, {"format": "csv", "language": "de"}):
        ours = mia.get(address("export-show", "lions"), what="captions", **chosen)
        theirs = client.get(export_address("lions", "captions", **chosen))
        for header in ("Content-Type", "Content-Disposition"):
            assert ours[header] == theirs[header]
        assert b"".join(ours.streaming_content) == b"".join(theirs.streaming_content)


@pytest.mark.parametrize(
    ("chosen", "refusal"),
    [
        ({}, (422, "invalid")),
        ({"what": "captions", "format": "tex"}, (422, "invalid")),
        ({"what": "captions", "format": "csv", "language": "tlh"}, (422, "invalid")),
        ({"what": "judgements", "format": "csv", "comparison": "99"}, (409, "export-refused")),
        ({"what": "turns", "format": "csv", "season": "\0"}, (422, "invalid")),
        ({"what": "scores", "format": "coco"}, (409, "export-refused")),
        ({"what": "turns", "format": "jsonl"}, (409, "export-refused")),
    ],
)
def test_a_wrong_export_is_refused_and_not_recorded(seeded, mia, chosen, refusal):
    assert code(mia.get(address("export-show", "lions"), **chosen)) == refusal
    assert not AuditEntry.objects.filter(action="data.exported").exists()


def test_an_export_has_one_form_whatever_is_accepted_and_stands_in_the_log(seeded, mia):
    where = f"{address('export-show', 'lions')}?what=captions&format=csv"
    answer = mia.client.get(where, headers={**mia.headers, "Accept": "application/x-parquet"})
    assert answer.status_code == 200
    rows = list(csv.DictReader(b"".join(answer.streaming_content).decode("utf-8-sig").splitlines()))
    assert len(rows) == 6
    entry = AuditEntry.objects.get(action="data.exported")
    assert (entry.project, entry.by, entry.about) == (seeded.project, seeded.manager, "captions, csv")


def busy_manager(project: Project) -> User:
    """Manages `project`, and writes about one of its images in another one."""
    elsewhere = make_round(collection=project.rounds.order_by("pk").first().collection)
    user = make_annotator(elsewhere)
    Membership.objects.create(project=project, user=user, role=Role.MANAGER)
    take(elsewhere, user)
    return user


def test_a_manager_with_images_assigned_reads_no_words_about_them(seeded):
    program = Program(busy_manager(seeded.project))
    for name in WITH_WORDS:
        assert code(program.get(address(name, "lions"))) == (409, "images-assigned"), name
    export = program.get(address("export-show", "lions"), what="captions", format="csv")
    assert code(export) == (409, "images-assigned")
    assert code(program.post(address("release-list", "lions"), title="x")) == (409, "images-assigned")
    assert program.get(address("progress-show", "lions")).status_code == 200


def test_a_release_that_cannot_be_made_says_all_that_is_missing(seeded, mia):
    refused = mia.post(address("release-list", "lions"), title="Lions", licence="CC-BY-4.0", authors="Mia")
    assert code(refused) == (409, "release-settings")
    assert refused.json()["errors"]["release"]
    wrong = mia.post(address("release-list", "lions"), title="", licence="MIT")
    assert set(wrong.json()["errors"]) == {"title", "licence", "authors"}
    assert not Release.objects.exists()


IMAGE = {
    "image": "pride",
    "sha256": "0" * 64,
    "width": 4,
    "height": 3,
    "title": "",
    "author": "",
    "licence": "CC0",
    "licence_url": "",
    "source": "",
}


def make_release(project: Project, media: Any) -> Release:
    release = make_failed_release(project)
    folder, manifest = "releases/lions-1", {"files": [{"name": "LICENSE", "bytes": 2, "sha256": "a" * 64}]}
    (media / folder).mkdir(parents=True)
    (media / folder / "LICENSE").write_text("CC")
    (media / folder / "images.jsonl").write_text(f"{json.dumps(IMAGE)}\n")
    (media / folder / "captions.jsonl").write_text("")
    (media / folder / "hidden").write_text("not of the release")
    (media / folder / "manifest.json").write_text(json.dumps(manifest))
    (media / "releases" / "lions-1.tar.gz").write_bytes(b"archive")
    done = {"state": JobState.DONE, "folder": folder, "archive": f"{folder}.tar.gz", "checksum": "b" * 64, "error": ""}
    Release.objects.filter(pk=release.pk).update(**done)
    return release


def test_a_release_is_fetched_file_by_file_or_whole(seeded, mia, media):
    make_release(seeded.project, media)
    assert [row["state"] for row in mia.all_of(address("release-list", "lions"))] == ["done"]
    assert mia.get(address("release-show", "lions", 1)).json()["checksum"] == "b" * 64
    files = mia.get(address("release-files", "lions", 1)).json()["results"]
    assert [file["name"] for file in files] == ["LICENSE"]
    assert b"".join(mia.get(files[0]["address"]).streaming_content) == b"CC"
    manifest = mia.get(address("release-file", "lions", 1, "manifest.json"))
    assert json.loads(b"".join(manifest.streaming_content))["files"]
    archive = mia.get(address("release-archive", "lions", 1))
    assert b"".join(archive.streaming_content) == b"archive"
    assert archive["Content-Disposition"] == 'attachment; filename="lions-1.tar.gz"'


def test_no_other_file_is_fetched_by_a_release(seeded, mia, media):
    make_release(seeded.project, media)
    for name in ("hidden", "../lions-1.tar.gz", "..%2Flions-1.tar.gz", "/etc/passwd"):
        assert code(mia.get(f"{address('release-files', 'lions', 1)}{name}/")) == (404, "not-found"), name


def test_what_is_not_in_storage_any_more_is_not_there(seeded, mia, media):
    make_release(seeded.project, media)
    shutil.rmtree(media / "releases")
    for name, *more in (("release-files",), ("release-file", "LICENSE"), ("release-archive",)):
        assert code(mia.get(address(name, "lions", 1, *more))) == (404, "not-found"), name


def test_one_that_failed_or_is_in_the_making_has_no_files(seeded, mia):
    make_failed_release(seeded.project)
    assert mia.get(address("release-show", "lions", 1)).json()["error"] == "No."
    for name in ("release-files", "release-archive"):
        assert code(mia.get(address(name, "lions", 1))) == (404, "not-found")


def test_captions_of_a_file_have_no_author(mia):
    collection = make_collection(1)
    project = make_project("files", manager=User.objects.get(username="manager-of-lions"))
    round = make_round(project=project, collection=collection)
    caption_from_file(round, collection.entries.get().image, "Ein Hund", at=round.created_at)
    assert [row["author"] for row in mia.all_of(address("caption-list", "files"))] == [None]
    assert mia.all_of(address("rating-list", "files")) == []
