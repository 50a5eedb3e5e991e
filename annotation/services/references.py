"""The captions of a round as references, which models are scored against."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from itertools import islice

from django.utils.translation import gettext as _

from annotation.models import Caption, Round
from people.models import User
from scoring.models import Reference, ReferenceKind, ReferenceSet
from scoring.services.references import put_references, set_of

IMAGES_PER_TRANSACTION = 500


def use_as_references(*, round: Round, by: User, now: datetime) -> ReferenceSet:
    """Make the round's captions that count a set of references, or bring the one it has up to date.

    Some images at a time, so that nobody's writing waits; broken off, it is finished by asking again.

    Raises
    ------
    scoring.services.references.ReferencesRefused
        Where other references have the name already.
    """
    origin = f"round:{round.pk}"
    there = ReferenceSet.objects.filter(project=round.project, origin=origin).first()
    about = {"kind": round.get_kind_display(), "number": round.number}
    reference_set = set_of(
        project=round.project,
        collection=round.collection,
        language=round.language,
        name=there.name if there else _("Written in this project (%(kind)s %(number)s)") % about,
        kind=ReferenceKind.COLLECTED,
        origin=origin,
        by=by,
        now=now,
    )
    captions: dict[int, list[str]] = defaultdict(list)
    # In the order in which they came, so that those that come later change nothing of the earlier ones.
    counted = Caption.objects.counted().filter(round=round).order_by("submitted_at", "author")
    for image, text in counted.values_list("image_id", "text"):
        captions[image].append(text)
    for image in Reference.objects.filter(reference_set=reference_set).values_list("image_id", flat=True).distinct():
        captions.setdefault(image, [])
    images = iter(sorted(captions))
    while some := list(islice(images, IMAGES_PER_TRANSACTION)):
        put_references(reference_set=reference_set, captions={image: captions[image] for image in some}, now=now)
    reference_set.refresh_from_db()
    return reference_set
