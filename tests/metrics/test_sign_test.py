"""The exact sign test against the binomial distribution and a count by hand."""

from __future__ import annotations

import pytest
import scipy

from crosslens_metrics.sign_test import sign_test
from crosslens_metrics.undefined import UndefinedFigureError, UndefinedReason


@pytest.mark.parametrize(("wins", "losses"), [(5, 2), (2, 5), (0, 1), (6, 0), (4, 4), (60, 41), (12_000, 12_300)])
def test_the_sign_test_is_the_exact_binomial_one(wins, losses):
    assert sign_test(wins, losses) == pytest.approx(scipy.stats.binomtest(wins, wins + losses).pvalue, abs=1e-9)


def test_the_sign_test_by_hand():
    assert sign_test(5, 2) == pytest.approx(2 * (1 + 7 + 21) / 2**7)


def test_without_a_decided_image_there_is_no_sign_test():
    with pytest.raises(UndefinedFigureError) as refused:
        sign_test(0, 0)
    assert refused.value.reason == UndefinedReason.NO_DECIDED


def test_a_negative_number_of_images_is_refused():
    with pytest.raises(ValueError, match="negative"):
        sign_test(3, -1)
