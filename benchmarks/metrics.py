"""How fast captions are scored, beside pycocoevalcap: `python -m benchmarks.metrics [--runs 3] [--skip-million]`.

100,000 images with a candidate and two references of 8 to 16 words, as often as words are in a language (Zipf); a third
of the candidates' words come from a reference. Every measurement is a process of its own, which reads the captions and
then takes the time of one call; its memory is the most it ever held, captions included. `benchmarks.word_movers` has
its own pairs and stands in the same table.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
IMAGES, REFERENCES, WORDS, SEED = 100_000, 2, 15_000, 5
GROWTH = (10_000, 100_000, 1_000_000)
METRICS = ("cider", "cider-d", "bleu", "rouge-l")
# The public tool has CIDEr-D only, which is what the original CIDEr is held against too.
PEERS = {"cider": "cider-d"}


def main() -> None:
    if sys.argv[1:2] == ["one"]:
        print(json.dumps(_one(sys.argv[2], sys.argv[3], Path(sys.argv[4]), int(sys.argv[5]))))
    elif sys.argv[1:2] == ["write"]:
        _write(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--runs", type=int, default=3, help="of ours; the peer runs once")
        parser.add_argument("--skip-million", action="store_true")
        options = parser.parse_args()
        report(measure(runs=options.runs, growth=GROWTH[: 2 if options.skip_million else 3]))


def measure(*, runs: int, growth: tuple[int, ...] = GROWTH) -> dict[str, Any]:
    """All figures, for `report`."""
    with tempfile.TemporaryDirectory(prefix="crosslens_bench_") as folder:
        files = {images: Path(folder) / f"{images}.txt" for images in {*growth, IMAGES}}
        for images, path in files.items():
            _module("metrics", "write", path, images)
        theirs = {name: _module("metrics", "one", "theirs", name, files[IMAGES], 1) for name in METRICS[1:]}
        ours = {
            workers: {name: _median(runs, "one", "ours", name, files[IMAGES], workers) for name in METRICS}
            for workers in (1, 2)
        }
        grown = {
            name: {images: _median(1, "one", "ours", name, files[images], 1) for images in growth} for name in METRICS
        }
    return {"theirs": theirs, "ours": ours, "growth": grown, "word_movers": _module("word_movers")}


def report(results: dict[str, Any]) -> None:
    theirs = results["theirs"]
    print(f"Scoring {IMAGES:,} images, {REFERENCES} references of 8 to 16 words each: seconds (processor), memory")
    print(f"  {'':9} {'pycocoevalcap':>23} {'one core':>23} {'two cores':>23}   times as fast, one and two   apart")
    for name in METRICS:
        peer, one, two = (of[name] for of in (_with_peers(theirs), results["ours"][1], results["ours"][2]))
        faster = " and ".join(f"{peer['seconds'] / ours['seconds']:.1f}" for ours in (one, two))
        apart = f"{abs(peer['corpus'] - one['corpus']):.0e}" if name in theirs else "the original"
        print(f"  {name:9} {_cell(peer)} {_cell(one)} {_cell(two)}   {faster:>26}   {apart}")
    for name, sizes in results["growth"].items():
        grown = ", ".join(
            f"{images:,}: {1e6 * found['seconds'] / images:.1f} ({1e6 * found['processor_s'] / images:.1f}) µs, "
            f"{found['mb']} MB"
            for images, found in sizes.items()
        )
        print(f"  {name:9} an image takes, of {grown}")
    movers = results["word_movers"]["us_per_pair"]
    each = ", ".join(f"{name.replace('_', ' ')} {taken:.0f} µs" for name, taken in movers.items())
    print(f"  Word mover's distance, a pair: {each}; {movers['gensim'] / movers['all_at_once']:.1f} times as fast")


def _with_peers(theirs: dict[str, Any]) -> dict[str, Any]:
    return {name: theirs[PEERS.get(name, name)] for name in METRICS}


def _cell(found: dict[str, Any]) -> str:
    return f"{found['seconds']:7.2f} ({found['processor_s']:5.2f}) {found['mb']:5} MB"


def _median(runs: int, *arguments: object) -> dict[str, Any]:
    found = [_module("metrics", *arguments) for _ in range(runs)]
    medians = {name: statistics.median(run[name] for run in found) for name in ("seconds", "processor_s")}
    return {**found[0], **medians, "mb": max(run["mb"] for run in found)}


def _module(name: str, *arguments: object) -> dict[str, Any]:
    command = [sys.executable, "-m", f"benchmarks.{name}", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
    lines = done.stdout.splitlines()
    return dict(json.loads(lines[-1])) if lines else {}


def _one(whose: str, name: str, path: Path, workers: int) -> dict[str, Any]:
    score = (_theirs if whose == "theirs" else _ours)(name)
    candidates: list[str] = []
    references: list[list[str]] = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            candidate, *of_image = line.rstrip("\n").split("\t")
            candidates.append(candidate)
            references.append(of_image)
    began, processor_began = time.perf_counter(), time.process_time()
    corpus = score(candidates, references, workers)
    seconds, processor_s = time.perf_counter() - began, time.process_time() - processor_began
    mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"seconds": round(seconds, 3), "processor_s": round(processor_s, 3), "mb": mb, "corpus": corpus}


Scorer = Callable[[list[str], list[list[str]], int], float]


def _ours(name: str) -> Scorer:
    from crosslens_metrics.bleu import bleu
    from crosslens_metrics.cider import cider, cider_d
    from crosslens_metrics.rouge_l import rouge_l

    functions: dict[str, Callable[..., Any]] = {"cider": cider, "cider-d": cider_d, "rouge-l": rouge_l}
    if name == "bleu":
        return lambda candidates, references, workers: bleu(candidates, references, workers=workers)[3].corpus
    function = functions[name]
    return lambda candidates, references, workers: float(function(candidates, references, workers=workers).corpus)


def _theirs(name: str) -> Scorer:
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    scorer = {"bleu": Bleu, "cider-d": Cider, "rouge-l": Rouge}[name]()

    def score(candidates: list[str], references: list[list[str]], workers: int) -> float:
        options = {"verbose": 0} if name == "bleu" else {}
        given = dict(enumerate(references)), {image: [text] for image, text in enumerate(candidates)}
        corpus = scorer.compute_score(*given, **options)[0]
        return float(corpus[3] if name == "bleu" else corpus)

    return score


def _write(path: Path, images: int) -> None:
    """One image a line: the candidate and the references, separated by tabs."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    sizes = np.clip(rng.poisson(6, size=2 * WORDS), 1, 16)
    words = np.array(list(dict.fromkeys("".join(rng.choice(letters, size=size)) for size in sizes))[:WORDS])
    share = (1 / np.arange(1, len(words) + 1)).cumsum()
    with path.open("w", encoding="utf-8") as file:
        for _ in range(images):
            lengths = rng.integers(8, 17, size=1 + REFERENCES)
            drawn = words[np.searchsorted(share, rng.random(lengths.sum()) * share[-1])]
            captions = np.split(drawn, lengths.cumsum()[:-1])
            captions[0][: lengths[0] // 3] = captions[1][: lengths[0] // 3]
            file.write("\t".join(" ".join(caption) for caption in captions) + "\n")


if __name__ == "__main__":
    main()
