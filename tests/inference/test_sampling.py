"""Words drawn by chance: as often as their probability says, whatever they are drawn beside."""

from __future__ import annotations

import pytest

from research.inference.backends.sampling import TokenDrawing, draw_seed
from tests.torch_extra import needs_torch


@needs_torch
@pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 1.0), (0.5, 1.0), (2.0, 1.0), (1.0, 0.7)])
def test_words_are_drawn_as_often_as_their_probability_says(temperature, top_p):
    import torch

    logits = torch.tensor([1.0, 0.0, 2.0, -1.0, 0.5])
    expected = (logits.double() / temperature).softmax(0)
    if top_p < 1:
        # 0.56 and 0.21 make 0.77: with 0.7 of the probability, two words are left.
        expected = torch.where(expected >= expected[0], expected, 0.0)
        expected /= expected.sum()
    drawn = 40_000
    rows = [draw_seed(seed=1, key=str(number), language="en") for number in range(drawn)]
    drawing = TokenDrawing(rows, temperature=temperature, top_p=top_p)

    for _place in range(2):
        counts = drawing(None, logits.repeat(drawn, 1)).argmax(dim=1).bincount(minlength=5).double()
        # Chi-squared with at most 4 degrees of freedom is above 18.5 once in a thousand.
        kept = expected > 0
        assert counts[~kept].sum() == 0
        assert ((counts - drawn * expected)[kept] ** 2 / (drawn * expected)[kept]).sum() < 18.5


@needs_torch
def test_draws_of_neighbouring_places_and_keys_have_nothing_in_common():
    import torch

    logits = torch.zeros(20_000, 2)
    drawing = TokenDrawing(
        [draw_seed(seed=1, key=str(n), language="en") for n in range(20_000)], temperature=1.0, top_p=1.0
    )
    first, second = (drawing(None, logits).argmax(dim=1).double() - 0.5 for _place in range(2))

    # A mean of products of fair coins of ± ½ has a standard deviation of 0.25 / √20,000 = 0.0018.
    assert abs((first * second).mean()) < 0.008
    assert abs((first[1:] * first[:-1]).mean()) < 0.008
