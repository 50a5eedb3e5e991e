"""Importing items: each line is told about, nothing is taken twice, what stopped goes on; layouts of MultiSubs."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError
from django.db import IntegrityError

from core.images.models import Collection, Image, ImportJob, ImportKind, ImportOutcome
from core.images.services import import_jobs
from core.jobs.models import JobState
from core.jobs.services.leases import LEASE
from core.people.models import Project
from gapgame.models import GapItem, ItemSet, RepresentativeSource
from gapgame.services import item_imports
from gapgame.services.items import create_item_set
from office.imports.services.file_imports import confirm, start_upload
from tests.commands import output_of
from tests.concurrency import together
from tests.factories import NOW, make_project, make_season
from tests.gapgame.item_files import LINE, WORD, run, sha_of, shas, told, write
from tests.images.image_files import image_file
from tests.imports import sent as import_stages

pytestmark = pytest.mark.usefixtures("media")


def test_an_item_goes_in_with_its_images_under_keys_that_tell_nothing(item_set, folder):
    job = run(item_set, write(folder, LINE))

    assert (job.kind, job.state, job.total, job.done) == (ImportKind.ITEMS, JobState.DONE, 1, 1)
    assert told(job) == [("added", "")]
    item = item_set.items.get()
    assert (item.key, item.before, item.word, item.after) == ("one", "A ", WORD, " lies on the ice.")
    assert (item.language_id, item.split, item.sense, item.is_used) == ("en", 3, ["bn:1"], True)
    assert item.representative_source == RepresentativeSource.FIRST
    assert shas(item) == [sha_of(folder / "a.jpg"), sha_of(folder / "b.jpg")]
    entries = list(item_set.collection.entries.select_related("image"))
    assert {entry.image.licence for entry in entries} == {"CC BY 4.0"}
    assert {entry.file_name for entry in entries} == {"a.jpg", "b.jpg"}
    assert all(len(entry.key) == 20 and int(entry.key, 16) for entry in entries)


def test_images_of_a_sentence_do_not_stand_beside_each_other_in_the_collection(item_set, folder):
    """Managers of other projects, who may play, see collections: the order would tell what image comes next."""
    names = [f"{number}.jpg" for number in range(6)]
    for number, name in enumerate(names):
        (folder / name).write_bytes(image_file(shade=40 + 10 * number))
    run(item_set, write(folder, *(LINE | {"key": name, "images": [name]} for name in names)))

    ordered = list(item_set.collection.entries.order_by("position").values_list("key", flat=True))
    assert len(ordered) == len(names)
    assert ordered == sorted(ordered)


def test_the_same_file_again_adds_nothing_and_other_content_is_a_problem_of_its_line(item_set, folder):
    unkeyed = {name: value for name, value in LINE.items() if name != "key"} | {"sentence": "The ____ swims."}
    run(item_set, write(folder, LINE, unkeyed))
    before = list(GapItem.objects.order_by("pk").values())

    again = run(item_set, write(folder, LINE, unkeyed))
    assert [outcome for outcome, _ in told(again)] == ["already", "already"]

    changed = [
        LINE | {"sentence": "The ____ lies on the ice."},
        LINE | {"split": 0},
        LINE | {"images": ["a.jpg", "c.jpg"]},
        LINE | {"key": "two"},
        LINE | {"key": "two", "sense": []},
        LINE | {"representative": "b.jpg"},
    ]
    job = run(item_set, write(folder, *changed))
    assert [outcome for outcome, _ in told(job)] == ["rejected"] * 3 + ["added", "rejected", "already"]
    assert all("with this key" in reason for outcome, reason in told(job) if outcome == "rejected")
    assert "another representative" in told(job)[5][1]
    assert list(GapItem.objects.order_by("pk").values())[:2] == before
    assert item_set.items.count() == 3


def test_each_line_that_cannot_be_used_is_told_by_its_number_and_without_the_word(item_set, folder):
    (folder / "cut.jpg").write_bytes(image_file(size=(400, 300))[:-300])
    (folder / f"{WORD}.png").write_text("<html>")
    (folder / f"{WORD}.gif").write_bytes(image_file())
    job = run(
        item_set,
        write(
            folder,
            LINE,
            LINE | {"key": "2", "sentence": "No gap here."},
            LINE | {"key": "3", "images": []},
            LINE | {"key": "4", "images": ["a.jpg", "gone.jpg"]},
            LINE | {"key": "5", "split": "intersect_9"},
            LINE | {"key": "6", "sentence": f"A ____ and a {WORD}."},
            '{"key": "7",',
            LINE | {"key": "8", "images": ["cut.jpg"]},
            LINE | {"key": "9", "images": [f"{WORD}.png"]},
            LINE | {"key": "10", "images": ["a.jpg", f"{WORD}.gif"]},
            LINE | {"key": "11"},
        ),
    )
    says = ["", "There is no gap", "no image", "Image 2: There is no such file", "split", "also occurs outside the gap",
            "JSON", "Image 1: The JPEG is", "Image 1: This is", "Image 2: The name ends", ""]  # fmt: skip
    rows = told(job)
    assert [outcome for outcome, _ in rows] == ["added"] + ["rejected"] * 9 + ["added"]
    assert all(part in reason for part, (_, reason) in zip(says, rows, strict=True))
    assert [row.name for row in job.rows.order_by("number")] == [f"line {number}" for number in range(1, 12)]
    everything = " ".join(f"{row.name} {row.reason}" for row in job.rows.all())
    assert WORD not in everything.lower()
    assert item_set.items.count() == 2


def upload_lines(item_set: ItemSet, lines: list[Any], images: Mapping[str, bytes]) -> ImportJob:
    content = "".join(json.dumps(line) + "\n" for line in lines).encode()
    return upload(item_set, {"items.jsonl": content, **images})


def upload(item_set: ItemSet, files: Mapping[str, bytes]) -> ImportJob:
    """Send items with images, and confirm their import."""
    uploads = [SimpleUploadedFile(name, data) for name, data in files.items()]
    by, wish = item_set.project.created_by, {"name": item_set.name}
    job = import_stages.run(start_upload(project=item_set.project, uploads=uploads, wish=wish, by=by))
    confirm(job=job)
    return job


def run_upload(job: ImportJob, now=NOW) -> ImportJob:
    return import_stages.run(job, now=now).parts.get()


def zipped(files: Mapping[str, bytes]) -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return output.getvalue()


def test_a_browser_sends_items_with_a_zip_and_its_manifest(item_set):
    manifest = "file,key,licence\n" + "".join(f"{name}.jpg,{name},CC0\n" for name in "ab")
    images = {"images/manifest.csv": manifest.encode()}
    images |= {f"images/{name}.jpg": image_file(shade=shade) for shade, name in enumerate("ab")}
    lines = [LINE, LINE | {"key": "two", "images": ["b", "images/a.jpg"]}, LINE | {"key": "3", "images": ["x.jpg"]}]

    sent = upload_lines(item_set, lines, {"p.zip": zipped(images)})
    job = run_upload(sent)

    assert [outcome for outcome, _ in told(job)] == ["added", "added", "rejected"]
    assert (job.state, job.total, job.done) == (JobState.DONE, 3, 3)
    assert set(item_set.collection.images.values_list("licence", flat=True)) == {"CC0"}
    assert not default_storage.exists(f"{sent.folder}/1")


def test_an_import_that_was_interrupted_goes_on_after_the_last_line_of_its_report(item_set, folder, monkeypatch):
    monkeypatch.setattr(item_imports, "LINES_PER_TRANSACTION", 2)
    lines = [LINE | {"key": str(number), "images": ["a.jpg"]} for number in range(5)]
    job = upload_lines(item_set, lines, {"a.jpg": image_file()})
    put = item_imports._ItemImport._put

    def stop(run, one, by_key):
        if one.line.key == "2":
            raise KeyboardInterrupt
        return put(run, one, by_key)

    monkeypatch.setattr(item_imports._ItemImport, "_put", stop)
    with pytest.raises(KeyboardInterrupt):
        run_upload(job)
    assert sorted(item_set.items.values_list("key", flat=True)) == ["0", "1"]
    monkeypatch.setattr(item_imports._ItemImport, "_put", put)

    run_upload(job, now=NOW + timedelta(seconds=30))
    assert item_set.items.count() == 2  # its lease is not over

    part = run_upload(job, now=NOW + 2 * LEASE)
    assert (part.state, part.done, item_set.items.count()) == (JobState.DONE, 5, 5)
    assert [outcome for outcome, _ in told(part)] == ["added"] * 5


def test_a_line_that_nobody_foresaw_takes_no_other_with_it(item_set, folder, monkeypatch):
    put = item_imports._ItemImport._put

    def fail(run, one, by_key):
        if one.line.key == "1":
            raise IntegrityError(WORD)
        return put(run, one, by_key)

    monkeypatch.setattr(item_imports._ItemImport, "_put", fail)
    job = run(item_set, write(folder, *(LINE | {"key": str(number)} for number in range(3))))
    assert [outcome for outcome, _ in told(job)] == ["added", "rejected", "added"]
    assert "IntegrityError" in told(job)[1][1]
    assert WORD not in told(job)[1][1]


def test_a_line_at_which_the_worker_dies_each_time_is_left_out_in_the_end(item_set, monkeypatch):
    lines = [LINE | {"images": ["a.jpg"]}, LINE | {"key": "2", "images": ["a.jpg"]}]
    job = upload_lines(item_set, lines, {"a.jpg": image_file()})

    def die(run, chunk):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(item_imports._ItemImport, "_take", die)
        with pytest.raises(KeyboardInterrupt):
            run_upload(job)
    job.parts.update(attempts=import_jobs.SKIP_AFTER_ATTEMPTS)
    part = run_upload(job, now=NOW + 2 * LEASE)
    assert [outcome for outcome, _ in told(part)] == ["rejected", "added"]
    assert "stopped the import" in told(part)[0][1]


def test_once_a_season_has_begun_with_the_items_none_is_added(item_set, folder):
    path = write(folder, LINE)
    run(item_set, path)
    season = make_season(project=item_set.project, item_set=item_set, items=0)
    begin = season.starts_at

    def at(now):
        return item_imports.import_path(
            path=write(folder, LINE | {"key": str(now)}),
            item_set=item_set,
            clock=lambda: now,
            announce=lambda image_id: None,
        )

    assert at(begin - timedelta(seconds=1)).state == JobState.DONE
    refused = at(begin)
    assert refused.state == JobState.FAILED
    assert "A season has started" in refused.error
    assert item_set.items.count() == 2


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_imports_of_the_same_file_at_once_make_each_item_and_image_once(tmp_path):
    item_set = create_item_set(project=make_project(), name="Animals", by=None)
    (tmp_path / "a.jpg").write_bytes(image_file())
    path = write(tmp_path, *(LINE | {"key": str(number), "images": ["a.jpg"]} for number in range(20)))

    done = together(lambda _: run(item_set, path), range(3))

    outcomes = [outcome for job in done for outcome, _ in told(job)]
    assert {job.state for job in done} == {JobState.DONE}
    assert (outcomes.count("added"), outcomes.count("already")) == (20, 40)
    assert (item_set.items.count(), Image.objects.count()) == (20, 1)


@pytest.mark.parametrize("form", ["csv", "jsonl", "theirs"])
def test_names_of_columns_may_have_capitals(item_set, folder, form):
    images = "a.jpg" if form == "theirs" else "a.jpg|b.jpg"
    row = {"Sentence": "A ____ sleeps.", "Word": WORD, "Images": images, "Language": "en", "Split": "1"}
    path = folder / f"items.{'jsonl' if form == 'jsonl' else 'csv'}"
    if form == "jsonl":
        path.write_text(json.dumps(row | {"Images": ["a.jpg", "b.jpg"], "Split": 1}))
    else:
        names = ",".join(row).replace("Images", "imageIds" if form == "theirs" else "Images")
        path.write_text(f"{names}\n{','.join(row.values())}\n")
    assert told(run(item_set, path)) == [("added", "")]
    assert item_set.items.get().images.count() == len(images.split("|"))


def theirs(**changes: Any) -> dict[str, Any]:
    value = {"text": f"the {WORD} sleeps .", "word": WORD, "synsets": "bn:1", "intersect": 2, "imageIds": ["a.jpg"]}
    return {name: given for name, given in (value | changes).items() if given is not ...}


def test_a_list_of_multisubs_is_known_by_its_names(item_set, folder):
    path = folder / "sents.json"
    tokens = {"tokens": ["the", WORD, "of", "a", WORD], "index": 1, "text": ...}
    path.write_text(json.dumps([theirs(), theirs(tokens=["a", "big", WORD.title(), "."], position=2, text=...),
                                theirs(**tokens)]))  # fmt: skip

    job = run(item_set, path)

    assert [outcome for outcome, _ in told(job)] == ["added", "added", "rejected"]
    assert "also occurs outside the gap" in told(job)[2][1]
    items = item_set.items.order_by("pk").values_list("before", "word", "after", "split", "sense", "language_id")
    assert list(items) == [("the ", WORD, " sleeps .", 2, ["bn:1"], "en"), ("a big ", WORD, " .", 2, ["bn:1"], "en")]


def test_a_folder_of_multisubs_is_cut_by_characters_or_by_tokens(item_set, folder):
    table = "sentence-id\tword\tsplit\tsynsets\timages\n"
    table += "".join(f"1#{number}\t{WORD}\tintersect_1\tbn:1,bn:2\ta.jpg,b.jpg\n" for number in range(1, 6))
    table += "1#6\tshort\n"
    (folder / "en.items.tsv").write_text(table)
    sentences = [f"the {WORD} sleeps", f"one {WORD}, dear", f"no {WORD} there", "nothing", f"a {WORD}s' {WORD}"]
    lines = [f"1#{number}\t{sentence}" for number, sentence in enumerate(sentences[:4], start=1)]
    (folder / "en.sents.det").write_text("\n".join(lines) + "\n")
    fragments = {1: (4, 4 + len(WORD)), 2: (1, 2), 3: (0, 2)}
    (folder / "en.fragments").write_text(
        "".join(f"1#{n}\t{start}\t{end}\tx\t{WORD}\t{WORD}\tNN\n" for n, (start, end) in fragments.items())
    )

    job = run(item_set, folder)

    rows = dict(zip(job.rows.order_by("number").values_list("number", flat=True), told(job), strict=True))
    assert {number: outcome for number, (outcome, _) in rows.items()} == {
        2: "added", 3: "rejected", 4: "rejected", 5: "rejected", 6: "rejected", 7: "rejected"
    }  # fmt: skip
    assert "not at the stated place" in rows[3][1]  # the comma belongs to its token
    assert "There is no gap" in rows[5][1]
    assert "no sentence with this id" in rows[6][1]
    assert "2 cells" in rows[7][1]
    item = item_set.items.get()
    assert (item.key, item.before, item.sense, item.split) == (f"1#1-{WORD}", "the ", ["bn:1", "bn:2"], 1)

    # The page takes a zip of the folder, with its images beside.
    item_set.items.all().delete()
    files = {f"multisubs/{path.name}": path.read_bytes() for path in folder.glob("en.*")}
    images = {"images/a.jpg": image_file(), "images/b.jpg": image_file(shade=9)}
    sent = run_upload(upload(item_set, {"m.zip": zipped(files | images)}))
    assert (sent.source_name, sent.error) == ("m.zip/multisubs", "")
    assert [outcome for outcome, _ in told(sent)] == [outcome for outcome, _ in rows.values()]
    assert item_set.items.get().images.count() == 2


def call(*arguments: object) -> str:
    return output_of("import", *arguments)


def test_the_command_imports_and_reports_and_undoes_it(item_set, folder, tmp_path):
    (folder / "manifest.csv").unlink()
    (tmp_path / "lines").mkdir()
    path = write(tmp_path / "lines", LINE, LINE | {"key": "2", "images": []})
    report = tmp_path / "report.csv"

    output = call(path, folder, "--project=whales", "--name=Plants", f"--report={report}")

    assert "line 1: Image 1 has no known licence. Image 2 has no known licence." in output
    assert "line 2: There are no images" in output
    assert "Added: 1, Already there: 0, Not imported: 1" in output
    assert [row[2] for row in csv.reader(report.open())] == ["outcome", "added", "rejected"]
    assert ItemSet.objects.get(name="Plants").project == Project.objects.get(slug="whales")
    again = call(path, folder, "--project=whales", "--name=Plants")
    assert ItemSet.objects.filter(name="Plants").count() == 1
    assert ImportJob.objects.filter(rows__outcome=ImportOutcome.ALREADY).count() == 1
    call("--undo", again.rpartition("--undo ")[2].strip(".\n"))
    assert ItemSet.objects.filter(name="Plants").exists()
    call("--undo", output.rpartition("--undo ")[2].strip(".\n"))
    assert not ItemSet.objects.filter(name="Plants").exists()
    assert not Collection.objects.filter(name__endswith="Plants").exists()


def test_items_that_somebody_played_stay(item_set, folder):
    output = call(write(folder, LINE), "--project=whales", f"--name={item_set.name}")
    season = make_season(project=item_set.project, item_set=item_set, items=0)
    with pytest.raises(CommandError, match="seasons"):
        call("--undo", output.rpartition("--undo ")[2].strip(".\n"))
    with pytest.raises(CommandError, match="A season has started"):
        call(write(folder, LINE), "--project=whales", f"--name={item_set.name}")
    assert season.item_set.items.count() == 1


def test_vectors_beside_the_items_choose_the_first_hint(item_set, folder):
    vectors = folder / "vectors.npz"
    np.savez(vectors, images=["a.jpg", "b.jpg"], vectors=np.eye(2))
    call(write(folder, LINE), vectors, "--project=whales", f"--name={item_set.name}")
    assert item_set.items.get().representative_source == RepresentativeSource.EMBEDDINGS
    with pytest.raises(CommandError, match="import both together"):
        call(vectors, "--project=whales")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["gone.jsonl", "--project=whales"], "no file or folder"),
        (["FILE", "--project=gone"], "no project 'gone'"),
        (["FILE"], "belong to a project"),
        (["FILE", "--project=whales", "--name= "], "--name needs"),
        (["FILE", "--project=whales", "--collection=gone"], "no such collection"),
        (["FILE", "gone", "--project=whales"], "no file or folder"),
    ],
)
def test_the_command_says_what_is_wrong_and_makes_nothing(item_set, folder, arguments, says):
    names = {"FILE": str(write(folder, LINE))}
    with pytest.raises(CommandError, match=says):
        call(*(names.get(argument, argument) for argument in arguments))
    assert ItemSet.objects.count() == 1
    assert not ImportJob.objects.exists()
