"""Relevance without references in the language, and the word mover's distance: equal to public implementations."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from crosslens_metrics import word_movers
from crosslens_metrics.relevance import bmrc, clin_rel, cmed_rel, wcc, wmd_rel
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason
from crosslens_metrics.word_movers import SolverMissingError, word_movers_distance, word_movers_distances
from crosslens_metrics.word_vectors import TableWriter, open_table
from tests.published import published
from tests.servers import ROOT


def table_2() -> list[dict[str, str]]:
    with published("tables/annotation_free_table2.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("total", "parts", "sum_of"),
    [("WCC", ("WMDRel", "CLinRel", "CMedRel"), wcc), ("BMRC", ("BLEU-4", "METEOR", "ROUGE-L", "CIDEr"), bmrc)],
)
def test_sums_are_those_of_the_published_table(total, parts, sum_of):
    rows = table_2()
    columns = [[float(row[part]) / 100 for row in rows] for part in parts]

    sums = sum_of(*columns)

    assert len(rows) == 8
    # The parts are printed with one decimal: their sum is off by at most a twentieth for each.
    np.testing.assert_allclose(sums, [float(row[total]) for row in rows], rtol=0, atol=0.05 * (len(parts) + 1) + 1e-9)


def test_the_largest_distance_is_no_relevance_unless_z_is_given():
    relevances = wmd_rel([0.0, 0.5, 2.0])

    assert relevances.z == 2.0
    assert list(relevances.per_image) == [1.0, 0.75, 0.0]
    assert relevances.corpus == pytest.approx(1.75 / 3)
    assert list(wmd_rel([0.0, 0.5, 2.0], z=1.0).per_image) == [1.0, 0.5, 0.0]
    assert wmd_rel([0.5], z=4.0).z == 4.0


def test_an_infinite_distance_is_no_relevance_and_never_z():
    relevances = wmd_rel([np.inf, 1.0, 0.5])

    assert relevances.z == 1.0
    assert list(relevances.per_image) == [0.0, 0.0, 0.5]


def test_where_nothing_is_apart_all_is_relevant():
    assert list(wmd_rel([0.0, 0.0]).per_image) == [1.0, 1.0]


def test_no_finite_distance_has_no_largest_one():
    with pytest.raises(UndefinedFigureError):
        wmd_rel([np.inf])
    assert list(wmd_rel([np.inf], z=2.0).per_image) == [0.0]


@pytest.mark.parametrize(
    ("distances", "z", "said"),
    [
        *(([], None, "shape"), ([[1.0]], None, "shape"), ([1.0, -1.0], None, "image 1 is -1")),
        *(([np.nan], None, "image 0 is nan"), ([1.0], 0.0, "z is 0")),
        *(([1.0], np.inf, "z is inf"), ([1.0], np.nan, "z is nan")),
    ],
)
def test_distances_that_are_none_are_refused(distances, z, said):
    with pytest.raises(ValueError, match=said):
        wmd_rel(distances, z=z)


@pytest.mark.parametrize("relevance", [clin_rel, cmed_rel])
def test_relevance_of_projections_is_their_cosine_whatever_their_length(relevance):
    relevances = relevance([[1.0, 0.0], [1.0, 1.0], [2.0, 0.0]], [[5.0, 0.0], [0.0, 3.0], [-1.0, 0.0]])

    np.testing.assert_allclose(relevances, [1.0, np.sqrt(0.5), -1.0])


@pytest.mark.parametrize("relevance", [clin_rel, cmed_rel])
@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ([], [], "shapes"),
        ([[1.0]], [[1.0], [1.0]], "shapes"),
        ([[1.0], [0.0]], [[1.0], [1.0]], "candidate 1 is zero"),
        ([[1.0]], [[np.nan]], "(reference|image) 0 is zero throughout or not finite"),
    ],
)
def test_vectors_without_a_direction_are_refused_and_named(relevance, a, b, said):
    with pytest.raises(ValueError, match=said):
        relevance(a, b)


@pytest.mark.parametrize(("sum_of", "parts"), [(wcc, 3), (bmrc, 4)])
def test_sums_are_of_one_image_with_itself(sum_of, parts):
    np.testing.assert_allclose(sum_of(*[[0.25, 0.5]] * parts), [25 * parts, 50 * parts])
    with pytest.raises(ValueError, match="different shapes"):
        sum_of(*[[0.25, 0.5]] * (parts - 1), [0.25])


WORDS = [f"w{number}" for number in range(12)]
VECTORS = dict(zip(WORDS, np.random.default_rng(5).normal(size=(12, 6)).astype(np.float32), strict=True))
# Two words at the same place, and one where the origin is.
VECTORS["w9"] = VECTORS["w3"]
VECTORS["w11"] = np.zeros(6, dtype=np.float32)

texts = st.lists(st.sampled_from([*WORDS, "unknown"]), min_size=0, max_size=14).map(" ".join)


def by_linear_programme(a: str, b: str) -> float | None:
    """The definition as it is written down, over all words of both texts."""
    bags = [[word for word in text.split() if word in VECTORS] for text in (a, b)]
    if not all(bags):
        return None
    rows, columns = (sorted(set(bag)) for bag in bags)
    costs = [np.linalg.norm(VECTORS[row].astype(float) - VECTORS[column]) for row in rows for column in columns]
    sums = [[float(i == row) for i in range(len(rows)) for _ in columns] for row in range(len(rows))]
    sums += [[float(j == column) for _ in rows for j in range(len(columns))] for column in range(len(columns))]
    weights = [bags[0].count(word) / len(bags[0]) for word in rows]
    weights += [bags[1].count(word) / len(bags[1]) for word in columns]
    return scipy.optimize.linprog(costs, A_eq=sums, b_eq=weights).fun


def test_it_equals_the_published_distances():
    told = json.loads(published("word_movers/wmd_reference.json").read_text(encoding="utf-8"))

    for key, unit_length in (("wmd_raw", False), ("wmd_unitnorm", True)):
        pairs = told["pairs"]
        distances = word_movers_distances(
            [pair["a"] for pair in pairs], [pair["b"] for pair in pairs], told["vectors"], unit_length=unit_length
        )
        np.testing.assert_allclose(distances.values, [pair[key] for pair in pairs], rtol=0, atol=1e-6)
        assert distances.undefined == 0
        assert len(set(distances.values)) == len(pairs)


@given(texts, texts)
def test_it_is_the_optimum_of_the_linear_programme(a, b):
    expected = by_linear_programme(a, b)

    if expected is None:
        with pytest.raises(UndefinedFigureError):
            word_movers_distance(a, b, VECTORS)
    else:
        assert word_movers_distance(a, b, VECTORS) == pytest.approx(expected, abs=1e-7)


def test_it_equals_gensim_on_long_and_short_texts_with_and_without_unit_length():
    from gensim.models import KeyedVectors

    rng = np.random.default_rng(3)
    words = [f"v{number}" for number in range(300)]
    table = KeyedVectors(20)
    table.add_vectors(words, rng.normal(size=(300, 20)).astype(np.float32))
    a, b = (
        [" ".join(rng.choice(words[:40] if n % 2 else words, size=rng.integers(1, 40))) for n in range(40)]
        for _ in range(2)
    )

    for unit_length in (False, True):
        theirs = [table.wmdistance(x.split(), y.split(), norm=unit_length) for x, y in zip(a, b, strict=True)]
        ours = word_movers_distances(a, b, table, unit_length=unit_length).values
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)


@given(texts.filter(lambda text: set(text.split()) & set(WORDS)))
def test_a_text_is_at_no_distance_from_its_own_words_in_another_order_or_twice(text):
    backwards = " ".join(reversed(text.split()))

    assert word_movers_distance(text, backwards, VECTORS) == 0.0
    assert word_movers_distance(text, f"{text} {text}", VECTORS) == 0.0


@given(*[texts.filter(lambda text: set(text.split()) & set(WORDS))] * 3)
def test_it_is_a_distance(a, b, c):
    there, back = word_movers_distance(a, b, VECTORS), word_movers_distance(b, a, VECTORS)

    assert there >= 0
    assert there == pytest.approx(back, abs=1e-9)
    assert there <= word_movers_distance(a, c, VECTORS) + word_movers_distance(c, b, VECTORS) + 1e-9


def test_words_at_the_same_place_cost_nothing():
    same = {"one": [1.0, 2.0], "uno": [1.0, 2.0], "ein": [1.0, 2.0], "eins": [1.0, 2.0]}

    assert word_movers_distance("one uno", "ein eins", same) == 0.0


def test_vectors_of_length_one_are_never_further_apart_than_two():
    opposite = {"up": [3.0, 0.0], "down": [-5.0, 0.0]}

    assert word_movers_distance("up", "down", opposite) == 8.0
    assert word_movers_distance("up", "down", opposite, unit_length=True) == 2.0


def test_unknown_words_are_left_out_and_counted():
    distances = word_movers_distances(["w1 unknown", "unknown", ""], ["w2 w2 other", "w1", "w1"], VECTORS)

    assert distances.values[0] == word_movers_distance("w1", "w2", VECTORS)
    assert list(np.isinf(distances.values)) == [False, True, True]
    assert (distances.undefined, distances.words, distances.unknown_words) == (2, 7, 3)


def test_a_text_without_a_known_word_has_no_distance_even_to_itself():
    with pytest.raises(UndefinedFigureError) as refused:
        word_movers_distance("unknown", "unknown", VECTORS)
    assert refused.value.reason == UndefinedReason.NO_KNOWN_WORD


def test_a_table_of_the_platform_is_as_good_as_a_dict(tmp_path):
    writer = TableWriter(tmp_path, dimensions=6, language="en")
    for word in WORDS[:9]:
        writer.add(word, VECTORS[word])
    writer.finish()

    ours = word_movers_distance("w1 w2 w4", "w5 w6 w2", open_table(tmp_path))

    assert ours == word_movers_distance("w1 w2 w4", "w5 w6 w2", VECTORS)


@pytest.mark.parametrize(
    ("a", "b", "vectors", "said"),
    [
        ([], [], VECTORS, "no pair"),
        (["w1"], ["w1", "w2"], VECTORS, "1 texts on one side and 2"),
        (["x"], ["y"], {"x": [1.0], "y": [1.0, 2.0]}, "'y' has the shape"),
        (["x"], ["y"], {"x": [1.0], "y": [float("nan")]}, "'y' is not finite"),
    ],
)
def test_what_cannot_be_compared_is_refused_and_named(a, b, vectors, said):
    with pytest.raises(ValueError, match=said):
        word_movers_distances(a, b, vectors)


def test_without_the_solver_only_what_needs_it_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    word_movers._cheapest.cache_clear()
    try:
        assert word_movers_distance("w1", "w2", VECTORS) > 0
        with pytest.raises(SolverMissingError, match="pip install POT"):
            word_movers_distance("w1 w4", "w2 w5", VECTORS)
    finally:
        word_movers._cheapest.cache_clear()


@pytest.mark.process
@pytest.mark.long(reason="a process of its own")
def test_neither_the_module_nor_a_distance_loads_a_framework():
    code = """
import os, sys
import crosslens_metrics.word_movers as movers
assert "ot" not in sys.modules
movers.word_movers_distance("a b", "c d", {"a": [0.0], "b": [1.0], "c": [2.0], "d": [4.0]})
assert "ot" in sys.modules
assert not {"torch", "jax", "tensorflow", "django"} & set(sys.modules)
assert not [key for key in os.environ if key.startswith("POT_BACKEND")]
"""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "libs")}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=60)
