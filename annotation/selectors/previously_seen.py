"""Which images a person met before: who knows what others say of an image cannot describe it independently."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q

from annotation.models import CaptionItem, Round, RoundKind, RoundState, Stage, Verdict
from annotation.selectors.verification import images_being_rated
from inference.selectors import assigned_work
from people.models import User

DECIDED_PILOT = (RoundState.ACCEPTED, RoundState.REJECTED)


def previously_seen(annotator: User, round: Round, *, besides_pilots: bool = False) -> Q:
    """Caption tasks that must not come to the person (again).

    An image that they wrote about in this project, or of which they rated a caption, does not come back in another
    round of it; `besides_pilots`, where nothing else is left to them, those met in a pilot that is decided do. One that
    is in their hands in another project or another kind of work waits: one would show what screen 2 of the other must
    not. So does one whose caption by somebody else they have to rate.
    """
    here = Q(batch__round__project=round.project_id)
    image = "caption_task__image"
    written = CaptionItem.objects.filter(person=annotator, image=OuterRef(image))
    written = written.filter(here | ~Q(batch__stage=Stage.SUBMITTED))
    rated = Verdict.objects.filter(here, person=annotator, caption__image=OuterRef(image))
    if besides_pilots:
        written = written.exclude(here, batch__round__kind=RoundKind.PILOT, batch__round__state__in=DECIDED_PILOT)
        rated = rated.exclude(
            here,
            batch__round__verifies__kind=RoundKind.PILOT,
            batch__round__verifies__state__in=DECIDED_PILOT,
        )
    return (
        Q(Exists(written))
        | Q(Exists(rated))
        | Q(**{f"{image}__in": images_being_rated(annotator)})
        | assigned_work.is_assigned(annotator, image, besides="annotation")
    )
