"""`manage.py sxs_report`: a small file computed by hand, refusals, and no database."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError

from crosslens_metrics.reports import judgement_lines
from crosslens_metrics.reports.comparison_figures import ComparisonReason, GainFigure, UndefinedComparison
from crosslens_metrics.sampling.intervals import Interval
from crosslens_metrics.signatures import sample_digest
from crosslens_metrics.undefined import UndefinedReason
from tests.commands import output_of
from tests.servers import ROOT

# Raters ann, bob and cem; None where one has not judged. Five images are won, two lost, three neither, two incomplete.
SCORES = {
    "i01": (3, 2, 1),
    "i02": (2, 1, -1),
    "i03": (1, 1, 0),
    "i04": (3, 3, 3),
    "i05": (2, 0, 1),
    "i06": (-1, -2, 0),
    "i07": (-3, -3, -2),
    "i08": (0, 0, 0),
    "i09": (1, 0, -1),
    "i10": (2, 0, 0),
    "i11": (1, 2, None),
    "i12": (None, -1, None),
}
SIDES = ("test", "base", "")
"""For ann the test caption is always left, for bob always right; nobody knows for cem."""
REPEATS = [("i01", "ann", 2), ("i06", "ann", 1), ("i08", "ann", 0), ("i09", "bob", 1)]
"""Against 3, −1, 0 and 0 at first: the same, the opposite, the same, and neither."""
RESAMPLES = 20_000


def write_golden(file: Path) -> Path:
    rows = ["image,rater,score,left_is,seconds,region,kind,counts"]
    for number, (image, scores) in enumerate(SCORES.items(), start=1):
        for rater, side, score in zip(("ann", "bob", "cem"), SIDES, scores, strict=True):
            if score is not None:
                seconds = number if rater == "ann" else ""
                rows.append(f"{image},{rater},{score},{side},{seconds},{_region(image)},pair,")
    rows += [f"{image},{rater},{score},,,{_region(image)},repeat," for image, rater, score in REPEATS]
    rows += ["i01,ann,3,test,1,coast,pair,", "g1,ann,-3,,,,gold,", "i12,cem,3,,,hills,pair,false"]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return file


def _region(image: str) -> str:
    return "coast" if image <= "i06" else "hills"


def run(file: Path, *options: str) -> str:
    return output_of("sxs_report", file, *options)


def run_json(file: Path, *options: str) -> dict[str, Any]:
    return json.loads(run(file, "--json", *options), parse_constant=pytest.fail)


def models_file(file: Path) -> Path:
    """Three models on the same 40 images in two languages, decided by every rater alike."""
    rng = np.random.default_rng(4)
    rows = ["comparison,base_model,test_model,image,rater,score"]
    for base, test, chance in (("m1", "m2", 0.8), ("m1", "m3", 0.8), ("m2", "m3", 0.5)):
        for language in ("hi", "zh"):
            for image in range(40):
                score = 2 if rng.random() < chance else -2
                rows += [
                    f"{base}-{test} {language},{base},{test},i{image},{who},{score}" for who in ("ann", "bob", "cem")
                ]
    file.write_text("\n".join(rows) + "\n")
    return file


@pytest.fixture(scope="module")
def golden(tmp_path_factory) -> dict[str, Any]:
    return run_json(
        write_golden(tmp_path_factory.mktemp("golden") / "golden.csv"), "--resamples", str(RESAMPLES), "--seed", "11"
    )


@pytest.fixture
def figures(golden) -> dict[str, Any]:
    return golden["comparisons"][0]["report"]


def exact_bounds(wins: int, losses: int, images: int) -> list[float]:
    """Clopper and Pearson's of the share decided and of the wins among them, where they hold zero."""
    from scipy.stats import binomtest

    decided = binomtest(wins + losses, images).proportion_ci(0.95).high
    won = binomtest(wins, wins + losses).proportion_ci(0.95)
    return [100 * decided * (2 * bound - 1) for bound in (won.low, won.high)]


