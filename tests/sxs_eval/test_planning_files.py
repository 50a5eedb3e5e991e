"""Scores from files: what can be read, and what is said of the rest."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from crosslens_metrics.formats.problems import FileProblemsError
from sxs_eval.formats.scores import MAX_BYTES, parse_scores, read_scores
from sxs_eval.rules.planning import ModelScore

CSV = "language,model,xm3600,coco\nde,A,50,41.5\nde,B,52.5,−1\nfr,A,,3\n"
SCORES = (
    ModelScore("de", "A", (Fraction(50), Fraction("41.5"))),
    ModelScore("de", "B", (Fraction("52.5"), Fraction(-1))),
    ModelScore("fr", "A", (None, Fraction(3))),
)


def problems_of(text: str | bytes, **options) -> list[str]:
    with pytest.raises(FileProblemsError) as refused:
        parse_scores(text.encode() if isinstance(text, str) else text, **options)
    return [problem.described() for problem in refused.value.problems]


def test_a_csv_file_is_read_whatever_parts_its_cells(tmp_path):
    file = tmp_path / "scores.CSV"
    for separator in (",", ";", "\t"):
        file.write_bytes(("\ufeff" + CSV.replace(",", separator).replace("\n", "\r\n")).encode())

        read = read_scores(file)

        assert (read.scores, read.sets, read.ignored_columns) == (SCORES, ("xm3600", "coco"), ())


@pytest.mark.parametrize("as_list", [False, True])
def test_json_lines_and_a_json_list_say_the_same(as_list, tmp_path):
    rows = [
        {"language": "de", "model": "A", "xm3600": 50, "coco": 41.5},
        {"language": "de", "model": "B", "xm3600": 52.5, "coco": "-1"},
        {"language": "fr", "model": "A", "xm3600": None, "coco": 3},
    ]
    file = tmp_path / "scores.jsonl"
    file.write_text(json.dumps(rows) if as_list else "\n".join(map(json.dumps, rows)))

    assert read_scores(file).scores == SCORES
    assert parse_scores(file.read_bytes()).scores == SCORES


def test_a_number_is_taken_as_it_is_written():
    row = '{"language": "de", "model": "%s", "a": 0.1, "b": 1e-05}'

    [first, second] = parse_scores(f"{row % 'A'}\n{row % 'B'}".encode()).scores

    assert first.on_sets == second.on_sets == (Fraction(1, 10), Fraction(1, 100_000))


def test_of_more_columns_two_are_chosen_and_the_rest_is_named():
    text = b"language,model,a,b,note\nde,A,1,2,x\nde,B,3,4,y\n"

    read = parse_scores(text, sets=["b", "a"])

    assert read.sets == ("b", "a")
    assert read.scores[0].on_sets == (Fraction(2), Fraction(1))
    assert read.ignored_columns == ("note",)


@pytest.mark.parametrize(
    ("columns", "sets", "message"),
    [
        ("a", [], "Besides language and model there is only 1 column: a. Two are needed"),
        ("a,b,c", [], "Besides language and model there are 3 columns: a, b, c. Name the two"),
        ("a,b,c", ["a", "d"], "There is no column of scores named “d”. There are: a, b, c."),
        ("a,b,c", ["a", "model"], "There is no column of scores named “model”"),
        ("a,b,c", ["a", "a"], "Name two different columns"),
        ("a,b,c", ["a"], "Name two different columns"),
    ],
)
def test_columns_that_do_not_make_two_sets_are_told(columns, sets, message):
    rest = ",1" * (columns.count(",") + 1)
    [problem] = problems_of(f"language,model,{columns}\nde,A{rest}\nde,B{rest}\n", sets=sets)

    assert problem.startswith(message)


@pytest.mark.parametrize(("tag", "stored"), [("iw", "he"), ("qu", "quz"), ("PT-br", "pt-BR"), ("tlh", "tlh")])
def test_languages_are_taken_under_the_tag_that_they_are_stored_under(tag, stored):
    read = parse_scores(f"language,model,a,b\n{tag},A,1,2\n{tag},B,1,2\n".encode())

    assert {score.language for score in read.scores} == {stored}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("de--DE,C,1,2", "Line 4: 'de--DE' is not a BCP-47 language tag"),
        (",C,1,2", "Line 4: A language tag is missing; write one such as de, pt-BR or sr-Cyrl."),
        ("d,C,1,2", "Line 4: 'd' is not a BCP-47 language tag"),
        ("de,,1,2", "Line 4: model is empty. Fill it in."),
        ("de,C,high,2", "Line 4: a is “high”. Give a number, or leave it empty where there is no score."),
        ("de,C,1,nan", "Line 4: b is “nan”."),
        ("de,C,1,1e999", "Line 4: b is “1e999”."),
        ("de,C,1_000,2", "Line 4: a is “1_000”."),
        ('de,C,"97,5",2', "Line 4: a is “97,5”. Write numbers with a point, as in 97.5."),
        ("de,B,1,2", "Line 4: B already has scores in de on line 3. Remove one of the two lines."),
        ("de, B ,1,2", "Line 4: B already has scores in de on line 3."),
        ("DE,B,1,2", "Line 4: B already has scores in de on line 3."),
        (f"de,{'x' * 121},1,2", "Line 4: model has 121 characters; at most 120 are allowed."),
        ("de,C\x07,1,2", "Line 4: model holds characters that are not valid."),
    ],
)
def test_a_line_that_cannot_be_used_is_told_with_its_number_and_what_to_do(line, message):
    text = f"language,model,a,b\nde,A,1,2\nde,B,1,2\n{line}\n"
    [problem] = problems_of(text)

    assert problem.startswith(message)


def test_two_names_of_one_language_are_one_language():
    [problem] = problems_of("language,model,a,b\nhe,A,1,2\niw,A,1,2\n")

    assert problem.startswith("Line 3: A already has scores in he on line 2.")


def test_all_problems_are_told_at_once_in_order_of_lines():
    assert problems_of("language,model,a,b\nde,A,x,2\nd,B,1,2\nde,C,1,y\n") == [
        "Line 2: a is “x”. Give a number, or leave it empty where there is no score.",
        (
            "Line 3: 'd' is not a BCP-47 language tag; write the language, then if need be the script and the region, "
            "as in de, pt-BR or sr-Cyrl."
        ),
        "Line 4: b is “y”. Give a number, or leave it empty where there is no score.",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The file is empty."),
        ("language,model,a,b\n", "There are no scores."),
        ("tag,model,a,b\nde,A,1,2\n", "The first line names no column “language”; it has: tag"),
        (
            "language,name,a,b\nde,A,1,2\n",
            "There is no column “model”. The first line must name the columns, and it has: language, ",
        ),
        ("language,model,a,b\nde,A,1,2\nfr,A,1,2\n", "There are scores for only one model."),
        ('{"language": "de"}', "There is no column “model”"),
        ('{"language": "de", "model": 3, "a": 1, "b": 2}', "Line 1: model is not text."),
        ('{"language": "de", "model": "A", "a": true, "b": 2}', "Line 1: a is “true”. Give a number"),
        ('{"language": "de", "model": "A", "a": [1], "b": 2}', "Line 1: a is neither text nor a number."),
        ("[]", "There are no scores."),
    ],
)
def test_a_file_without_usable_scores_is_told(text, message):
    assert problems_of(text)[0].startswith(message)


def test_too_much_is_told():
    assert problems_of(b"x" * (MAX_BYTES + 1)) == [
        "The scores are larger than 300 kB. Remove everything that is not a score."
    ]


def test_what_an_export_wrote_for_spreadsheets_comes_back():
    read = parse_scores(b"language,model,a,b\nde,'=A,'-1,2\nde,B,1,2\n")

    assert read.scores[0] == ModelScore("de", "=A", (Fraction(-1), Fraction(2)))
