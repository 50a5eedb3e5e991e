"""How fast images are chosen by place: `python -m benchmarks.selection [--candidates 1000000] [--locate]`.

Candidates are scattered around capitals and cities of a made world, for the 36 languages of the shipped table. Three
things are measured: the choice alone, against a greedy in plain Python in turns on the same (smaller) world; the whole
command on a file that has places, in a process of its own with the most memory that it held; and, with `--locate`, the
same on coordinates alone.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import ROOT, arguments, environment, in_turns, tell
from corpora.rules.selection import LEVELS, choose, hash_of
from corpora.rules.tables import Table, level_of, shipped_table
from geography.places import Place

PER_LANGUAGE, SEED, SMALL, TURNS = 100, 1, 50_000, 3
SPREAD_DEGREES = 2.0
CITIES = (
    *((48.86, 2.35, "FR FR-75 EU"), (52.52, 13.40, "DE DE-BE EU"), (40.42, -3.70, "ES ES-MD EU")),
    *((28.61, 77.21, "IN IN-DL AS"), (22.57, 88.36, "IN IN-WB AS"), (17.38, 78.48, "IN IN-TG AS")),
    *((35.68, 139.69, "JP JP-13 AS"), (37.57, 126.98, "KR KR-11 AS"), (39.90, 116.40, "CN CN-BJ AS")),
    *((-1.29, 36.82, "KE KE-30 AF"), (30.04, 31.24, "EG EG-C AF"), (-13.53, -71.97, "PE PE-CUS SA")),
    *((40.71, -74.01, "US US-NY NA"), (-36.85, 174.76, "NZ NZ-AUK OC"), (0.0, -30.0, "")),
)


def main() -> None:
    options = arguments(__doc__, candidates=1_000_000, locate=False)
    table, rng = shipped_table(), np.random.default_rng(SEED)
    at = rng.choice(len(CITIES), size=options.candidates, p=_shares())
    keys, distinct = [f"{number:016x}" for number in range(options.candidates)], [_place(city[2]) for city in CITIES]
    ways = {
        "ours": lambda: _ours(keys[:SMALL], at[:SMALL], distinct, table),
        "plain": lambda: _plain(keys[:SMALL], at[:SMALL], distinct, table),
    }
    assert ways["ours"]() == ways["plain"]()
    small = {name: statistics.median(one.wall_s for one in times) for name, times in in_turns(ways, TURNS).items()}
    began = time.perf_counter()
    _ours(keys, at, distinct, table)
    choice_s = time.perf_counter() - began
    results: dict[str, Any] = {
        "candidates": options.candidates,
        "choice_s": round(choice_s, 2),
        "plain_ratio": _ratio(small),
    }
    choosing = (
        f"Choosing from {options.candidates:,} candidates for {len(table.areas)} languages: {choice_s:.1f} s; "
        f"at {SMALL:,}, {_ratio(small)} times as fast as plain Python"
    )
    told = [choosing]
    for kind in ("with places", "coordinates alone")[: 2 if options.locate else 1]:
        took = _command(keys, at, table, rng, has_places=kind == "with places")
        results[kind] = took
        told.append(
            f"the command on a file {kind}: {took['s']} s ({took['cpu_s']} s of the processor), {took['mb']} MB"
        )
    tell(results, "; ".join(told))


def _shares() -> np.ndarray:
    often = 1 / np.arange(1, len(CITIES) + 1)
    return np.asarray(often / often.sum())


def _ratio(small: dict[str, float]) -> float:
    return round(small["plain"] / small["ours"], 1)


def _place(codes: str) -> Place:
    if not codes:
        return Place()
    country, region, continent = codes.split()
    return Place((country,), (region,), continent)


def _ours(keys: Sequence[str], at: np.ndarray, distinct: Sequence[Place], table: Table) -> set[tuple[str, str]]:
    about = {"areas": table.areas, "languages": table.areas, "per_language": PER_LANGUAGE, "seed": SEED}
    choice = choose(keys=keys, places=at, distinct=distinct, **about)  # type: ignore[arg-type]
    return {(one.key, one.language) for one in choice.images}


def _plain(keys: Sequence[str], at: np.ndarray, distinct: Sequence[Place], table: Table) -> set[tuple[str, str]]:
    """The rule as one writes it down: pools of each language and level, sorted, then one image after another."""
    pools: dict[str, dict[str, list[str]]] = {}
    for tag, areas in table.areas.items():
        pools[tag] = {level: [] for level in LEVELS}
        for key, place in zip(keys, at.tolist(), strict=True):
            pools[tag][level_of(distinct[place], areas)].append(key)
    hashes, taken = {key: hash_of(key, SEED) for key in keys}, dict[str, str]()
    for tag in sorted(pools, key=lambda tag: (len(pools[tag]["region"]), tag)):
        wanted = PER_LANGUAGE
        for level in LEVELS:
            for key in sorted(pools[tag][level], key=hashes.__getitem__):
                if wanted and key not in taken:
                    taken[key] = tag
                    wanted -= 1
    return set(taken.items())


def _command(
    keys: Sequence[str], at: np.ndarray, table: Table, rng: np.random.Generator, *, has_places: bool
) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="crosslens_bench_") as folder:
        candidates, areas = Path(folder, "candidates.csv"), Path(folder, "table.json")
        areas.write_text(json.dumps({tag: one.as_lists() for tag, one in table.areas.items()}))
        away = rng.uniform(-SPREAD_DEGREES, SPREAD_DEGREES, size=(len(keys), 2))
        with candidates.open("w", encoding="utf-8") as file:
            file.write("key,latitude,longitude" + (",countries,region,continent\n" if has_places else "\n"))
            for key, city, (north, east) in zip(keys, at.tolist(), away.tolist(), strict=True):
                latitude, longitude, codes = CITIES[city]
                cells = f",{codes.replace(' ', ',') or ',,'}" if has_places else ""
                file.write(f"{key},{latitude + north:.5f},{longitude + east:.5f}{cells}\n")
        command = [sys.executable, "manage.py", "select_images", str(candidates), "--table", str(areas)]
        command += ["--per-language", str(PER_LANGUAGE), "--seed", str(SEED), "--json"]
        began = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, env=environment(None), stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0
        return {
            "s": round(time.perf_counter() - began, 1),
            "cpu_s": round(usage.ru_utime + usage.ru_stime, 1),
            "mb": round(usage.ru_maxrss / 1024),
        }


if __name__ == "__main__":
    main()
