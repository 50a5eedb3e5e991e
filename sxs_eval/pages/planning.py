"""What the design of a plan can see: tables of its power, and what other designs of the same cost would see."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from charts import texts
from charts.plots import DrawnPlot, NumberedDot, dot_plot
from crosslens_metrics.power import JudgingDesign, SeenGain
from sxs_eval.formats.designs import PlannedDesign, chance_text, design_text, smallest_lines, spread_text, trade_text
from tabular.tables import TEXT, PageTable, TableColumn, figure, isolated

TradedDesign = tuple[JudgingDesign, SeenGain]


def design_page(planned: PlannedDesign) -> dict[str, Any]:
    power, trade = planned.power, planned.trade
    return {
        "title": design_text(planned.design),
        "spread": spread_text(planned.spread),
        "smallest": list(smallest_lines(power)),
        "power": PageTable("power", _("Chance to see a true gain"), _power_columns(), power.seen),
        "trade": PageTable("trade", _("Designs with the same number of judgements"), _trade_columns(), trade),
        "plot": _trade_plot(trade),
        "legend": _estimands(),
    }


def _estimands() -> tuple[str, str]:
    return _("With these raters"), _("With other raters like them")


def _power_columns() -> list[TableColumn[SeenGain]]:
    these, others = _estimands()
    return [
        TableColumn("gain", _("True gain, in points"), lambda seen: isolated(texts.plain_number(seen.points, 0))),
        TableColumn("these", these, lambda seen: figure(chance_text(seen.these_raters))),
        TableColumn("others", others, lambda seen: figure(chance_text(seen.other_raters))),
    ]


def _trade_columns() -> list[TableColumn[TradedDesign]]:
    these, others = _estimands()
    return [
        TableColumn("design", _("Raters × images"), lambda row: isolated(trade_text(row[0])), kind=TEXT),
        TableColumn("gain", _("Gain, in points"), lambda row: isolated(texts.plain_number(row[1].points))),
        TableColumn("these", these, lambda row: figure(chance_text(row[1].these_raters))),
        TableColumn("others", others, lambda row: figure(chance_text(row[1].other_raters))),
    ]


def _trade_plot(trade: tuple[TradedDesign, ...]) -> DrawnPlot:
    rows = []
    for design, seen in trade:
        chances = (seen.these_raters, seen.other_raters)
        dots = [
            NumberedDot(number, name, 100 * chance, chance_text(chance))
            for number, (name, chance) in enumerate(zip(_estimands(), chances, strict=True), start=1)
            if chance is not None
        ]
        rows.append((trade_text(design), dots))
    return dot_plot(_("Chance to see the gain, in percent, by raters per image × images"), rows, ends=(0.0, 100.0))
