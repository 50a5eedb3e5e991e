"""Delete glosses when captions change; apart from translating, so that no command loads backends for it."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet

from annotation.models import Caption, CaptionGloss, GlossRequest, Round
from core.jobs.models import JobState


def forget_glosses(*, captions: QuerySet[Caption], rounds: Sequence[Round]) -> None:
    """Delete the glosses of captions that changed; call it in the transaction that changed them."""
    CaptionGloss.objects.filter(caption__in=captions).delete()
    for round in rounds:
        done = GlossRequest.objects.filter(project=round.project_id, language=round.language_id, state=JobState.DONE)
        done.filter(keeps_up=True).update(state=JobState.QUEUED, lease_until=None)
