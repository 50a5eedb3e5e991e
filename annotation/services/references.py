"""The captions of a round or a release as references, which models are scored against and trained on."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from itertools import islice

from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.models import Caption, CaptionState, Release, Round
from core.images.models import Image
from core.people.models import User
from research.scoring.models import Reference, ReferenceKind, ReferenceSet
from research.scoring.services.references import ReferenceFileError, put_references, set_of

IMAGES_PER_TRANSACTION = 500
RELEASED_CAPTIONS = "captions.jsonl"


def use_as_references(*, round: Round, by: User, now: datetime) -> ReferenceSet:
    """Make the round's captions that count a set of references, or update the one that it has.

    It works some images at a time, so that nobody's saving waits. If interrupted, run it again to finish.

    Raises research.scoring.services.references.ReferenceFileError where other references have the name already, or no
    caption of the round counts.
    """
    origin = _origin(round)
    there = ReferenceSet.objects.filter(project=round.project, origin=origin).first()
    written = set(Caption.objects.counted().filter(round=round).values_list("image_id", flat=True))
    written |= set(Reference.objects.filter(reference_set=there).values_list("image_id", flat=True)) if there else set()
    if not written:
        raise ReferenceFileError(_("No caption of this round counts yet, so there is nothing to use as references."))
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
    images = iter(sorted(written))
    while some := list(islice(images, IMAGES_PER_TRANSACTION)):
        with transaction.atomic():
            # Read under the lock of the set, which a withdrawal waits for: otherwise withdrawn captions might be
            # copied.
            ReferenceSet.objects.select_for_update(no_key=True).get(pk=reference_set.pk)
            captions = _texts_by_image(Caption.objects.filter(round=round, image__in=some))
            put_references(reference_set=reference_set, captions={pk: captions[pk] for pk in some}, now=now)
    reference_set.refresh_from_db()
    return reference_set


def use_release_as_references(*, release: Release, by: User, now: datetime) -> list[ReferenceSet]:
    """Make a release's captions sets of references, one for each collection and language. They stay as they are.

    If interrupted, run it again to finish.

    Raises research.scoring.services.references.ReferenceFileError where other references have the name already, or the
    release's files are gone.
    """
    texts: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    try:
        with default_storage.open(f"{release.folder}/{RELEASED_CAPTIONS}") as file:
            for line in file:
                row = json.loads(line)
                texts[row["language"]][row["image_sha256"]].append(row["caption"])
    except FileNotFoundError as error:
        raise ReferenceFileError(
            _("The files of this release are no longer in storage. Ask the administrator of this site.")
        ) from error
    made = []
    for tag, by_image in sorted(texts.items()):
        rounds = Round.objects.filter(project=release.project, language=tag).select_related("collection", "language")
        left = dict(by_image)
        for collection, language in dict.fromkeys((one.collection, one.language) for one in rounds.order_by("pk")):
            here = Image.objects.filter(entries__collection=collection).in_bulk(left, field_name="sha256")
            if not here:
                continue
            reference_set = set_of(
                project=release.project,
                collection=collection,
                language=language,
                name=_("Release %(number)s, %(collection)s")
                % {"number": release.number, "collection": collection.name},
                kind=ReferenceKind.COLLECTED,
                origin=f"release:{release.pk}:{collection.pk}:{tag}",
                by=by,
                now=now,
            )
            digests = iter(sorted(here))
            while some := list(islice(digests, IMAGES_PER_TRANSACTION)):
                captions = {here[sha256].pk: left.pop(sha256) for sha256 in some}
                put_references(reference_set=reference_set, captions=captions, now=now)
            reference_set.refresh_from_db()
            made.append(reference_set)
    return made


def leave_out_of_references(*, round: Round, images: Iterable[int], now: datetime) -> None:
    """Remove captions that no longer count from the references made from the round, if there are any.

    Only `images` are considered, within the caller's transaction. Captions that count and are missing stay out until
    somebody updates the set.
    """
    sets = ReferenceSet.objects.filter(project=round.project, origin=_origin(round)).order_by("pk")
    for reference_set in sets.select_for_update(no_key=True):
        here = Reference.objects.filter(reference_set=reference_set, image__in=list(images))
        counted = _texts_by_image(Caption.objects.filter(round=round, image__in=list(images)))
        captions: dict[int, list[str]] = {}
        for image, text in here.order_by("image", "position").values_list("image_id", "text"):
            kept = captions.setdefault(image, [])
            # As often as it counts: two people may have written the same.
            if text in counted[image]:
                counted[image].remove(text)
                kept.append(text)
        put_references(reference_set=reference_set, captions=captions, now=now)


def _texts_by_image(captions: QuerySet[Caption]) -> defaultdict[int, list[str]]:
    texts = defaultdict[int, list[str]](list)
    # In order of submission, so that later captions change nothing about earlier ones.
    counted = captions.filter(state=CaptionState.COUNTED).order_by("submitted_at", "author")
    for image, text in counted.values_list("image_id", "text"):
        texts[image].append(text)
    return texts


def _origin(round: Round) -> str:
    return f"round:{round.pk}"
