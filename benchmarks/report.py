"""How long the report of a comparison takes: `python -m benchmarks.report`, in an empty database.

    python -m benchmarks.report [--judgements 100000]

The baseline is the same bootstrap as one would write it down, resample by resample over the images, on a hundredth of
the resamples.
"""

from __future__ import annotations

import django

django.setup()

import numpy as np
from django.core.management import call_command
from django.db import connection

from benchmarks import seed
from benchmarks.harness import arguments, median_s, tell
from crosslens_metrics.gains import gain_interval
from sxs_eval.selectors.results import report_of

REPLICATION, RATERS, TIMES, RESAMPLES, IMAGES = 3, 60, 5, 10_000, 3600


def main() -> None:
    options = arguments(__doc__, judgements=100_000)
    call_command("migrate", verbosity=0)
    comparison = seed.make_comparison("report", options.judgements // REPLICATION)
    stored = seed.judge_all(comparison, raters=RATERS, replication=REPLICATION)
    outcomes = np.random.default_rng(1).choice([-1, 0, 1], IMAGES, p=[0.3, 0.3, 0.4])
    wins, losses = int((outcomes > 0).sum()), int((outcomes < 0).sum())
    rng = np.random.default_rng(1)
    ours_s = median_s(lambda: gain_interval(wins, losses, IMAGES, resamples=RESAMPLES, rng=rng), TIMES)
    plain_s = 100 * median_s(lambda: _plain_bootstrap(outcomes, RESAMPLES // 100), TIMES)
    report_s = round(median_s(lambda: report_of(comparison), TIMES), 3)
    tell(
        {
            "database": connection.vendor,
            "judgements": stored,
            "report_s": report_s,
            "bootstrap_ms": round(1000 * ours_s, 2),
            "plain_bootstrap_ms": round(1000 * plain_s, 1),
        },
        f"Report over {stored:,} judgements, {connection.vendor}: {report_s} s; bootstrap of {IMAGES:,} pairs: "
        f"{1000 * ours_s:.2f} ms, {plain_s / ours_s:.0f} times as fast as one resample after the other",
    )


def _plain_bootstrap(outcomes: np.ndarray, resamples: int) -> list[float]:
    rng = np.random.default_rng(1)
    return [float(outcomes[rng.integers(0, len(outcomes), len(outcomes))].mean()) for _ in range(resamples)]


if __name__ == "__main__":
    main()
