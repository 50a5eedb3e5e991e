"""Vectors by name in files, in the order of captions that are scored, and which of several stands for all."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from crosslens_metrics.annotation_free import projections_of
from crosslens_metrics.named_vectors import MalformedVectorsError, NamedVectors, most_central, read_named_vectors
from crosslens_metrics.scoring import MissingInputError, score


def named(keys: str, rows: list[list[float]], signature: str = "encoder-1", space: str = "space-1") -> NamedVectors:
    return NamedVectors(tuple(keys.split()), np.array(rows, dtype=np.float32), signature, space)


def test_what_is_written_is_read_again_and_the_same_content_gives_the_same_file(tmp_path):
    vectors = named("b.jpg مرحبا b.jpg", [[1, 2], [3, 4], [5, 6]])

    vectors.save(tmp_path / "one.npz")
    vectors.save(tmp_path / "two.npz")
    read = read_named_vectors(tmp_path / "one.npz")

    assert (read.keys, read.signature, read.space) == (vectors.keys, "encoder-1", "space-1")
    np.testing.assert_array_equal(read.vectors, vectors.vectors)
    assert read.rows().named == {"b.jpg": [0, 2], "مرحبا": [1]}
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.npz", "two.npz"]


GOOD = {"keys": np.array(["a"]), "vectors": np.ones((1, 2)), "signature": np.array("x"), "space": np.array("x")}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"space": None}, "has no entry space"),
        ({"keys": np.array([1])}, "keys must be texts"),
        ({"keys": np.array(["a"], dtype=object)}, "is not an npz file of vectors"),
        ({"vectors": np.ones((1, 2), dtype=int)}, "floating-point"),
        ({"vectors": np.ones((2, 2))}, r"1 names and vectors of the shape \(2, 2\)"),
        ({"vectors": np.full((1, 2), np.nan)}, "vector of a is not finite"),
        ({"signature": np.array(["x", "y"])}, "one text each"),
    ],
)
def test_files_that_hold_something_else_are_refused(tmp_path, changes, said):
    entries = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    np.savez(tmp_path / "file.npz", **entries)

    with pytest.raises(MalformedVectorsError, match=said):
        read_named_vectors(tmp_path / "file.npz")


def test_files_of_another_kind_are_refused(tmp_path):
    (tmp_path / "text.npz").write_text("no zip", encoding="utf-8")

    with pytest.raises(MalformedVectorsError, match="is not an npz file"):
        read_named_vectors(tmp_path / "text.npz")
    with pytest.raises(MalformedVectorsError, match="cannot be read"):
        read_named_vectors(tmp_path / "none.npz")


def test_an_archive_that_claims_encryption_or_has_a_broken_stream_is_refused(tmp_path):
    np.savez_compressed(tmp_path / "file.npz", **GOOD)  # type: ignore[arg-type]
    whole = (tmp_path / "file.npz").read_bytes()
    listed = whole.index(b"PK\x01\x02")

    for place, byte in ((listed + 8, 0x41), (whole.index(b"keys.npy") + 40, 0xFF)):
        (tmp_path / "file.npz").write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
        with pytest.raises(MalformedVectorsError, match="is not an npz file"):
            read_named_vectors(tmp_path / "file.npz")


def test_vectors_come_in_the_order_of_the_captions():
    candidates = named("c b a", [[0, 1], [1, 1], [2, 0]], "w2vv++-es")
    references = named("a b c a", [[1, 0], [1, 1], [1, 0], [0, 9]], "w2vv++-en")
    features = named("a b c unused", [[1, 0], [1, 0], [0, 5], [1, 1]], "space-1")

    projections = projections_of(["a", "b", "c"], candidates=candidates, references=references, features=features)
    clin, cmed = score("abc", [["x"]] * 3, metrics=["clinrel", "cmedrel"], projections=projections)

    half = np.sqrt(0.5)
    # Of the two references of a, the mean of the directions.
    np.testing.assert_allclose(clin.scores.per_image, [half, 1.0, 0.0], atol=1e-7)
    np.testing.assert_allclose(cmed.scores.per_image, [1.0, half, 1.0], atol=1e-7)
    assert [one.signature.get("encoder") for one in (clin, cmed)] == ["w2vv++-es+w2vv++-en", "w2vv++-es+space-1"]


def test_only_what_is_given_can_be_compared_with():
    projections = projections_of(["a"], candidates=named("a", [[1, 0]]), features=named("a", [[1, 0]]))

    assert score(["x"], [["x"]], metrics=["cmedrel"], projections=projections)[0].scores.corpus == 1.0
    with pytest.raises(MissingInputError, match="English references"):
        score(["x"], [["x"]], metrics=["clinrel"], projections=projections)


@pytest.mark.parametrize(
    ("candidates", "features", "said"),
    [
        (named("a", [[1, 0]]), named("a b", [[1, 0], [1, 0]]), "of the candidates lack images b"),
        (named("a b b", [[1, 0]] * 3), named("a b", [[1, 0]] * 2), "have image b 2 times"),
        (named("a b", [[1, 0], [0, 0]]), named("a b", [[1, 0]] * 2), "for image b is zero"),
        (named("a b", [[1, 0]] * 2), named("a b", [[1, 0]] * 2, space="other"), "cannot be compared"),
    ],
)
def test_vectors_that_do_not_fit_are_refused_and_named(candidates, features, said):
    with pytest.raises(MalformedVectorsError, match=said):
        projections_of(["a", "b"], candidates=candidates, features=features)


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
