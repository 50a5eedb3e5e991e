"""Sample words so that an image's sample does not depend on the rest of its batch.

Gumbel-max: the largest of log p + G, where each G is drawn from a Gumbel distribution of its own, is a draw from p
(R. D. Luce 1959; C. J. Maddison, D. Tarlow and T. Minka 2014, A* Sampling). Each G here is computed from the image, the
language, the seed, the place in the caption and the token alone, by SplitMix64 (G. L. Steele, D. Lea and C. H. Flood
2014): no state to be kept, the same numbers on every device, and a whole batch at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from research.inference.backends.encoders import torch

GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""The constants of SplitMix64."""


def draw_seed(*, seed: int, key: str, language: str) -> int:
    """Make the seed, a signed 64-bit number, of all draws for an image in a language."""
    content = f"{seed}\0{key}\0{language}".encode()
    return int.from_bytes(hashlib.sha256(content).digest()[:8], "little", signed=True)


class TokenDrawing:
    """A logits processor whose output is largest at the sampled token, one row for each of `streams`.

    Make one for each call of `generate`: it counts the steps.
    """

    def __init__(self, streams: Sequence[int], *, temperature: float, top_p: float) -> None:
        self._torch = torch()
        self._streams = self._torch.tensor(list(streams), dtype=self._torch.int64)
        self._temperature, self._top_p, self._place = temperature, top_p, 0

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        kept = self._kept(scores.double() / self._temperature)
        place, self._place = self._place, self._place + 1
        return kept + self._gumbel(place, kept.shape[1], kept.device)

    def _kept(self, scores: Any) -> Any:
        """Keep the log-probabilities of the fewest tokens that sum to `top_p`; the others become minus infinity."""
        logs = scores.log_softmax(dim=-1)
        if self._top_p >= 1:
            return logs
        ordered, places = logs.sort(dim=-1, descending=True)
        before = ordered.exp().cumsum(dim=-1) - ordered.exp()
        left_out = (before >= self._top_p).scatter(-1, places, before >= self._top_p)
        return logs.masked_fill(left_out, float("-inf"))

    def _gumbel(self, place: int, tokens: int, device: Any) -> Any:
        self._streams = self._streams.to(device)
        # Rows are mixed with the place first: streams of neighbouring places have nothing in common.
        rows = self._mixed(self._streams + _signed(GOLDEN * (place + 1)))
        numbers = self._mixed(rows[:, None] + self._torch.arange(1, tokens + 1, device=device) * _signed(GOLDEN))
        uniform = (self._shifted(numbers, 12).double() + 0.5) * 2.0**-52
        return -(-uniform.log()).log()

    def _mixed(self, numbers: Any) -> Any:
        numbers = (numbers ^ self._shifted(numbers, 30)) * _signed(FIRST)
        numbers = (numbers ^ self._shifted(numbers, 27)) * _signed(SECOND)
        return numbers ^ self._shifted(numbers, 31)

    @staticmethod
    def _shifted(numbers: Any, bits: int) -> Any:
        """Shift right like unsigned numbers, without carrying the sign."""
        return (numbers >> bits) & ((1 << (64 - bits)) - 1)


def _signed(number: int) -> int:
    number &= (1 << 64) - 1
    return number - (1 << 64) if number >> 63 else number
