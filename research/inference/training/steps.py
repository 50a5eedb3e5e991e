"""What a step of a training follows from: its learning rate, and its captions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from research.inference.training.options import RateSchedule, TrainingOptions


def learning_rate(options: TrainingOptions, step: int) -> float:
    """The learning rate of a step, counted from 1."""
    if step <= options.warmup_steps:
        return options.learning_rate * step / options.warmup_steps
    rest = max(1, options.steps - options.warmup_steps)
    share = (step - 1 - options.warmup_steps) / rest
    if options.schedule == RateSchedule.LINEAR:
        return options.learning_rate * (1 - share)
    if options.schedule == RateSchedule.COSINE:
        return options.learning_rate * (1 + math.cos(math.pi * share)) / 2
    return options.learning_rate


def examples_of_step(options: TrainingOptions, examples: int, step: int) -> list[int]:
    """The places of a step's captions: epochs in an order of their own follow one another without a gap."""
    first = (step - 1) * options.batch_size
    orders: dict[int, Any] = {}
    places = []
    for number in range(first, first + options.batch_size):
        epoch, place = divmod(number, examples)
        if epoch not in orders:
            orders[epoch] = np.random.default_rng([options.seed, epoch]).permutation(examples)
        places.append(int(orders[epoch][place]))
    return places
