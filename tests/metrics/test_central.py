"""Which of several vectors stands for them all."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from crosslens_metrics.named_vectors import most_central


def test_the_least_mean_cosine_distance_by_hand():
    # cos 10° = 0.9848, cos 40° = 0.7660, cos 50° = 0.6428, cos 120° = -0.5, cos 160° = -0.9397, cos 170° = -0.9848.
    # So the mean distances to the others are 1.8082 of 170°, 0.7857 of 0°, 0.7296 of 10° and 0.6971 of 50°.
    angles = np.radians([170, 0, 10, 50])
    vectors = np.column_stack([np.cos(angles), np.sin(angles)])
    assert most_central(vectors) == 3
    assert most_central(vectors[:3]) == 2  # 1.9623, 1.0000 and 0.9775
    assert most_central(vectors * [[5.0], [0.1], [3.0], [100.0]]) == 3  # lengths do not matter


def test_it_agrees_with_all_distances_written_out():
    rng = np.random.default_rng(7)
    for count in (2, 3, 10, 60):
        vectors = rng.normal(size=(count, 20)) + 0.5
        distances = scipy.spatial.distance.cdist(vectors, vectors, "cosine").sum(axis=1) / (count - 1)
        assert distances[most_central(vectors)] == pytest.approx(distances.min(), abs=1e-12)


def test_of_equally_near_ones_the_first_is_taken():
    assert most_central([[1, 0], [0, 1]]) == 0
    assert most_central([[0, 1], [1, 0], [1, 0], [0, 1]]) == 0
    square = [[1, 0.1], [0.1, 1], [1, -0.1], [-0.1, 1]]
    assert most_central(np.array(square, np.float32) * np.float32(0.3)) == most_central(square)


def test_a_single_vector_is_its_own():
    assert most_central([[3, 4]]) == 0


@pytest.mark.parametrize("vectors", [[], [[0, 0], [1, 0]], [[np.nan, 1], [1, 0]], [[np.inf, 1]], [1, 2]])
def test_what_has_no_direction_is_refused(vectors):
    with pytest.raises(ValueError, match="vector"):
        most_central(vectors)
