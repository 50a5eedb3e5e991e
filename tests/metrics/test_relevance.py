"""Relevance without references in the language, from given distances and vectors, and the sums that papers print."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from crosslens_metrics.relevance import bmrc, clin_rel, cmed_rel, wcc, wmd_rel
from crosslens_metrics.undefined import UndefinedFigureError
from tests.published import published


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
