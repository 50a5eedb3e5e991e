"""Scores from files, which pairs of models they propose, which way round, and what that costs."""

from __future__ import annotations

import csv
import json
import random
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosslens_metrics.formats.problems import FileProblemsError
from sxs_eval.formats.plans import MAX_BYTES, parse_scores, read_scores
from sxs_eval.rules.planning import (
    CORE,
    MissingScore,
    ModelScore,
    PairVerdict,
    PlanCost,
    ProposalReason,
    SmallThresholds,
    cost_of_session,
    count_pairs,
    difference_text,
    plan_sessions,
    total_cost,
)
from tests.published import published

ONE = SmallThresholds(points=Fraction(1))
NONE = SmallThresholds(points=None)


def scores_of(rows: str) -> list[ModelScore]:
    """Lines of language, model and two scores; a hyphen where there is none."""
    cells = [line.split() for line in rows.strip().splitlines()]
    return [ModelScore(tag, model, (number(a), number(b))) for tag, model, a, b in cells]


def number(cell: str) -> Fraction | None:
    return None if cell == "-" else Fraction(cell)


def planned(rows: str, *, core: tuple[str, ...] = (), thresholds: SmallThresholds = ONE):
    return plan_sessions(scores_of(rows), core=core, thresholds=thresholds)


def two_models(a: str, b: str, *, thresholds: SmallThresholds = ONE, core: tuple[str, ...] = ()):
    """The only pair of a plan in which the test model is better by `a` and `b`, or as those say."""
    [pair] = planned(f"de first 50 50\nde second {a} {b}", thresholds=thresholds, core=core).pairs
    return pair


def test_four_models_in_the_four_core_languages_make_24_sessions():
    rows = [
        ModelScore(tag, model, (Fraction(10 * rank), Fraction(20 * rank)))
        for tag in (*CORE, "de", "fr")
        for rank, model in enumerate(["m1", "m2", "m3", "m4"])
    ]

    plan = plan_sessions(rows, core=CORE, thresholds=ONE)

    assert len(plan.sessions) == 24
    assert {(pair.language, pair.base, pair.test) for pair in plan.sessions} == {
        (tag, *pair) for tag in CORE for pair in combinations(["m1", "m2", "m3", "m4"], 2)
    }
    assert {pair.reasons for pair in plan.sessions} == {(ProposalReason.CORE,)}
    assert len(plan.having(PairVerdict.CLEAR)) == 12
    assert [pair.language for pair in plan.pairs[::6]] == [*CORE, "de", "fr"]


@pytest.mark.parametrize(
    ("a", "b", "reasons"),
    [
        ("52", "53", ()),
        ("52", "47", (ProposalReason.SIGNS,)),
        ("52", "50", (ProposalReason.ZERO, ProposalReason.SMALL)),
        ("50", "50", (ProposalReason.ZERO, ProposalReason.SMALL)),
        ("52", "50.5", (ProposalReason.SMALL,)),
        ("50.5", "52", (ProposalReason.SMALL,)),
        ("50.5", "49.5", (ProposalReason.SIGNS, ProposalReason.SMALL)),
        ("51", "52", ()),
        ("50.999", "52", (ProposalReason.SMALL,)),
    ],
)
def test_elsewhere_a_pair_is_proposed_where_the_sets_disagree_or_a_difference_is_small(a, b, reasons):
    pair = two_models(a, b)

    assert pair.reasons == reasons
    assert pair.verdict == (PairVerdict.PROPOSED if reasons else PairVerdict.CLEAR)


def test_a_difference_of_exactly_the_threshold_is_not_small_however_it_is_written():
    pair = planned("de first 97.4 0.1\nde second 97.5 0.2", thresholds=SmallThresholds(points=Fraction("0.1"))).pairs[0]

    assert pair.verdict == PairVerdict.CLEAR


@pytest.mark.parametrize(("a", "b"), [("50", "52"), ("52", "50"), ("50", "48"), ("50", "50")])
def test_without_any_threshold_exactly_zero_still_agrees_with_no_sign_nor_with_zero(a, b):
    assert two_models(a, b, thresholds=NONE).reasons == (ProposalReason.ZERO,)


