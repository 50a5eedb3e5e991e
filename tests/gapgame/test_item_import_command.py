"""`manage.py import_gap_items`, and files in the layouts of MultiSubs."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest
from django.core.management import CommandError

from core.images.models import ImportJob, ImportOutcome
from core.people.models import Project
from gapgame.models import ItemSet
from tests.commands import output_of
from tests.gapgame.item_files import LINE, WORD, run, told, write

pytestmark = pytest.mark.usefixtures("media")


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
    assert told(run(item_set, path, layout="crosslens"))[0][0] == "rejected"


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


def call(*arguments: str) -> str:
    return output_of("import_gap_items", *arguments)


def test_the_command_imports_and_reports(item_set, folder, tmp_path):
    (folder / "manifest.csv").unlink()
    path = write(tmp_path, LINE, LINE | {"key": "2", "images": []})
    report = tmp_path / "report.csv"

    output = call(str(path), "--project=whales", "--set=Plants", f"--images={folder}", f"--report={report}")

    assert "line 1: Added. Image 1 has no known licence. Image 2 has no known licence." in output
    assert "line 2: Not imported. There are no images" in output
    assert "Added: 1, Already there: 0, Not imported: 1" in output
    assert [row[2] for row in csv.reader(report.open())] == ["outcome", "added", "rejected"]
    assert ItemSet.objects.get(name="Plants").project == Project.objects.get(slug="whales")
    call(str(path), "--project=whales", "--set=Plants", f"--images={folder}")
    assert ItemSet.objects.filter(name="Plants").count() == 1
    assert ImportJob.objects.filter(rows__outcome=ImportOutcome.ALREADY).count() == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["gone.jsonl", "--project=whales", "--set=x"], "no file or folder"),
        (["FILE", "--project=gone", "--set=x"], "no project 'gone'"),
        (["FILE", "--project=whales", "--set= "], "--set needs"),
        (["FILE", "--project=whales", "--set=x", "--collection=gone"], "cannot use a collection gone"),
        (["FILE", "--project=whales", "--set=x", "--images=gone"], "no folder or zip"),
        (["FILE", "--project=whales", "--set=x", "--embeddings=gone"], "no file gone"),
        (["FOLDER", "--project=whales", "--set=x"], "is not built"),
    ],
)
def test_the_command_says_what_is_wrong_and_makes_nothing(item_set, folder, arguments, says):
    names = {"FILE": str(write(folder, LINE)), "FOLDER": str(folder)}
    with pytest.raises(CommandError, match=says):
        call(*(names.get(argument, argument) for argument in arguments))
    assert ItemSet.objects.count() == 1
    assert not ImportJob.objects.exists()
