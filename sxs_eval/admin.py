"""Admin pages that show every row except captions. Changes go through the services."""

from __future__ import annotations

from core.people.admin import look_up
from sxs_eval.models import Comparison, GoldPair, Instructions, Judgement, JudgingBatch, Pair, RaterStatus

look_up(Comparison, Instructions, Judgement, JudgingBatch, Pair, RaterStatus)
look_up(GoldPair, hidden=("better", "worse", "other_image"))
