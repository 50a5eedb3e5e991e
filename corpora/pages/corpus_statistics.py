"""Tables and plots of the statistics of a corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from charts import texts
from charts.plots import BarPlot, bar_plot
from corpora.selectors.corpus_contents import InLanguage, languages_of
from parallel_text.statistics import Senses, Side, Statistics

IMAGE_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Where the bars of images per sense begin."""
WORD_STEPS = (1, 2, 3, 4, 5, 6, 8, 10)


@dataclass(frozen=True)
class SideRow:
    language: InLanguage
    other: InLanguage
    side: Side
    mean_length: str


@dataclass(frozen=True)
class SensesRow:
    senses: Senses
    share: str


@dataclass(frozen=True)
class StatisticsPage:
    """Sentences by language (table 1), both sides of each language (table 2), and the distributions."""

    statistics: Statistics
    levels: Sequence[int]
    sentences: Sequence[tuple[InLanguage, Sequence[int]]]
    sides: Sequence[SideRow]
    senses: Sequence[SensesRow]
    words: BarPlot
    images: BarPlot
    mean_words: str
    mean_images: str
    median_images: str


def statistics_page(statistics: Statistics) -> StatisticsPage:
    languages = languages_of({"en", *statistics.sentences, *(side.language for side in statistics.sides)})
    return StatisticsPage(
        statistics=statistics,
        levels=range(1, max((len(counts) for counts in statistics.sentences.values()), default=0) + 1),
        sentences=[(languages[tag], counts) for tag, counts in statistics.sentences.items()],
        sides=[
            SideRow(
                languages["en" if side.is_english else side.language],
                languages[side.language],
                side,
                texts.plain(side.mean_length),
            )
            for side in statistics.sides
        ],
        senses=[
            SensesRow(each, "–" if each.share is None else texts.percent(100 * each.share))
            for each in statistics.senses
        ],
        words=_plot(_("Sentences by their number of illustrated words"), statistics.words_per_sentence, WORD_STEPS),
        images=_plot(_("Senses by their number of images"), statistics.images_per_synset, IMAGE_STEPS),
        mean_words=_figure(statistics.mean_words_per_sentence),
        mean_images=_figure(statistics.mean_images_per_synset),
        median_images=_figure(statistics.median_images_per_synset),
    )


def _figure(value: float | None) -> str:
    return "–" if value is None else texts.plain(value)


def _plot(title: str, counts: Mapping[int, int], steps: Sequence[int]) -> BarPlot:
    ends = [*(step - 1 for step in steps[1:]), None]
    bars = []
    for first, last in zip(steps, ends, strict=True):
        number = sum(count for value, count in counts.items() if value >= first and (last is None or value <= last))
        name = f"{first}" if first == last else f"{first}+" if last is None else f"{first}–{last}"
        bars.append((name, number, "images"))
    while bars and not bars[-1][1]:
        bars.pop()
    return bar_plot(title, bars)
