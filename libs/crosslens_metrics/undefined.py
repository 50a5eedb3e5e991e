"""Why a figure has no value."""

from __future__ import annotations

from enum import StrEnum


class UndefinedReason(StrEnum):
    """A code for programs; pages and reports say it in words."""

    NO_IMAGES = "no_images"
    FEW_IMAGES = "few_images"
    NO_DECIDED = "no_decided"
    NO_VARIATION = "no_variation"
    NO_AUTHORS = "no_authors"
    ONE_AUTHOR = "one_author"
    NO_PAIR_OF_RATINGS = "no_pair_of_ratings"
    ALL_RATINGS_EQUAL = "all_ratings_equal"
    RESAMPLES_UNDEFINED = "resamples_undefined"
    MODELS_NOT_CONNECTED = "models_not_connected"
    NO_MODELS = "no_models"
    STRENGTH_UNBOUNDED = "strength_unbounded"
    GROUP_UNBOUNDED = "group_unbounded"
    NOT_COMPARED = "not_compared"
    MODEL_NEVER_LOSES = "model_never_loses"
    NOT_CONVERGED = "not_converged"
    NO_DIFFERENCE = "no_difference"
    ONE_DECIDED = "one_decided"
    TOO_FEW_POINTS = "too_few_points"
    ALL_VALUES_EQUAL = "all_values_equal"
    SAME_IN_ALL_EVALUATIONS = "same_in_all_evaluations"
    ONE_SIGN_ONLY = "one_sign_only"
    FEW_WINS = "few_wins"
    ONE_COMPARISON = "one_comparison"
    ONE_RATER = "one_rater"
    MORE_RATERS = "more_raters"
    EXACT_AGREEMENT = "exact_agreement"
    TOO_FEW_MODELS = "too_few_models"
    UNIT_NEEDED = "unit_needed"
    NOT_EXCHANGEABLE = "not_exchangeable"
    NO_KNOWN_WORD = "no_known_word"
    NO_WORDS = "no_words"


class UndefinedFigureError(ValueError):
    """The figure has no value for these data."""

    def __init__(self, reason: UndefinedReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
