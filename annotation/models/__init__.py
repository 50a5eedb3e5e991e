"""Rounds, batches, what people rate and write in them, and what is made of it."""

from annotation.models.captions import (
    Caption,
    CaptionQuerySet,
    CaptionState,
    Exclusion,
    Feedback,
    SentBack,
    SpotCheck,
    Standing,
    StandingState,
)
from annotation.models.releases import Release
from annotation.models.rounds import (
    DECIDED,
    WORKED_ON,
    GuidelineExample,
    Guidelines,
    Rating,
    Round,
    RoundFigures,
    RoundKind,
    RoundState,
    Tally,
)
from annotation.models.verification import Verdict, VerificationBatch, VerificationTask
from annotation.models.work import CaptionBatch, CaptionTask, Item, Stage

__all__ = [
    "DECIDED",
    "WORKED_ON",
    "Caption",
    "CaptionBatch",
    "CaptionQuerySet",
    "CaptionState",
    "CaptionTask",
    "Exclusion",
    "Feedback",
    "GuidelineExample",
    "Guidelines",
    "Item",
    "Rating",
    "Release",
    "Round",
    "RoundFigures",
    "RoundKind",
    "RoundState",
    "SentBack",
    "SpotCheck",
    "Stage",
    "Standing",
    "StandingState",
    "Tally",
    "Verdict",
    "VerificationBatch",
    "VerificationTask",
]
