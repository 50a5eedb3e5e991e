"""How fast captions are scored, beside pycocoevalcap: `python -m tools.benchmarks.metrics [--runs 3]`.

100,000 images with a candidate and two references of 8 to 16 words, as often as words are in a language (Zipf); a third
of the candidates' words come from a reference. Every measurement is a process of its own, which reads the captions and
then takes the time of one call; its memory is the most it ever held, captions included.
"""

from __future__ import annotations

import resource
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.benchmarks.harness import arguments, print_result, run, timed_call

IMAGES, REFERENCES, WORDS, SEED = 100_000, 2, 15_000, 5
METRICS = ("cider", "cider-d", "bleu", "rouge-l")
# The public tool has CIDEr-D only, which is what the original CIDEr is held against too.
PEERS = {"cider": "cider-d"}


def main() -> None:
    options = arguments(__doc__, runs=3, step="all", whose="", name="", file="", workers=1)
    if options.step == "one":
        print_result(_one(options.whose, options.name, Path(options.file), options.workers))
    elif options.step == "write":
        _write(Path(options.file))
        print_result({})
    else:
        results = measure(options.runs)
        print_result(results, report(results))


def measure(runs: int) -> dict[str, Any]:
    """Measure all that `report` tells of; the peer runs once."""
    with tempfile.TemporaryDirectory(prefix="crosslens_bench_") as folder:
        file = Path(folder) / "captions.txt"
        run("metrics", step="write", file=file)
        theirs = {name: run("metrics", step="one", whose="theirs", name=name, file=file) for name in METRICS[1:]}
        ours = {
            workers: {name: _ours_in_a_process(runs, name, file, workers) for name in METRICS} for workers in (1, 2)
        }
    return {"theirs": theirs, "ours": ours}


def report(results: dict[str, Any]) -> str:
    theirs = results["theirs"]
    lines = [
        f"Scoring {IMAGES:,} images, {REFERENCES} references of 8 to 16 words each: seconds (processor), memory",
        f"  {'':9} {'pycocoevalcap':>23} {'one core':>23} {'two cores':>23}   times as fast, one and two   apart",
    ]
    for name in METRICS:
        peer, one, two = theirs[PEERS.get(name, name)], results["ours"][1][name], results["ours"][2][name]
        faster = " and ".join(f"{peer['seconds'] / ours['seconds']:.1f}" for ours in (one, two))
        apart = f"{abs(peer['corpus'] - one['corpus']):.0e}" if name in theirs else "the original"
        lines.append(f"  {name:9} {_cell(peer)} {_cell(one)} {_cell(two)}   {faster:>26}   {apart}")
    return "\n".join(lines)


def _cell(measured: dict[str, Any]) -> str:
    return f"{measured['seconds']:7.2f} ({measured['processor_s']:5.2f}) {measured['mb']:5} MB"


def _ours_in_a_process(runs: int, name: str, file: Path, workers: int) -> dict[str, Any]:
    made = [run("metrics", step="one", whose="ours", name=name, file=file, workers=workers) for _ in range(runs)]
    medians = {part: statistics.median(one[part] for one in made) for part in ("seconds", "processor_s")}
    return {**made[0], **medians, "mb": max(one["mb"] for one in made)}


def _one(whose: str, name: str, path: Path, workers: int) -> dict[str, Any]:
    score = (_theirs if whose == "theirs" else _ours)(name)
    candidates: list[str] = []
    references: list[list[str]] = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            candidate, *of_image = line.rstrip("\n").split("\t")
            candidates.append(candidate)
            references.append(of_image)
    seconds, processor_s, corpus = timed_call(lambda: score(candidates, references, workers))
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


def _write(path: Path) -> None:
    """One image a line: the candidate and the references, separated by tabs."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    sizes = np.clip(rng.poisson(6, size=2 * WORDS), 1, 16)
    words = np.array(list(dict.fromkeys("".join(rng.choice(letters, size=size)) for size in sizes))[:WORDS])
    share = (1 / np.arange(1, len(words) + 1)).cumsum()
    with path.open("w", encoding="utf-8") as file:
        for _ in range(IMAGES):
            lengths = rng.integers(8, 17, size=1 + REFERENCES)
            drawn = words[np.searchsorted(share, rng.random(lengths.sum()) * share[-1])]
            captions = np.split(drawn, lengths.cumsum()[:-1])
            captions[0][: lengths[0] // 3] = captions[1][: lengths[0] // 3]
            file.write("\t".join(" ".join(caption) for caption in captions) + "\n")


if __name__ == "__main__":
    main()
