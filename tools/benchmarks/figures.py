"""How much processor time a side-by-side report takes, with all its intervals, and how that grows with judgements.

.venv/bin/python -m tools.benchmarks.figures
"""

from __future__ import annotations

from functools import partial

import numpy as np

from crosslens_metrics.reports.comparison import CountedJudgements, build_report
from tools.benchmarks.harness import arguments, print_result, timed_call

IMAGES = {"small": 600, "large": 33_333}
RATERS, REGIONS = 10, 36


def judgements(images: int) -> CountedJudgements:
    """Three of each image, on seven points."""
    rng = np.random.default_rng(0)
    image = np.repeat([f"image-{number}" for number in range(images)], 3)
    rater = np.argsort(rng.random((images, RATERS)), axis=1)[:, :3].ravel().astype(str)
    size = len(image)
    return CountedJudgements(
        image, rater, rng.integers(-3, 4, size), rng.integers(0, 2, size).astype(np.int8), rng.gamma(3, 5, size)
    )


def main() -> None:
    options = arguments(__doc__, turns=3)
    result = {}
    for name, images in IMAGES.items():
        judged = judgements(images)
        regions = {str(image): f"region {number % REGIONS}" for number, image in enumerate(np.unique(judged.image))}
        report = partial(build_report, judged, seed=0, region_of=regions)
        times = [timed_call(report).cpu_s for _ in range(options.turns)]
        result[name] = {"images": images, "cpu_ms": round(1000 * min(times))}
    print_result(result, "\n".join(f"report of {one['images']} images: {one['cpu_ms']} ms" for one in result.values()))


if __name__ == "__main__":
    main()
