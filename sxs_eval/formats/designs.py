"""What a design can see, as text and JSON: docs/planning.md describes both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from crosslens_metrics.power import (
    MAX_GAIN,
    MIN_JUDGEMENTS,
    MIN_RATERS,
    PRIOR_RATERS,
    PRIORS,
    RUNS,
    SEED,
    DesignPower,
    JudgingDesign,
    MeasuredSpread,
    SeenGain,
    power_of,
    trade_of,
)


@dataclass(frozen=True)
class PlannedDesign:
    """A design with the spreads of preferences that its power is simulated from."""

    design: JudgingDesign
    spread: MeasuredSpread

    @property
    def power(self) -> DesignPower:
        return power_of(self.design, self.spread.spread)

    @property
    def trade(self) -> tuple[tuple[JudgingDesign, SeenGain], ...]:
        return trade_of(self.design, self.spread.spread)

    def as_json(self) -> dict[str, Any]:
        spread, power = self.spread.spread, self.power
        return {
            "images": self.design.images,
            "raters": self.design.raters,
            "replication": self.design.replication,
            "spread": {
                "image": spread.image,
                "rater": spread.rater,
                "rest": spread.rest,
                "source": "measured" if self.spread.judgements else "prior",
                "judgements": self.spread.judgements,
                "raters": self.spread.raters,
            },
            "runs": RUNS,
            "seed": SEED,
            "seen": [_seen_json(seen) for seen in power.seen],
            "smallest_gain": {"these_raters": power.smallest_these, "other_raters": power.smallest_other},
            "equal_cost": [
                {"images": other.images, "replication": other.replication, **_seen_json(seen)}
                for other, seen in self.trade
            ],
        }

    def lines(self) -> Iterator[str]:
        yield design_text(self.design)
        yield spread_text(self.spread)
        for seen in self.power.seen:
            values = {"points": f"{seen.points:g}", "these": chance_text(seen.these_raters)}
            values["others"] = chance_text(seen.other_raters)
            yield (
                "  "
                + _("a true gain of %(points)s points: %(these)s with these raters, %(others)s with others") % values
            )
        yield from ("  " + line for line in smallest_lines(self.power))
        yield _("The same number of judgements, for the preference behind a gain of 8 points:")
        for other, seen in self.trade:
            values = {"design": trade_text(other), "these": chance_text(seen.these_raters)}
            values["others"] = chance_text(seen.other_raters)
            yield "  " + _("%(design)s: %(these)s with these raters, %(others)s with others") % values


def _seen_json(seen: SeenGain) -> dict[str, Any]:
    return {"points": seen.points, "these_raters": seen.these_raters, "other_raters": seen.other_raters}


def design_text(design: JudgingDesign) -> str:
    text = _("Power. Images: %(images)s. Judgements of each: %(replication)s. Raters: %(raters)s.")
    return text % {"images": design.images, "replication": design.replication, "raters": design.raters}


def spread_text(spread: MeasuredSpread) -> str:
    values: dict[str, object] = {name: round(getattr(spread.spread, name)) for name in ("image", "rater", "rest")}
    if not spread.judgements:
        text = _(
            "Spreads of preferences, where ± 15 says SIMILAR: images %(image)s, raters %(rater)s, rest %(rest)s. They "
            "are assumed until a comparison has %(judgements)s judgements by %(raters)s raters."
        )
        return text % (values | {"judgements": MIN_JUDGEMENTS, "raters": MIN_RATERS})
    text = _(
        "Spreads of preferences, where ± 15 says SIMILAR: images %(image)s, raters %(rater)s, rest %(rest)s, measured "
        "from %(judgements)s judgements by %(raters)s raters. For raters, %(prior)s is assumed for %(more)s more."
    )
    about = {"judgements": spread.judgements, "raters": spread.raters}
    return text % (values | about | {"prior": round(PRIORS.rater), "more": PRIOR_RATERS})


def chance_text(chance: float | None) -> str:
    return "–" if chance is None else f"{100 * chance:.0f}%"


def trade_text(design: JudgingDesign) -> str:
    """Such as “3 × 600”: raters per image, and images."""
    return f"{design.replication} × {design.images:,}"


def smallest_lines(power: DesignPower) -> Iterator[str]:
    """Say what a plan is powered to see."""
    texts = (
        (power.smallest_these, _("Smallest gain seen with 80%% power, with these raters: %(gain)s.")),
        (power.smallest_other, _("Smallest gain seen with 80%% power, with other raters: %(gain)s.")),
    )
    for smallest, text in texts:
        gain = _("none up to %(points)s points") % {"points": f"{MAX_GAIN:.0f}"}
        if smallest is not None:
            gain = _("%(points)s points") % {"points": f"{smallest:.1f}"}
        yield text % {"gain": gain}
