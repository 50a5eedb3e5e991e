"""How fast points get their places: `python -m benchmarks.places [--runs 3]`.

`manage.py locate` with 50,000 points near towns, and with 50,000 points anywhere, each in a process of its own. The
peer is what one writes first: a loop over the polygons with shapely and no index, over 200 points. Times are
of the processor.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from benchmarks.harness import ROOT, arguments, tell
from geography import outline_files

POINTS, LOOPED, SEED = 50_000, 200, 7
TOWNS = (
    (52.5, 13.4),
    (22.6, 88.4),
    (35.7, 139.7),
    (-13.5, -72.0),
    (40.7, -74.0),
    (6.5, 3.4),
    (48.9, 2.3),
    (-33.9, 151.2),
)


def main() -> None:
    options = arguments(__doc__, runs=3)
    rng = np.random.default_rng(SEED)
    towns = np.array(TOWNS)[rng.integers(len(TOWNS), size=POINTS)] + rng.normal(scale=2, size=(POINTS, 2))
    anywhere = np.column_stack([rng.uniform(-60, 75, POINTS), rng.uniform(-180, 180, POINTS)])
    results = {name: _ours(points, options.runs) for name, points in (("towns", towns), ("anywhere", anywhere))}
    results["loop"] = {"points_per_s": _loop(towns[:LOOPED])}
    tell(results, report(results))


def report(results: dict[str, Any]) -> str:
    slow = results["loop"]["points_per_s"]
    lines = [f"Places of {POINTS:,} points: `manage.py locate`, start included"]
    for name in ("towns", "anywhere"):
        it = results[name]
        lines.append(
            f"  {name:9} {it['seconds']:6.2f} s  {it['points_per_s']:9,.0f} points/s  {it['mb']:5.0f} MB"
            f"  {it['points_per_s'] / slow:7.0f} times as fast as a loop without an index ({slow:.0f} points/s)"
        )
    return "\n".join(lines)


def _ours(points: Any, runs: int) -> dict[str, float]:
    seconds, memory = [], []
    with tempfile.TemporaryDirectory(prefix="crosslens_bench_") as folder:
        path = Path(folder) / "points.csv"
        rows = (f"{number},{latitude:.6f},{longitude:.6f}\n" for number, (latitude, longitude) in enumerate(points))
        path.write_text("key,latitude,longitude\n" + "".join(rows), encoding="utf-8")
        for _ in range(runs):
            process = subprocess.Popen(
                [sys.executable, "manage.py", "locate", str(path), "--json"], cwd=ROOT, stdout=subprocess.DEVNULL
            )
            _, status, usage = os.wait4(process.pid, 0)
            if status:
                raise SystemExit("manage.py locate failed.")
            seconds.append(usage.ru_utime + usage.ru_stime)
            memory.append(usage.ru_maxrss / 1024)
    median = statistics.median(seconds)
    return {"seconds": median, "points_per_s": POINTS / median, "mb": max(memory)}


def _loop(points: Any) -> float:
    names = (outline_files.COUNTRIES, outline_files.REGIONS)
    shapes = [shape for name in names for shape in outline_files.read(outline_files.FOLDER / name)[0]]
    start = time.process_time()
    for latitude, longitude in points:
        point = shapely.Point(longitude, latitude)
        for shape in shapes:
            shape.contains(point)
    return len(points) / (time.process_time() - start)


if __name__ == "__main__":
    main()