def test_a_threshold_in_percent_is_of_the_larger_score_in_each_set():
    two_percent = SmallThresholds(points=None, percent=Fraction(2))

    assert planned("de a 98 100\nde b 100 200", thresholds=two_percent).pairs[0].reasons == ()
    assert planned("de a 98.001 100\nde b 100 200", thresholds=two_percent).pairs[0].reasons == (ProposalReason.SMALL,)
    assert planned("de a -100 100\nde b -98.5 200", thresholds=two_percent).pairs[0].reasons == (ProposalReason.SMALL,)


def test_with_both_thresholds_either_makes_a_difference_small():
    both = SmallThresholds(points=Fraction(1), percent=Fraction(10))

    assert planned("de a 100 100\nde b 105 150", thresholds=both).pairs[0].reasons == (ProposalReason.SMALL,)
    assert planned("de a 1 100\nde b 1.5 150", thresholds=both).pairs[0].reasons == (ProposalReason.SMALL,)
    assert planned("de a 1 100\nde b 2 150", thresholds=both).pairs[0].reasons == ()


def test_on_a_core_language_what_the_scores_leave_open_is_told_besides():
    assert two_models("52", "47", core=("de",)).reasons == (ProposalReason.CORE, ProposalReason.SIGNS)
    assert two_models("60", "60", core=("de",)).reasons == (ProposalReason.CORE,)


def test_the_base_is_the_first_by_name_whichever_has_the_better_scores():
    """A metric that chose which way round it is asked would be found to agree with people."""
    plan = planned("de good 50 50\nde poor 40 40\nfr good 30 30\nfr poor 35 35")
    assert {(pair.base, pair.test) for pair in plan.pairs} == {("good", "poor")}
    assert {pair.language: pair.differences for pair in plan.pairs} == {"de": (-10, -10), "fr": (5, 5)}


def test_a_pair_that_scores_propose_is_chosen_by_them_unless_it_is_compared_anyway():
    assert two_models("52", "47").is_chosen_by_scores
    assert not two_models("52", "47", core=("de",)).is_chosen_by_scores
    assert not two_models("60", "60").is_chosen_by_scores


def test_a_missing_score_is_told_and_never_guessed():
    plan = planned("de a 50 50\nde b 40 -\nfr a 50 50")

    assert {pair.verdict for pair in plan.pairs} == {PairVerdict.UNSCORED}
    assert plan.missing == (MissingScore("de", "b", (1,), True), MissingScore("fr", "b", (0, 1), False))
    assert plan.pairs[0].differences == (-10, None)


def test_on_a_core_language_a_listed_model_needs_no_score_and_one_that_is_not_listed_is_not_planned():
    plan = planned("zh a 50 50\nzh b 40 -\nhi a 50 50", core=("zh", "hi", "es"))

    assert [(pair.language, pair.verdict) for pair in plan.pairs] == [
        ("zh", PairVerdict.PROPOSED),
        ("hi", PairVerdict.UNSCORED),
    ]
    assert plan.core_without_scores == ("es",)


def test_thresholds_that_make_all_small_are_told():
    rows = "de a 0.50 0.51\nde b 0.60 0.65"

    assert planned(rows).is_all_small
    assert not planned(rows, thresholds=SmallThresholds(points=Fraction("0.1"))).is_all_small
    assert not planned("de a - 1\nde b 1 1").is_all_small


def test_a_model_that_comes_twice_in_a_language_is_refused():
    with pytest.raises(ValueError, match="a comes twice in de"):
        planned("de a 1 1\nde a 2 2")


def test_the_cost_of_a_session_is_images_times_replication_and_the_share_of_attention_items():
    cost = cost_of_session(images=600, replication=3, attention_percent=0, pace_s=20)
    assert cost == PlanCost(sessions=1, images=600, judgements=1800, attention=0, seconds=36_000)
    assert cost.hours == 10

    with_checks = cost_of_session(images=600, replication=3, attention_percent=15, pace_s=20)
    assert (with_checks.judgements, with_checks.attention) == (1800, 270)
    assert with_checks.hours == pytest.approx(11.5)
    assert cost_of_session(images=1, replication=1, attention_percent=1, pace_s=1).attention == 1
    assert total_cost([cost, with_checks]) == PlanCost(2, 1200, 3600, 270, 36_000 + 41_400)
    assert total_cost([]) == PlanCost()


