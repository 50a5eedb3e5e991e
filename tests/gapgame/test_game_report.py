"""`manage.py game_report`: figures computed by hand, filters, refusals, and no database."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from crosslens_metrics.formats.problems import FileProblemsError
from crosslens_metrics.signatures import Signature
from crosslens_metrics.undefined import UndefinedReason
from gapgame.formats.turn_files import read_turns, turn_of
from gapgame.rules.figures import MESSAGES, TurnReason, UndefinedFigure
from gapgame.rules.report import build_report
from gapgame.rules.turns import OUTCOMES, RULES, PlayedTurn, TurnRule
from tests.commands import output_of
from tests.published import published
from tests.servers import ROOT

# Ann and bob on four items; by hand: attempt 1 right 2 of 6, attempt 2 right 1, failed 3.
TURNS: list[dict[str, Any]] = [
    {"item": "a", "word": "cat", "player": "ann", "split": "intersect_0", "attempts": [("Cat", 1.0)]},
    {"item": "b", "word": "dog", "player": "ann", "split": "intersect_0", "attempts": [("fox", 0.6), ("dog", 1.0)]},
    {"item": "c", "word": "sun", "player": "ann", "split": "intersect_1", "attempts": [("sea", 0.3)] * 3},
    {"item": "a", "word": "cat", "player": "bob", "split": "intersect_0", "attempts": [("cat", 0.99)]},
    {"item": "c", "word": "sun", "player": "bob", "split": "intersect_1", "attempts": [("sky", 0.5)] * 3},
    {"item": "d", "word": "map", "player": "bob", "split": "intersect_1", "attempts": [("x", 0.0)] * 3},
]
INVALID: list[dict[str, Any]] = [
    {"item": "e", "player": "ann", "split": "intersect_0", "attempts": [], "outcome": "skipped"},
    {"item": "f", "player": "ann", "split": "intersect_0", "attempts": [("q", 0.1)], "outcome": "cut_off"},
    {"item": "g", "player": "ann", "split": "intersect_0", "attempts": [("g", 1.0)], "marks": ["fast"]},
    {"item": "h", "player": "ann", "split": "intersect_0", "attempts": [("h", 1.0)], "set_aside": True},
    {"item": "i", "player": "ann", "split": "intersect_0", "attempts": []},
    {"item": "a", "player": "bob", "split": "intersect_0", "attempts": [("cat", 1.0)]},
]


def write(file: Path, turns: list[dict[str, Any]]) -> Path:
    lines = []
    for turn in turns:
        attempts = [{"guess": guess, "similarity": near} for guess, near in turn["attempts"]]
        lines.append(json.dumps({**turn, "attempts": attempts}))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def run(file: Path, *options: str) -> str:
    return output_of("game_report", file, *options)


def run_json(file: Path, *options: str) -> dict[str, Any]:
    return json.loads(run(file, "--json", *options), parse_constant=pytest.fail)


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    return write(tmp_path / "turns.jsonl", TURNS + INVALID)


def test_outcomes_similarities_and_splits_are_those_counted_by_hand_and_add_up(golden: Path) -> None:
    overall = run_json(golden)["overall"]
    assert {name: part["count"] for name, part in overall["outcomes"].items()} == {
        "attempt_1": 2, "attempt_2": 1, "attempt_3": 0, "failed": 3,
    }  # fmt: skip
    assert overall["outcomes"]["failed"]["percent"] == 50
    first, second, third = overall["similarity"]
    assert (first["all"]["count"], first["inexact"]["count"]) == (6, 4)
    assert first["all"]["mean"] == pytest.approx((1 + 0.6 + 0.3 + 1 + 0.5 + 0) / 6)
    assert first["inexact"]["mean"] == pytest.approx((0.6 + 0.3 + 0.5 + 0) / 4)
    assert second["all"]["mean"] == pytest.approx((1 + 0.3 + 0.5 + 0) / 4)
    assert (third["all"]["count"], third["all"]["mean"]) == (3, pytest.approx(0.8 / 3))
    splits = {part["split"]: part["figures"] for part in run_json(golden)["splits"]}
    assert splits["intersect_0"]["turns"] == splits["intersect_1"]["turns"] == 3
    assert splits["intersect_1"]["outcomes"]["failed"]["percent"] == 100
    report = run_json(golden)
    assert report["turns"] == report["counted"] + sum(one["left_out"] for one in report["filters"])


@pytest.mark.long(reason="at least three others run each of its lines")
def test_each_rule_leaves_out_its_turn_and_can_be_switched_off(golden: Path) -> None:
    without = run_json(golden)
    assert without["counted"] == 6
    applied = {one["rule"]: one for one in without["filters"]}
    for rule in TurnRule:
        kept = run_json(golden, "--keep", rule)
        assert applied[rule]["matched"] >= 1
        assert next(one for one in kept["filters"] if one["rule"] == rule)["left_out"] == 0
        # The skipped turn has no attempt either, so another rule still leaves it out.
        assert kept["counted"] == (6 if rule == TurnRule.SKIPPED else 7)
        rules = [set(str(Signature.parse(one["signature"]).get("left-out")).split("+")) for one in (without, kept)]
        assert rules[0] - rules[1] == {rule}


def test_of_two_turns_on_an_item_the_one_opened_first_counts() -> None:
    late, early = (
        PlayedTurn("failed", "intersect_0", item="a", player="ann", opened_at=opened)
        for opened in (datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC))
    )
    report = build_report([late, early._replace(outcome="attempt_1")])
    assert report.overall.outcomes["attempt_1"].count == 1  # type: ignore[union-attr]


def test_splits_of_equal_size_have_the_size_of_the_smallest() -> None:
    turns = [PlayedTurn("attempt_1", "intersect_0")] * 30 + [PlayedTurn("failed", "intersect_0")] * 30
    turns += [PlayedTurn("failed", "intersect_1")] * 20
    equal = build_report(turns, seed=3).equal_size
    assert not isinstance(equal, UndefinedFigure)
    assert equal.size == 20
    overall = equal.overall.outcomes["attempt_1"]
    assert overall.mean == pytest.approx(25, abs=0.5)  # half of one half; without making equal it is 37.5
    # Hypergeometric: the standard deviation of the share in one split is 100 × sqrt(.25/20 × 40/59) = 9.2 points.
    assert equal.splits[0].outcomes["attempt_1"].interval.width == pytest.approx(3.92 * 9.2, rel=0.25)
    assert equal.splits[1].outcomes["failed"].interval.width == 0


def test_equal_samples_have_as_many_guesses_of_every_split_and_attempt() -> None:
    turns = [PlayedTurn("failed", "intersect_0", similarities=near) for near in ((0.5, 0.2, 0.6), (0.5, 0.4, 0.8))]
    turns += [PlayedTurn("failed", "intersect_0", similarities=(0.5,))] * 8
    turns += [PlayedTurn("failed", "intersect_1", similarities=near) for near in ((0.1, 0.3, 0.9), (0.1, 0.3, 0.1))]
    turns += [PlayedTurn("failed", "intersect_1", similarities=(0.1, 0.3))] * 2
    equal = build_report(turns).equal_samples
    assert not isinstance(equal, UndefinedFigure)
    assert equal.size == 2
    # By hand: 0.5 and 0.1; (0.2 + 0.4) / 2 and 0.3; 0.7 and 0.5. All first guesses alike would give 5.4 / 14 = 0.386.
    assert [each.mean for each in equal.overall.similarity] == pytest.approx([0.3, 0.3, 0.6])  # type: ignore[union-attr]
    assert [each.mean for each in equal.splits[1].similarity] == pytest.approx([0.1, 0.3, 0.5])  # type: ignore[union-attr]
    short = build_report([*turns, PlayedTurn("attempt_1", "intersect_2", similarities=(1.0,))]).equal_samples
    assert not isinstance(short, UndefinedFigure)
    assert (short.size, short.overall.similarity[1]) == (1, UndefinedFigure(TurnReason.NO_GUESSES))


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_same_seed_gives_the_same_figures_and_another_does_not(golden: Path) -> None:
    assert run_json(golden, "--seed", "5") == run_json(golden, "--seed", "5")
    turns = [
        PlayedTurn(OUTCOMES[number % 3], f"intersect_{number % 5 // 3}", player=str(number % 9))
        for number in range(200)
    ]
    one, other = build_report(turns, seed=1), build_report(turns, seed=2)
    assert one.equal_size != other.equal_size
    assert one.overall == other.overall, "Intervals need no draws."


def test_intervals_say_what_they_generalise_to(golden: Path) -> None:
    report = run_json(golden)
    failed = report["overall"]["outcomes"]["failed"]
    players = report["overall"]["players"]
    assert failed["interval"]["design"]["fixed"] == {"player": players, "item": 4}
    assert failed["over_players"]["design"]["varies"] == {"player": players}
    nobody = report["overall"]["outcomes"]["attempt_3"]["over_players"]
    assert nobody["design"]["method"] == "clopper-pearson-units", "All players agree."
    said = run(golden)
    assert f"First 95% interval of a share: generalises to other turns, with these {players} players" in said
    assert "Second 95% interval: generalises to other players like these, with these 4 items (jackknife" in said
    alone = build_report([PlayedTurn("failed", "intersect_0", player="ann")] * 9).overall
    assert alone.outcomes["failed"].over_players == UndefinedFigure(TurnReason.ONE_PLAYER)  # type: ignore[union-attr]
    assert "over_players" not in alone.designs


def test_figures_without_a_value_say_why(tmp_path: Path) -> None:
    report = build_report([PlayedTurn("skipped", "intersect_0", similarities=())])
    assert report.overall.outcomes["failed"] == UndefinedFigure(TurnReason.NO_TURNS)
    assert report.equal_size == report.equal_samples == UndefinedFigure(TurnReason.NO_TURNS)
    assert {mean for each in report.overall.similarity for mean in (each.all, each.inexact)} == {
        UndefinedFigure(TurnReason.NO_TURNS)
    }
    alone = build_report([PlayedTurn("failed", "intersect_0", player="ann", similarities=(0.5,))])
    assert alone.overall.outcomes["failed"].over_players == UndefinedFigure(TurnReason.ONE_PLAYER)  # type: ignore[union-attr]
    assert alone.overall.similarity[0].all.interval == UndefinedFigure(UndefinedReason.NO_VARIATION)  # type: ignore[union-attr]
    assert alone.overall.similarity[1].all == UndefinedFigure(TurnReason.NO_GUESSES)
    assert json.dumps(alone.as_json(), allow_nan=False)
    assert set(TurnReason) <= set(MESSAGES)
    assert set(RULES) == set(TurnRule)


def test_groups_say_their_turns_counts_and_means(golden: Path) -> None:
    report = run_json(golden, "--by", "word", "--by", "player")
    cat = next(one for one in report["by"]["word"] if one["name"] == "cat")
    assert (cat["turns"], cat["counts"]["attempt_1"], cat["similarity"][0]) == (2, 2, 1.0)
    assert cat["similarity"][1] is None
    # Clopper and Pearson's of 2 in 2, and of 0 in 2.
    bound = 100 * 0.025**0.5
    assert list(cat["intervals"]["attempt_1"].values()) == pytest.approx([bound, 100])
    assert list(cat["intervals"]["attempt_2"].values()) == pytest.approx([0, 100 - bound])
    assert [one["name"] for one in report["by"]["player"]] == ["ann", "bob"]
    assert "cat" in run(golden, "--by", "word")


def test_the_percentages_of_the_published_table_come_from_its_counts() -> None:
    table = published("tables/multisubs_table3.csv")
    with table.open(encoding="utf-8") as opened:
        rows = list(csv.DictReader(opened))
    report = build_report(read_turns(table).turns)
    figures = {part.split: part.figures for part in report.splits} | {"all": report.overall}
    for row in rows:
        for name in OUTCOMES:
            expected = 100 * int(row[name]) / int(row["total"])
            share = figures[row["split"]].outcomes[name]
            assert share.percent == pytest.approx(expected)  # type: ignore[union-attr]


def test_counts_alone_give_shares(tmp_path: Path) -> None:
    file = tmp_path / "counts.csv"
    file.write_text(
        "split,attempt_1,attempt_2,attempt_3,failed,total\nintersect_0,1,2,3,4,10\nintersect_4,4,0,0,6,10\n"
        "all,5,2,3,10,20\n"
    )
    report = run_json(file)
    assert report["overall"]["outcomes"]["attempt_1"]["percent"] == 25
    assert report["splits"][1]["figures"]["outcomes"]["failed"]["percent"] == 60
    assert report["overall"]["similarity"][0]["all"]["undefined"] == "no_similarities"
    said = str(MESSAGES[TurnReason.NO_SIMILARITIES])
    assert run(file).count(said) == 4, "For all splits, each of the two, and equal samples."


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("intersect_0,1,2,3,4,11", "total"),
        ("intersect_9,1,2,3,4,10", "split"),
        ("intersect_0,1,-2,3,4,", "attempt_2"),
        ("intersect_0,1,2,3,4,10\nall,9,2,3,4,18", "attempt_1"),
        ("intersect_0,0,0,0,0,0", "no turns"),
    ],
)
def test_counts_that_contradict_themselves_are_refused(tmp_path: Path, row: str, says: str) -> None:
    file = tmp_path / "counts.csv"
    file.write_text(f"split,attempt_1,attempt_2,attempt_3,failed,total\n{row}\n")
    with pytest.raises(FileProblemsError, match=says):
        read_turns(file)


GOOD = {"item": "a", "word": "cat", "split": "intersect_1", "attempts": [{"guess": "cat", "similarity": 1}]}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"item": None, "word": None}, "Give “item” or “word”"),
        ({"split": "intersect_7"}, "intersect_0, intersect_1"),
        ({"split": None}, "split is"),
        ({"attempts": None}, "Give “attempts” or “outcome”"),
        ({"attempts": [{"guess": "dog", "similarity": 0.4}]}, "attempts are left"),
        ({"attempts": [{"guess": "dog", "similarity": 1.4}]}, "from 0 to 1"),
        ({"attempts": [{"guess": "dog", "similarity": True}]}, "from 0 to 1"),
        ({"attempts": [{"guess": "dog", "similarity": 0.1}] * 4}, "at most 3"),
        ({"attempts": [{"guess": "cat", "similarity": 1}] * 2}, "more attempts follow"),
        ({"outcome": "attempt_2"}, "there are 1 attempts"),
        ({"outcome": "failed"}, "should be attempt_1"),
        ({"outcome": "won"}, "outcome is “won”"),
        ({"marks": "fast"}, "is not a list"),
        ({"set_aside": "no"}, "neither true nor false"),
        ({"opened_at": "2026-01-01T10:00:00"}, "offset"),
    ],
)
def test_a_line_that_is_wrong_is_told_with_its_number(tmp_path: Path, changed: dict[str, Any], says: str) -> None:
    file = tmp_path / "turns.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in (GOOD, {**GOOD, **changed})))
    with pytest.raises(CommandError, match=f"line 2: .*{says}"):
        run(file)


def test_a_turn_told_twice_counts_once_and_two_that_differ_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "turns.jsonl"
    same = {**GOOD, "turn": "t1"}
    file.write_text("\n".join(json.dumps(line) for line in (same, same)))
    read = read_turns(file)
    assert (len(read.turns), read.repeated_lines) == (1, 1)
    file.write_text("\n".join(json.dumps(line) for line in (same, {**same, "split": "intersect_2"})))
    with pytest.raises(FileProblemsError, match=r"line 2: .*also on line 1"):
        read_turns(file)


@pytest.mark.process
def test_a_reader_that_has_enough_sees_no_traceback(golden: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings", "CROSSLENS_VAR": str(tmp_path)}
    command = [sys.executable, "manage.py", "game_report", str(golden), "--by", "word"]
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(command, cwd=ROOT, env=environment, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_a_player_is_one_person_in_either_spelling() -> None:
    value = {"item": "a", "split": "intersect_0", "attempts": [], "outcome": "skipped"}
    players = {turn_of(value | {"player": name}).player for name in ("José", "Jose\u0301", "José\u200b")}
    assert players == {"José"}
