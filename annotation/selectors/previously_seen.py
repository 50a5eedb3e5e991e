"""Which images a person has seen before: knowing others' captions, they cannot describe an image independently."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q

from annotation.models import CaptionItem, RoundKind, RoundState, Stage, Verdict
from annotation.selectors.verification import images_being_rated
from core.people.models import User
from research.inference.models import ModelCaption
from research.inference.selectors import assigned_work

DECIDED_PILOT = (RoundState.ACCEPTED, RoundState.REJECTED)


def previously_seen(annotator: User, project: int, *, besides_pilots: bool = False) -> Q:
    """Return caption tasks that must not be assigned to the person.

    An image that they wrote about in `project`, or of which they rated a caption, is not assigned again in another
    round of it. If nothing else is left for them, `besides_pilots` allows images from decided pilots. An image assigned
    to them in another project or kind of work waits, as one would show what screen 2 of the other must not. So does one
    whose caption by somebody else they have to rate. The images of practice examples never come.
    """
    here = Q(batch__round__project=project)
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
        | assigned_work.is_kept_from(annotator, image, besides="annotation")
    )


def english_is_off() -> Q:
    """Return caption tasks whose English caption is switched off: they wait until it is on again or replaced."""
    return Q(caption_task__english__in=ModelCaption.objects.switched_off().values("pk"))
