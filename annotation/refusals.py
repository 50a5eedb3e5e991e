"""Why a step with captions or ratings was refused, besides the reasons in core/allocation/refusals.py."""

from __future__ import annotations

from django.utils.translation import gettext as _

from annotation.models import CaptionBatch, CaptionItem, Feedback, Verdict, VerificationBatch
from annotation.rules.text_checks import COPIED
from annotation.services import batches, corrections, round_batches
from annotation.services.releases import ReleaseSettingsError
from core.allocation.refusals import AllocationRefusal, explained, refuse_as_not_assigned

refuse_as_not_assigned(
    *(model.DoesNotExist for model in (CaptionBatch, CaptionItem, VerificationBatch, Verdict, Feedback))
)


@explained.register
def _stale_state(error: round_batches.StaleStateError) -> AllocationRefusal:
    return AllocationRefusal(409, "stale-state", _("This batch has moved to another stage in another tab."))


@explained.register
def _unrated_images(error: round_batches.UnratedImagesError) -> AllocationRefusal:
    missing = ", ".join(map(str, error.positions))
    said = _("Rate every caption first. Not rated yet: %(missing)s.") % {"missing": missing}
    return AllocationRefusal(
        409, "unrated-images", said, {str(position): [_("Not rated yet.")] for position in error.positions}
    )


@explained.register
def _ratings_left_out(error: round_batches.RatingsLeftOutError) -> AllocationRefusal:
    said = _("These images are no longer assigned to you: %(images)s. Your other ratings were saved.")
    return AllocationRefusal(409, "task-gone", said % {"images": ", ".join(map(str, error.numbers))})


@explained.register
def _incomplete_batch(error: batches.IncompleteBatchError) -> AllocationRefusal:
    errors = {str(position): [str(problem.message)] for position, problem in error.problems.items()}
    return AllocationRefusal(409, "incomplete-batch", _("Some captions cannot be submitted yet."), errors)


@explained.register
def _unconfirmed_captions(error: batches.UnconfirmedCaptionsError) -> AllocationRefusal:
    said = _("Some captions are not confirmed yet. Read what you wrote, then confirm or change it.")
    errors = {str(position): [_("Not confirmed yet.")] for position in error.positions}
    return AllocationRefusal(409, "unconfirmed-captions", said, errors)


@explained.register
def _near_copy(error: batches.NearCopyError) -> AllocationRefusal:
    said = _(
        "Some captions are almost the same as what was shown on the first screen. Change them, or send copies_seen."
    )
    return AllocationRefusal(
        409, "near-copy", said, {str(position): [str(COPIED.message)] for position in error.positions}
    )


@explained.register
def _invalid_caption(error: batches.InvalidCaptionError) -> AllocationRefusal:
    said = str(error.problem.message)
    return AllocationRefusal(422, "invalid-caption", said, {"text": [said]})


@explained.register
def _stale_draft(error: batches.StaleDraftError) -> AllocationRefusal:
    said = _("This caption was changed elsewhere in the meantime. The fields text and revision hold the saved version.")
    stored = {"text": error.item.text, "revision": error.item.revision, "is_autosaved": error.item.is_autosaved}
    return AllocationRefusal(409, "stale-draft", said, stored=stored)


@explained.register
def _release_settings(error: ReleaseSettingsError) -> AllocationRefusal:
    return AllocationRefusal(409, "release-settings", str(error), {"release": error.problems})


@explained.register
def _rewrite_refused(error: corrections.RewriteRefusedError) -> AllocationRefusal:
    return AllocationRefusal(409, "rewrite-refused", str(error))


@explained.register
def _already_rewritten(_error: corrections.AlreadyRewrittenError) -> AllocationRefusal:
    said = _("This caption no longer needs to be rewritten: you submitted it already, or a manager decided otherwise.")
    return AllocationRefusal(409, "rewrite-refused", said)