def alpha_by_definition(units: list[list[int]]) -> float:
    """Krippendorff's ordinal alpha by loops over pairs, as the definition has it."""
    units = [unit for unit in units if len(unit) > 1]
    given = [value for unit in units for value in unit]

    def distance(first: int, second: int) -> float:
        low, high = sorted((first, second))
        between = sum(low <= value <= high for value in given)
        return (between - (given.count(low) + given.count(high)) / 2) ** 2 if low != high else 0.0

    observed = sum(distance(a, b) / (len(unit) - 1) for unit in units for a, b in permutations(unit, 2)) / len(given)
    expected = 2 * sum(distance(a, b) for a, b in combinations(given, 2)) / (len(given) * (len(given) - 1))
    return 1 - observed / expected


def share(successes: int, trials: int) -> dict[str, Any]:
    from scipy.stats import binomtest

    bounds = binomtest(successes, trials).proportion_ci(method="exact")
    return {
        "count": successes,
        "total": trials,
        "percent": pytest.approx(100 * successes / trials),
        "interval": {"low": pytest.approx(100 * bounds.low), "high": pytest.approx(100 * bounds.high)},
    }


def test_what_is_counted_and_what_is_beside_it(golden, figures):
    (comparison,) = golden["comparisons"]
    assert {key: comparison[key] for key in ("comparison", "gold", "duplicates", "repeats_without_first")} == {
        "comparison": "",
        "gold": 1,
        "duplicates": 1,
        "repeats_without_first": 0,
    }
    assert (figures["judgements"], figures["set_aside"]) == (33, 1)
    assert figures["outcome"]["images"] == {
        "denominator": 10,
        "complete": 10,
        "counted_similar": 0,
        "incomplete": 2,
        "incomplete_by_judgements": {"0": 0, "1": 1, "2": 1},
        "beyond_replication": 0,
    }
    assert (golden["pooled"], golden["ranking"], golden["ignored_columns"]) == ([], None, [])


def test_wins_losses_the_gain_and_images_needed_by_hand(figures):
    outcome = figures["outcome"]
    assert outcome["wins"] == {"count": 5, "percent": 50.0}
    assert outcome["losses"] == {"count": 2, "percent": 20.0}
    assert outcome["neither"] == {"count": 3, "percent": 30.0}
    assert outcome["gain"]["points"] == 30.0
    low, high = exact_bounds(5, 2, 10)
    gain = outcome["gain"]
    assert (gain["interval"]["low"], gain["interval"]["high"]) == pytest.approx((low, high))
    assert gain["interval"]["design"]["words"] == (
        "generalises to other images, with these 3 raters (Clopper–Pearson, of images decided and wins among them)"
    )
    assert gain["other_raters"]["interval"]["design"]["varies"] == {"image": 10, "rater": 3}
    others = gain["other_raters"]["interval"]
    assert others["low"] < low + 1e-9 < high - 1e-9 < others["high"]
    assert (gain["raters"], gain["primary"]) == (3, "interval")
    assert outcome["sign_test"] == {"p": pytest.approx(2 * (1 + 7 + 21) / 2**7), "decided": 7}
    # The variance of the outcome is 0.7 − 0.3² = 0.61.
    needed = math.ceil((2 * 1.959964 * 100 / 10) ** 2 * 0.61)
    to_see = math.ceil((1.959964 + 0.841621) ** 2 * 0.61 / 0.3**2)
    expected = {"width_points": 10.0, "images": needed, "more": needed - 10, "to_see": to_see}
    assert figures["precision"] == expected
    anytime = outcome["anytime_interval"]
    assert anytime["low"] < low < 30 < anytime["high"]
    assert anytime["design"]["method"] == "confidence-sequence"


def test_agreement_and_distribution_by_hand(figures):
    units = [[score for score in scores if score is not None] for scores in SCORES.values()]
    assert figures["alpha"]["images"] == sum(len(unit) > 1 for unit in units) == 11
    assert figures["alpha"]["value"] == pytest.approx(alpha_by_definition(units))
    interval = figures["alpha"]["interval"]
    assert interval["low"] < figures["alpha"]["value"] < interval["high"]
    assert figures["distribution"] == {"3": 4, "2": 5, "1": 7, "0": 9, "-1": 4, "-2": 2, "-3": 2}


