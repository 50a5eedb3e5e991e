"""Files of judgements: what is taken, what is refused, and what the refusal says."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from crosslens_metrics.formats.judgements import JudgementFile, read_judgements
from crosslens_metrics.formats.problems import FileProblemsError
from tabular.downloads import csv_safe

HEADER = "image,rater,score"


@pytest.fixture
def read(tmp_path):
    def reading(text: str | bytes, name: str = "judgements.csv") -> JudgementFile:
        file = tmp_path / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_judgements(file)

    return reading


@pytest.fixture
def refusal(read):
    def refusing(text: str | bytes, name: str = "judgements.csv") -> str:
        with pytest.raises(FileProblemsError) as refused:
            read(text, name)
        return str(refused.value)

    return refusing


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def pair(**more: Any) -> dict[str, Any]:
    return {"image": "a.jpg", "rater": "ann", "score": 1} | more


def test_csv_and_json_lines_of_the_same_judgements_are_read_the_same(read):
    csv = read(
        "image,rater,score,left_is,seconds,region,kind,counts\n"
        "a.jpg,ann,2,test,3.5,coast,pair,true\n"
        "a.jpg,bob,-1,base,,coast,,\n"
        "a.jpg,ann,-2,base,,coast,repeat,\n"
        "g.jpg,ann,3,,,,gold,\n"
        "a.jpg,cem,3,,,coast,,false\n"
    )
    jsonl = read(
        lines(
            pair(score=2, left_is="test", seconds=3.5, region="coast", kind="pair", counts=True),
            pair(rater="bob", score=-1, left_is="base", region="coast"),
            pair(score=-2, left_is="base", region="coast", kind="repeat"),
            pair(image="g.jpg", score=3, kind="gold"),
            pair(rater="cem", score=3, region="coast", counts=False),
        ),
        "judgements.jsonl",
    )
    for (comparison,) in (csv.comparisons, jsonl.comparisons):
        assert comparison.judged.image.tolist() == ["a.jpg", "a.jpg"]
        assert comparison.judged.rater.tolist() == ["ann", "bob"]
        assert comparison.judged.score.tolist() == [2, -1]
        assert comparison.judged.test_is_left.tolist() == [1, 0]
        assert comparison.judged.seconds[0] == 3.5
        assert np.isnan(comparison.judged.seconds[1])
        assert comparison.repeats == ((2, -2, "ann"),)
        assert comparison.region_of == {"a.jpg": "coast"}
        assert (comparison.gold, comparison.set_aside, comparison.duplicates) == (1, 1, 0)
        assert comparison.name == ""


@pytest.mark.parametrize(
    "written",
    [
        f"\ufeff{HEADER}\na.jpg,ann,-1\n",
        f"{HEADER}\r\na.jpg,ann,-1\r\n",
        f"{HEADER}\ra.jpg,ann,-1",
        "image;rater;score\na.jpg;ann;-1\n",
        f"{HEADER}\na.jpg,ann,'-1\n",
        f"{HEADER}\na.jpg,ann,−1\n",
        f"{HEADER}\na.jpg,ann,-1.0\n",
        f"{HEADER}\na.jpg, ann , slightly-worse\n",
        f'{HEADER}\n"a.jpg","ann","SLIGHTLY_WORSE"\n\n',
        "rater,score,image,\nann,-1,a.jpg,\n",
    ],
)
def test_one_judgement_in_many_manners_of_writing_is_the_same(read, written):
    (comparison,) = read(written).comparisons
    row = (comparison.judged.image.tolist(), comparison.judged.rater.tolist(), comparison.judged.score.tolist())
    assert row == (["a.jpg"], ["ann"], [-1])


def test_what_our_own_csv_makes_safe_for_spreadsheets_comes_back_as_it_was(read):
    cells = ",".join(str(cell) for cell in csv_safe(["=a.jpg", "@ann", "-2"]))
    assert cells != "=a.jpg,@ann,-2"
    (comparison,) = read(f"{HEADER}\n{cells}\n").comparisons
    assert comparison.judged.image.tolist() == ["=a.jpg"]
    assert comparison.judged.rater.tolist() == ["@ann"]
    assert comparison.judged.score.tolist() == [-2]


@pytest.mark.parametrize("score", ["", "4", "-4", "1.5", "nan", "NaN", "inf", "good", "1e0", "++1", "- 1", "true"])
def test_a_score_that_is_none_is_refused_with_its_line_and_what_to_write(refusal, score):
    said = refusal(f"{HEADER}\na.jpg,ann,1\nb.jpg,ann,{score}\n")
    assert "judgements.csv, line 3: score is" in said
    assert "Give one of 3, 2, 1, 0, -1, -2, -3" in said


@pytest.mark.parametrize("score", [4, 0.5, True, None, "1e5", [1], {"value": 1}])
def test_a_json_score_that_is_none_is_refused(refusal, score):
    assert "line 1: score is" in refusal(lines(pair(score=score)), "judgements.jsonl")


@pytest.mark.parametrize("score", [-3, -2.0, "+3", "2", "MUCH-BETTER", "similar"])
def test_a_json_score_may_be_a_number_or_its_name(read, score):
    assert len(read(lines(pair(score=score)), "judgements.jsonl").comparisons[0].judged.score) == 1


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (pair(image=""), "image is empty"),
        (pair(rater="  "), "rater is empty"),
        (pair(rater=None), "rater is empty"),
        (pair(image=["a"]), "image is neither text nor a number"),
        (pair(rater="\ud800"), "rater holds characters"),
        (pair(left_is="left"), "left_is is “left”. Give one of: test, base"),
        (pair(seconds="soon"), "seconds is “soon”"),
        (pair(seconds=-1), "seconds is “-1”"),
        (pair(seconds="nan"), "seconds is “nan”"),
        (pair(kind="golden"), "kind is “golden”. Give one of: pair, gold, repeat"),
        (pair(counts="maybe"), "counts is “maybe”. Give one of: true, false"),
        (pair(base_model="m1"), "base_model and test_model must be two different models"),
        (pair(base_model="m1", test_model="m1"), "base_model and test_model must be two different models"),
        (["a.jpg", "ann", 1], "Not an object"),
    ],
)
def test_a_cell_that_cannot_be_right_is_refused_with_what_may_stand_there(refusal, row, said):
    assert said in refusal(lines(row), "judgements.jsonl")


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("", "judgements.csv", "The file is empty."),
        ("\n \n", "judgements.jsonl", "The file is empty."),
        (f"{HEADER}\n", "judgements.csv", "has no judgements"),
        ("[]", "judgements.json", "has no judgements"),
        ("photo,rater,score\na,ann,1\n", "judgements.csv", "names no column “image”"),
        ("image,score\na,1\n", "judgements.csv", "has no column “rater”. It has: image, score."),
        ("image\na\n", "judgements.csv", "has no column “rater”, “score”"),
        ("image,rater,score,score\na,ann,1,1\n", "judgements.csv", "“score” twice"),
        (lines({"image": "a", "rater": "ann"}), "judgements.jsonl", "has no column “score”"),
        ("image,rater,score\na,ann,1,1\n", "judgements.csv", "4 cells, but the first line names 3"),
        (b"image,rater,score\na,\xff,1\n", "judgements.csv", "not valid UTF-8"),
        (HEADER.encode("utf-16"), "judgements.csv", "UTF-16"),
        ('{"image": "a"', "judgements.jsonl", "Not valid JSON"),
        ('{"image": "a", "rater": "ann", "score": NaN}', "judgements.jsonl", "Not valid JSON (NaN is not a value)"),
        ("[" * 50_000, "judgements.json", "Not valid JSON (nested too deeply)"),
        ('{"image": ' + "9" * 5_000 + "}", "judgements.jsonl", "Not valid JSON (a number has too many digits)"),
        ('{"image": "a", "image": "b"}', "judgements.jsonl", "Not valid JSON (an object has the same name twice)"),
        (f"{HEADER}\na,ann,1\n", "judgements.jsonl", "The file looks like CSV"),
        (b"PK\x03\x04\x14\x00\xff", "judgements.csv", "The file is ZIP (.zip, .xlsx, .ods, .npz), not text"),
        (b"\x1f\x8b\x08\x00\xff", "judgements.jsonl", "The file is gzip (.gz), not text"),
        (f"{HEADER}\na\0,ann,1\n", "judgements.csv", "line 2: Holds a NUL character"),
        (f"{HEADER}\na,ann,1\n", "judgements.xlsx", "must end in one of .csv, .jsonl"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(refusal, text, name, said):
    refused = refusal(text, name)
    assert said in refused
    assert name in refused


def test_a_file_that_is_not_there_and_a_folder_are_refused(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    for name in ("missing.csv", "folder.csv"):
        with pytest.raises(FileProblemsError, match="cannot be read"):
            read_judgements(tmp_path / name)


def test_all_problems_are_told_at_once_and_the_rest_is_counted(refusal):
    said = refusal(HEADER + "\n" + "a.jpg,,1\n" * 3 + "a.jpg,ann,9\n" * 22).splitlines()
    assert len(said) == 21
    assert said[0].endswith("judgements.csv, line 2: rater is empty. Fill it in.")
    assert "line 21: score is “9”" in said[19]
    assert said[20] == "and 5 more problems."


def test_names_that_may_be_one_image_are_told_and_count_as_two(read):
    names = ["b1", "b1.jpg", "2.0", "000000000002", "c.png", "d/b1"]
    found = read(f"{HEADER}\n./c.png,bob,1\n" + "".join(f"{name},ann,1\n" for name in names))
    assert found.alike_images == (("b1", "b1.jpg"), ("2", "000000000002"))
    assert len(set(found.comparisons[0].judged.image)) == 6


def test_an_identical_line_counts_once_and_is_told(read):
    (comparison,) = read(f"{HEADER}\na,ann,1\na,bob,1\na,ann,1\na,ann,1\n").comparisons
    assert comparison.duplicates == 2
    assert comparison.judged.rater.tolist() == ["ann", "bob"]


@pytest.mark.parametrize("other", ["a,ann,2,test", "a,ann,1,base"])
def test_lines_that_contradict_each_other_are_refused(refusal, other):
    said = refusal(f"{HEADER},left_is\na,ann,1,test\nb,ann,1,test\n{other}\n")
    assert "line 4: ann also judged image a on line 2, with other values." in said
    assert len(said.splitlines()) == 1


def test_what_does_not_count_may_differ_from_what_does(read):
    (comparison,) = read(f"{HEADER},counts\na,ann,1,false\na,ann,-1,true\na,ann,2,false\n").comparisons
    assert comparison.judged.score.tolist() == [-1]
    assert comparison.set_aside == 2


def test_the_same_rater_may_judge_the_same_image_in_two_comparisons(read):
    first, second = read(f"comparison,{HEADER}\nhi,a,ann,1\nzh,a,ann,-1\n").comparisons
    assert (first.name, second.name) == ("hi", "zh")
    assert (first.judged.score.tolist(), second.judged.score.tolist()) == ([1], [-1])


def test_a_repeat_is_set_against_the_first_time_wherever_it_stands(read):
    (comparison,) = read(
        f"kind,{HEADER}\nrepeat,a,ann,-1\npair,a,ann,2\nrepeat,a,bob,1\nrepeat,b,ann,1\npair,b,bob,3\n"
    ).comparisons
    assert comparison.repeats == ((2, -1, "ann"),)
    assert comparison.repeats_without_first == 2
    assert comparison.judged.score.tolist() == [2, 3]


MIXED_LEVELS = "This line and line 2 differ in whether score is a number or the name of a level"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{HEADER}\na,ann,BETTER\nb,ann,2\n", MIXED_LEVELS),
        (f"{HEADER}\na,ann,2\nb,ann,BETTER\n", MIXED_LEVELS),
        (f"comparison,{HEADER}\nhi,a,ann,1\n,b,ann,1\n", "comparison is empty on this line but not on others"),
        (
            f"{HEADER},region\na,ann,1,coast\na,bob,1,hills\n",
            "The region of this image is “hills” on this line and “coast” on line 2",
        ),
        (
            f"{HEADER},base_model,test_model\na,ann,1,m1,m2\nb,ann,1,m1,m3\n",
            "base_model, test_model, scale or design differs from line 2",
        ),
        (
            f"{HEADER},kind\na.jpg,ann,1,pair\na.jpg,,,equal\n",
            "This image was judged, but has kind = equal on this line or on line 2.",
        ),
    ],
)
def test_lines_that_do_not_go_together_are_refused(refusal, text, problem):
    assert f"line 3: {problem}" in refusal(text)


def test_columns_that_are_not_known_are_told(read):
    assert read(f"{HEADER},Remark,comment,Region\na,ann,1,x,nice,x\n").ignored_columns == ("comment", "remark")


def test_entries_of_a_json_list_are_named_by_their_place(refusal):
    said = refusal(json.dumps([pair(), pair(rater="bob", score=9)]), "judgements.json")
    assert "judgements.json, entry 2: score is “9”" in said


def test_a_pair_that_counts_unseen_needs_neither_rater_nor_score(read):
    (comparison,) = read(f"{HEADER},kind\na.jpg,ann,BETTER,pair\nb.jpg,,,equal\nb.jpg,,0,equal\n").comparisons
    assert comparison.equal == ("b.jpg",)
    assert list(comparison.judged.image) == ["a.jpg"]
    assert comparison.duplicates == 1


def test_a_design_goes_into_the_signature_with_the_instructions_of_what_counts(read, refusal):
    header = "image,rater,score,instructions_version,counts,design\n"
    rows = ("a,ann,1,2,,design|gold:10\n", "b,ann,1,1,,design|gold:10\n", "c,ann,1,3,false,design|gold:10\n")
    (comparison,) = read(header + "".join(rows)).comparisons
    assert str(comparison.judged.design) == "design|gold:10|instructions:1+2"
    shown_in = "image,rater,score,instructions_version,instructions_language\na,ann,1,2,hi\nb,ann,1,1,\n"
    (translated,) = read(shown_in).comparisons
    assert str(translated.judged.design) == "design|instructions:1+2|instructions-in:hi+original"
    assert "line 3: base_model, test_model, scale or design differs" in refusal(header + rows[0] + "b,ann,1,1,,\n")
    assert "line 2: design is “|gold”." in refusal(header + "a,ann,1,1,,|gold\n")
