"""Rounds, batches, and the ratings and captions that people write in them."""

from annotation.models.captions import (
    AnnotatorState,
    AnnotatorStatus,
    Caption,
    CaptionQuerySet,
    CaptionState,
    CorrectionRequest,
    DetailDecision,
    Exclusion,
    Feedback,
    SpotCheck,
)
from annotation.models.glosses import CaptionGloss, GlossRequest, MessageGloss
from annotation.models.readings import ReadingAnswer, SecondReading
from annotation.models.releases import Release
from annotation.models.rounds import (
    DECIDED,
    WORKED_ON,
    GuidelineExample,
    Guidelines,
    Rating,
    Round,
    RoundBatch,
    RoundFigures,
    RoundKind,
    RoundState,
    Tally,
)
from annotation.models.verification import Verdict, VerificationBatch, VerificationTask
from annotation.models.work import CaptionBatch, CaptionItem, CaptionTask, Stage

__all__ = [
    "DECIDED",
    "WORKED_ON",
    "AnnotatorState",
    "AnnotatorStatus",
    "Caption",
    "CaptionBatch",
    "CaptionGloss",
    "CaptionItem",
    "CaptionQuerySet",
    "CaptionState",
    "CaptionTask",
    "CorrectionRequest",
    "DetailDecision",
    "Exclusion",
    "Feedback",
    "GlossRequest",
    "GuidelineExample",
    "Guidelines",
    "MessageGloss",
    "Rating",
    "ReadingAnswer",
    "Release",
    "Round",
    "RoundBatch",
    "RoundFigures",
    "RoundKind",
    "RoundState",
    "SecondReading",
    "SpotCheck",
    "Stage",
    "Tally",
    "Verdict",
    "VerificationBatch",
    "VerificationTask",
]
