"""The network and its loss. Functions import this module when they need it, because it loads PyTorch."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from research.inference.projections.words import PADDING


class ProjectionNetwork(nn.Module):
    """Bag of words, mean word vector and a GRU over the words, side by side, through an MLP into the image space.

    X. Li, C. Xu, G. Yang, Z. Chen and J. Dong (2019), W2VV++: Fully Deep Learning for Ad-hoc Video Search, ACM MM.
    """

    def __init__(
        self,
        *,
        words: int,
        means: int,
        word_rows: int,
        word_dimensions: int,
        recurrent: int,
        hidden: int,
        dropout: float,
        dimensions: int,
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(word_rows, word_dimensions, padding_idx=PADDING)
        self.recurrent = nn.GRU(word_dimensions, recurrent, batch_first=True)
        self.mapping = nn.Sequential(
            nn.Linear(words + means + recurrent, hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, dimensions),
        )

    def forward(self, bags: Any, sequences: Any, means: Any) -> Any:
        states, _last = self.recurrent(self.words(sequences))
        mask = (sequences != PADDING).unsqueeze(2)
        # The mean over the words that are there: what follows the last one is not looked at.
        pooled = (states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)
        return self.mapping(torch.cat([bags, means, pooled], dim=1))


def triplet_loss(texts: Any, images: Any, same: Any, margin: float) -> Any:
    """Compute how far texts are, on average, from being nearer to their image than to any other, by `margin`.

    `same[i, j]` says that the image of pair j is that of pair i, and so is no wrong one. As in F. Faghri et al. (2018),
    VSE++, only the hardest wrong image counts.
    """
    cosines = nn.functional.normalize(texts, dim=1) @ nn.functional.normalize(images, dim=1).T
    right = cosines.diagonal()
    hardest = cosines.masked_fill(same, -1.0).max(dim=1).values
    return (margin + hardest - right).clamp(min=0).mean()
