"""Why a judgement was refused, besides the reasons in core/allocation/refusals.py."""

from __future__ import annotations

from django.utils.translation import gettext as _

from core.allocation.refusals import AllocationRefusal, explained, refuse_as_not_assigned
from sxs_eval.models import Judgement, JudgingBatch
from sxs_eval.services import judging

refuse_as_not_assigned(JudgingBatch.DoesNotExist, Judgement.DoesNotExist)


@explained.register
def _stale_trial(error: judging.StaleTrialError) -> AllocationRefusal:
    return AllocationRefusal(409, "stale-trial", _("You answered this pair in another tab. Here is the next one."))


@explained.register
def _not_on_scale(error: judging.NotOnScaleError) -> AllocationRefusal:
    known = ", ".join(map(str, error.choices))
    return AllocationRefusal(422, "not-on-scale", _("Choose one of the answers (%(known)s).") % {"known": known})


@explained.register
def _comment_too_long(error: judging.CommentTooLongError) -> AllocationRefusal:
    said = _("The comment is longer than %(longest)s characters. Shorten it, then answer again.")
    return AllocationRefusal(422, "comment-too-long", said % {"longest": judging.MAX_COMMENT_CHARACTERS})