def test_sides_times_and_repeats_by_hand(figures):
    ann, bob, cem = figures["raters"]
    assert (ann["rater"], ann["judgements"], bob["judgements"], cem["judgements"]) == ("ann", 11, 12, 10)
    assert ann["left"] == share(8, 10)
    assert bob["left"] == share(3, 8)
    assert cem["left"]["undefined"] == ComparisonReason.NO_SIDE_PREFERRED
    assert figures["left"] == share(11, 18)
    assert figures["flips"] == {"same": share(2, 4), "opposite": share(1, 4)}
    assert ann["flips"] == {"same": share(2, 3), "opposite": share(1, 3)}
    assert cem["flips"]["same"]["undefined"] == ComparisonReason.NO_REPEATS
    assert figures["seconds"] == {"judgements": 11, "median": 6.0, "quartiles": {"low": 3.5, "high": 8.5}}
    assert (ann["seconds_median"], bob["seconds_median"]["undefined"]) == (6.0, ComparisonReason.NO_TIMES)


def test_regions_by_hand(figures):
    coast, hills = figures["regions"]
    assert (coast["region"], hills["region"]) == ("coast", "hills")
    assert coast["outcome"]["gain"]["points"] == pytest.approx(100 * 4 / 6)
    low, high = exact_bounds(5, 1, 6)
    interval = coast["outcome"]["gain"]["interval"]
    assert [interval["low"], interval["high"]] == pytest.approx([low, high])
    assert hills["outcome"]["gain"]["points"] == -25
    assert hills["outcome"]["images"]["incomplete"] == 2


def test_the_signature_tells_how_the_figures_were_made(figures):
    sample = sample_digest([f"i{image:02}" for image in range(1, 11)])
    assert figures["signature"] == (
        "sxs-majority|v:2|replication:3|scale:7|complete:10|similar:0|set-aside:1|raters:3"
        f"|sample:{sample}|bootstrap:{RESAMPLES}/11"
    )


def test_with_two_judgements_to_an_image_more_images_are_complete(tmp_path):
    figures = run_json(write_golden(tmp_path / "golden.csv"), "--replication", "2")["comparisons"][0]["report"]
    assert figures["outcome"]["images"]["complete"] == 11
    assert figures["outcome"]["images"]["beyond_replication"] == 10
    assert figures["outcome"]["wins"]["count"] == 6


def test_the_text_has_each_figure_in_a_line_with_what_it_means(tmp_path):
    text = run(write_golden(tmp_path / "golden.csv"))
    for expected in (
        "10 complete, 2 incomplete",
        "1 × 1, 1 × 2",
        "50.0% (5)",
        "20.0% (2)",
        "+30.0 [",
        "p = 0.4531, 7 decided",
        "61.1% [35.7, 82.7] (18)",
        "50.0% [6.8, 93.2] (4)",
        "6.0 [3.5, 8.5] (11)",
        "Region coast",
        "Identical lines counted once: 1",
        "Judgements of gold pairs, not part of any figure: 1",
    ):
        assert expected in text
    assert "nan" not in text.lower()


def test_a_text_about_nearly_nothing_says_why_figures_are_missing(tmp_path):
    file = tmp_path / "few.csv"
    file.write_text("image,rater,score\na,ann,1\n")
    text = run(file)
    assert "WINS − LOSSES            undefined: No image has all its judgements yet." in text
    assert "Ordinal alpha            undefined: No image was judged by two raters" in text
    assert "nan" not in text.lower()


def test_full_agreement_on_images_that_differ_has_no_interval_and_does_not_say_that_they_are_alike(tmp_path):
    file = tmp_path / "agreed.csv"
    rows = [f"{image},{who},{1 if image % 2 else -1}" for image in range(20) for who in "xyz"]
    file.write_text("\n".join(["image,rater,score", *rows]))
    (alpha,) = [one for one in run(file).splitlines() if "Ordinal alpha" in one]
    assert "1.000 [no interval: All resamples of the images give the same figure" in alpha


def test_what_two_raters_cannot_say_of_others_is_said_and_no_line_ends_in_an_empty_part(tmp_path):
    file = tmp_path / "two.csv"
    rows = [f"i{image},{rater},{(image + turn) % 3 - 1}\n" for image in range(20) for turn, rater in enumerate("ab")]
    file.write_text("image,rater,score\n" + "".join(rows))
    text = output_of("sxs_report", file)
    assert (
        "other raters           undefined: Without one of the raters or images the figure is undefined, so they do not "
        "show how others differ. (its interval)"
    ) in text
    assert "; )" not in text
    assert text.endswith("Judgements per image: 3.\n")


