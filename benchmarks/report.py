"""How long the report of a comparison takes: `python -m benchmarks.report JUDGEMENTS`, in an empty database.

The baseline is the same bootstrap as one would write it down, resample by resample over the images, on a hundredth of
the resamples. Prints one JSON object.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable

import django

django.setup()

import numpy as np
from django.core.management import call_command
from django.db import connection

from benchmarks import seed
from crosslens_metrics.gains import gain_interval
from sxs_eval.selectors.results import report_of

REPLICATION, RATERS, TIMES, RESAMPLES, IMAGES = 3, 60, 5, 10_000, 3600


def main() -> None:
    judgements = int(sys.argv[1])
    call_command("migrate", verbosity=0)
    comparison = seed.make_comparison("report", judgements // REPLICATION)
    stored = seed.judge_all(comparison, raters=RATERS, replication=REPLICATION)
    outcomes = np.random.default_rng(1).choice([-1, 0, 1], IMAGES, p=[0.3, 0.3, 0.4])
    wins, losses = int((outcomes > 0).sum()), int((outcomes < 0).sum())
    rng = np.random.default_rng(1)
    ours_s = _median_s(lambda: gain_interval(wins, losses, IMAGES, resamples=RESAMPLES, rng=rng))
    plain_s = _median_s(lambda: _plain_bootstrap(outcomes, RESAMPLES // 100)) * 100
    print(
        json.dumps(
            {
                "database": connection.vendor,
                "judgements": stored,
                "report_s": round(_median_s(lambda: report_of(comparison)), 3),
                "bootstrap_ms": round(1000 * ours_s, 2),
                "plain_bootstrap_ms": round(1000 * plain_s, 1),
            }
        )
    )


def _plain_bootstrap(outcomes: np.ndarray, resamples: int) -> list[float]:
    rng = np.random.default_rng(1)
    return [float(outcomes[rng.integers(0, len(outcomes), len(outcomes))].mean()) for _ in range(resamples)]


def _median_s(call: Callable[[], object]) -> float:
    times = []
    for _ in range(TIMES):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


if __name__ == "__main__":
    main()