@pytest.mark.parametrize(
    ("value", "text"),
    [("2.61", "+2.61"), ("-5.64", "−5.64"), ("0", "0"), ("0.00001", "+1.0e−05"), ("10", "+10"), ("1/3", "+0.3333")],
)
def test_differences_are_shown_with_their_sign_and_not_as_a_zero_that_they_are_not(value, text):
    assert difference_text(Fraction(value)) == text


def test_a_difference_that_is_not_known_is_shown_as_such():
    assert difference_text(None) == "–"


TAGS = st.sampled_from(["zh", "en", "de", "sw"])
MODELS = st.sampled_from(["m1", "m2", "m3", "m4", "m5"])
VALUES = st.none() | st.integers(-30, 30).map(lambda value: Fraction(value, 10))
TABLES = st.dictionaries(st.tuples(TAGS, MODELS), st.tuples(VALUES, VALUES)).map(
    lambda cells: [ModelScore(tag, model, values) for (tag, model), values in cells.items()]
)
THRESHOLDS = st.builds(
    SmallThresholds,
    points=st.none() | st.integers(0, 20).map(lambda value: Fraction(value, 10)),
    percent=st.none() | st.integers(0, 100).map(Fraction),
)


@given(scores=TABLES, thresholds=THRESHOLDS)
def test_every_pair_is_proposed_with_a_reason_or_clear_or_lacks_a_score_and_comes_once(scores, thresholds):
    plan = plan_sessions(scores, core=("zh", "en"), thresholds=thresholds)

    models = {score.model for score in scores}
    wanted = {(score.language, frozenset(pair)) for score in scores for pair in combinations(models, 2)}
    pairs = [(pair.language, frozenset((pair.base, pair.test))) for pair in plan.pairs]
    assert len(pairs) == len(set(pairs)) == count_pairs(scores)
    assert set(pairs) == wanted
    by_cell = {(score.language, score.model): score.on_sets for score in scores}
    for pair in plan.pairs:
        a, b = pair.differences
        match pair.verdict:
            case PairVerdict.PROPOSED:
                assert pair.reasons
                assert (pair.language in ("zh", "en")) == (ProposalReason.CORE in pair.reasons)
            case PairVerdict.CLEAR:
                assert a is not None
                assert b is not None
                assert a * b > 0
                assert thresholds.points is None or min(abs(a), abs(b)) >= thresholds.points
            case PairVerdict.UNSCORED:
                cells = [by_cell.get((pair.language, model), (None, None)) for model in (pair.base, pair.test)]
                assert any(None in values for values in cells)


@given(scores=TABLES, thresholds=THRESHOLDS, seed=st.integers(0, 1000))
def test_the_order_of_the_rows_changes_nothing(scores, thresholds, seed):
    shuffled = random.Random(seed).sample(scores, len(scores))

    plans = [plan_sessions(rows, core=("zh",), thresholds=thresholds) for rows in (scores, shuffled)]

    assert plans[0] == plans[1]


@given(scores=TABLES, points=st.integers(0, 20))
def test_a_higher_threshold_never_proposes_fewer_sessions(scores, points):
    low, high = [
        plan_sessions(scores, core=(), thresholds=SmallThresholds(points=Fraction(value, 10)))
        for value in (points, points + 1)
    ]

    assert {(pair.language, pair.base, pair.test) for pair in low.sessions} <= {
        (pair.language, pair.base, pair.test) for pair in high.sessions
    }


def test_published_differences_are_sorted_as_their_signs_and_sizes_say():
    """Each published comparison as a plan of its own: the base scores 0, the test model its differences."""
    with published("tables/crossmodal_draft_table5.csv").open() as file:
        rows = list(csv.DictReader(file))

    ambiguous = 0
    for row in rows:
        a, b = Fraction(row["delta_cider_3600"]), Fraction(row["delta_cider_val"])
        base, test = ModelScore("xx", "base", (Fraction(), Fraction())), ModelScore("xx", "test", (a, b))
        [pair] = plan_sessions([base, test], core=(), thresholds=ONE).pairs
        expected = a * b <= 0 or min(abs(a), abs(b)) < 1
        assert (pair.verdict == PairVerdict.PROPOSED) == expected
        ambiguous += expected
    assert (len(rows), ambiguous) == (18, 16)


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
