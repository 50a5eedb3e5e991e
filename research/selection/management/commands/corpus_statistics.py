"""Print the statistics of a corpus."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from parallel_text.statistics import CorpusStatistics, SideStatistics


class Command(BaseCommand):
    help = "Print the statistics of a corpus."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="folder that build_corpus made")
        parser.add_argument("--json", action="store_true", help="print all of statistics.json")

    def handle(self, *, folder: Path, **options: Any) -> None:
        try:
            data = json.loads((folder / "statistics.json").read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise CommandError(f"{folder} has no statistics.json. Run build_corpus to its end.") from error
        except json.JSONDecodeError as error:
            raise CommandError("statistics.json is broken. Run build_corpus with --step publish --again.") from error
        if options["json"]:
            self.stdout.write(json.dumps(data, ensure_ascii=False, indent=2))
            return
        for line in _lines(CorpusStatistics.from_json(data)):
            self.stdout.write(line)


def _lines(statistics: CorpusStatistics) -> Iterator[str]:
    yield f"Illustrated words: {statistics.instances}, of {statistics.nouns} nouns"
    yield ""
    yield "Sentences (table 1)"
    levels = max((len(counts) for counts in statistics.sentences.values()), default=0)
    yield from _table(
        ["language", *(f"intersect_{n}" for n in range(1, levels + 1))],
        [[tag, *counts] for tag, counts in statistics.sentences.items()],
    )
    yield ""
    yield "Tokens and types of each side (table 2)"
    yield from _table(
        ["pair", "side", "sentences", "tokens", "types", "length", "singletons"],
        [[f"en-{one.language}", "en" if one.is_english else one.language, *_figures(one)] for one in statistics.sides],
    )
    yield ""
    yield "Instances down to one sense"
    yield from _table(
        ["split", "instances", "one sense", "share"],
        [
            [f"intersect_{one.n}", one.instances, one.one_sense, "-" if one.share is None else f"{one.share:.1%}"]
            for one in statistics.senses
        ],
    )
    yield ""
    yield f"Illustrated words per sentence, mean: {_figure(statistics.mean_words_per_sentence)}"
    for tag, mean in statistics.mean_words_by_language.items():
        yield f"  in {tag}: {_figure(mean)}"
    yield f"Images per synset, mean: {_figure(statistics.mean_images_per_synset)}"
    yield f"Images per synset, median: {_figure(statistics.median_images_per_synset)}"


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    texts = [list(head), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in texts) for column in range(len(head))]
    for first, *others in texts:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        yield "  ".join(cells).rstrip()


def _figures(side: SideStatistics) -> list[object]:
    return [side.sentences, side.tokens, side.types, f"{side.mean_length:.1f}", side.singletons]


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