@pytest.mark.parametrize(
    "option", [("--seed", str(2**63)), ("--replication", "0"), ("--resamples", "10"), ("--seed", "x")]
)
def test_options_out_of_range_are_refused(tmp_path, option):
    with pytest.raises(CommandError, match="must be a whole number from"):
        run(write_golden(tmp_path / "golden.csv"), *option)


def manage(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "VIRTUAL_ENV") if name in os.environ}
    environment = kept | {"CROSSLENS_VAR": str(folder), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, str(ROOT / "manage.py"), "sxs_report", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=60)


@pytest.mark.process
@pytest.mark.long(reason="manage.py says a refusal as of each command; here no test may use a database")
def test_the_command_needs_no_database_and_a_refusal_ends_with_status_one(tmp_path):
    good, bad = write_golden(tmp_path / "golden.csv"), tmp_path / "bad.csv"
    bad.write_text("image,rater,score\na,ann,1\nb,ann,7\n")

    done, refused = (manage(str(file), "--json", folder=tmp_path / "var") for file in (good, bad))

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["comparisons"][0]["report"]["outcome"]["gain"]["points"] == 30
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert f"{bad}, line 3: score is “7”." in refused.stderr
    assert "Traceback" not in refused.stderr
    assert list(tmp_path.rglob("*.sqlite3")) == []


def keys_of(data: Any) -> set[str]:
    """All names of things in JSON; the scores and counts that are keys too are numbers."""
    if isinstance(data, dict):
        own = {key for key in data if not key.lstrip("-").isdigit()}
        return own.union(*(keys_of(value) for value in data.values()))
    return set().union(*(keys_of(value) for value in data)) if isinstance(data, list) else set()


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_guide_tells_every_key(golden, tmp_path):
    guide = (ROOT / "docs" / "side-by-side-files.md").read_text(encoding="utf-8")
    keys = keys_of(golden) | keys_of(run_json(models_file(tmp_path / "models.csv"), "--resamples", "100"))
    assert len(keys) > 40
    assert {name for name in keys - {"low", "high", "undefined", "message"} if f"`{name}`" not in guide} == set()


def test_the_example_of_the_guide_is_a_file_that_is_taken(tmp_path):
    guide = (ROOT / "docs" / "side-by-side-files.md").read_text(encoding="utf-8")
    (example,) = [block for block in guide.split("```\n") if block.startswith("image,rater")]
    file = tmp_path / "example.csv"
    file.write_text(example)
    assert run_json(file)["comparisons"][0]["report"]["judgements"] == 2


def test_pairs_that_count_unseen_are_told_apart_from_complete_images(tmp_path):
    file = tmp_path / "judgements.csv"
    rows = [f"i{image},{rater},{score},pair" for image, score in ((1, 2), (2, -1)) for rater in ("ann", "bob", "cem")]
    file.write_text("\n".join(["image,rater,score,kind", *rows, "i3,,,equal", "i4,,,equal"]), encoding="utf-8")

    text, outcome = run(file), run_json(file)["comparisons"][0]["report"]["outcome"]

    assert "2 complete, 0 incomplete" in text
    assert "2 pairs with equal captions count as SIMILAR without being shown." in text
    assert outcome["images"]["denominator"] == 4
    assert outcome["wins"]["percent"] == outcome["losses"]["percent"] == 25


@pytest.mark.parametrize(
    ("name", "content"),
    [("equal.csv", "image,kind\ni3,equal\ni4,equal\n"), ("equal.jsonl", '{"image": "i3", "kind": "equal"}\n')],
)
def test_pairs_that_count_unseen_need_neither_rater_nor_score_when_there_are_no_others(tmp_path, name, content):
    file = tmp_path / name
    file.write_text(content, encoding="utf-8")

    outcome = run_json(file)["comparisons"][0]["report"]["outcome"]

    images = len(content.splitlines()) - (name == "equal.csv")
    assert outcome["images"]["denominator"] == outcome["images"]["counted_similar"] == images
    assert outcome["gain"]["points"] == 0


def test_what_rounds_to_nothing_has_no_sign_of_less_than_nothing():
    why = UndefinedComparison(UndefinedReason.ONE_RATER)
    (line, _) = judgement_lines._gain_lines(GainFigure(-0.04, Interval(-0.06, 0.04), why, 1, "interval"))
    assert "+0.0 [-0.1, +0.0]" in line
