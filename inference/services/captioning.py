"""Captions made by a model, or translated from another model's: what is made in runs of captioning models."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from PIL import Image as Pillow

from images.models import Image
from inference.backends.captioners import Captioner, Decoding, Failed, Said, Translation
from inference.models import CaptioningModel, Chunk, ModelCaption, Run, RunFailure, Stabiliser
from inference.rules.captions import CaptionLineError, caption_text
from inference.rules.runs import unpack_ids
from inference.services import model_cache
from inference.services.job_kind import Made, PendingImage

STABILISER = "stabiliser"
"""The part of an image that is made before all its captions; no language tag is as long."""

STABILISERS_HELD = 1000
"""In memory: those of many more images than are worked on at a time."""

ENGLISH = "en"


class Captioning:
    """Captions of pictures by a model."""

    first: str | None = None
    is_kept_whole = False
    unit = "captions"

    def __init__(self, run: Run, model: CaptioningModel) -> None:
        self.run, self.model = run, model
        self.decoding = Decoding.from_stored(run.decoding)
        self.tags = sorted(run.languages.values_list("pk", flat=True))
        self.side: int | None = None
        self.batch_size = run.batch_size
        self.stabilisers: dict[int, str] = {}
        if model.is_pivot and self.decoding.is_consistent:
            self.first = STABILISER

    def load(self) -> Mapping[str, str]:
        self.captioner: Captioner = model_cache.captioner(self.model)
        self.side, self.batch_size = self.captioner.side, self.captioner.batch_size
        return self.captioner.describe()

    def missing(self, chunk: Chunk) -> list[PendingImage]:
        image_ids = unpack_ids(chunk.image_ids)
        there = _there(self.model, self.run, image_ids)
        if self.first:
            self._hold(image_ids)
        to_do = {one: tuple(tag for tag in self.tags if tag not in there[one]) for one in image_ids}
        wanted = Image.objects.filter(pk__in=[one for one in image_ids if to_do[one]])
        facts = {row[0]: row for row in wanted.values_list("pk", "sha256", "original", "width", "height")}
        return [self._item(*facts[one], to_do[one]) for one in image_ids if one in facts]

    def _item(
        self, image_id: int, key: str, original: str, width: int, height: int, tags: tuple[str, ...]
    ) -> PendingImage:
        needs_first = self.first and image_id not in self.stabilisers
        return PendingImage(
            image_id=image_id,
            key=key,
            parts=(STABILISER, *tags) if needs_first else tags,
            picture="" if self.side is None else original,
            pixels=width * height,
        )

    def prepare(self, item: PendingImage, picture: Pillow.Image | None) -> Any:
        return self.captioner.prepare(picture)

    def compute(self, items: Sequence[PendingImage], prepared: Sequence[Any], part: str) -> list[Any | Failed]:
        keys = [item.key for item in items]
        if part == STABILISER:
            return [_checked_text(one) for one in self.captioner.stabilise(prepared, keys=keys, decoding=self.decoding)]
        held = [self.stabilisers[item.image_id] for item in items] if self.first else None
        said = self.captioner.caption(prepared, keys=keys, language=part, decoding=self.decoding, stabilisers=held)
        return [checked(one) for one in said]

    def keep(self, chunk: Chunk, made: Sequence[Made], *, now: datetime) -> int:
        self._keep_stabilisers([one for one in made if one.part == STABILISER], now=now)
        return keep_captions(self.model, self.run, [one for one in made if one.part != STABILISER], now=now)

    def _keep_stabilisers(self, made: Sequence[Made], *, now: datetime) -> None:
        if not made:
            return
        rows = (
            Stabiliser(model=self.model, image_id=one.item.image_id, text=one.result, created_at=now)
            for one in sorted(made, key=lambda one: one.item.image_id)
        )
        Stabiliser.objects.bulk_create(rows, ignore_conflicts=True)
        # Where another run was first, its own is what captions follow from.
        self._hold([one.item.image_id for one in made])

    def _hold(self, image_ids: Sequence[int]) -> None:
        rows = Stabiliser.objects.filter(model=self.model, image_id__in=image_ids)
        self.stabilisers.update(rows.values_list("image_id", "text"))
        while len(self.stabilisers) > STABILISERS_HELD:
            del self.stabilisers[next(iter(self.stabilisers))]

    def whole(self, run: Run) -> None:
        return None


class Translating(Captioning):
    """Another model's English captions, translated by a machine."""

    def load(self) -> Mapping[str, str]:
        assert self.model.translator is not None
        self.translation: Translation = model_cache.translation(self.model.translator)
        self.side, self.batch_size = None, self.translation.batch_size
        return self.translation.describe()

    def missing(self, chunk: Chunk) -> list[PendingImage]:
        image_ids = unpack_ids(chunk.image_ids)
        captions = ModelCaption.objects.filter(model=self.model.english_model_id, language=ENGLISH)
        english = dict(captions.filter(image_id__in=image_ids).values_list("image_id", "text"))
        there = _there(self.model, self.run, image_ids)
        to_do = {one: tuple(tag for tag in self.tags if tag not in there[one]) for one in image_ids}
        keys = dict(Image.objects.filter(pk__in=image_ids).values_list("pk", "sha256"))
        none = _("“%(model)s” has no English caption for it.") % {"model": self.model.english_model}
        return [
            PendingImage(one, keys[one], to_do[one], text=english.get(one, ""), refused="" if one in english else none)
            for one in image_ids
            if to_do[one] and one in keys
        ]

    def prepare(self, item: PendingImage, picture: Pillow.Image | None) -> Any:
        return item.text

    def compute(self, items: Sequence[PendingImage], prepared: Sequence[Any], part: str) -> list[Any | Failed]:
        if part == ENGLISH:
            return [Said(text) for text in prepared]
        keys = [item.key for item in items]
        said = self.translation.translate(prepared, keys=keys, language=part, decoding=self.decoding)
        return [checked(one) for one in said]


def checked(said: Said | Failed) -> Said | Failed:
    """What a backend gave, as a caption is stored; or why it is none."""
    if isinstance(said, Failed):
        return said
    try:
        stabiliser = caption_text(said.stabiliser, "") if said.stabiliser else ""
        return Said(caption_text(said.text, ""), stabiliser)
    except CaptionLineError as refused:
        return Failed(str(refused))


def _checked_text(text: str | Failed) -> str | Failed:
    if isinstance(text, Failed):
        return text
    found = checked(Said(text))
    return found if isinstance(found, Failed) else found.text


def _there(model: CaptioningModel, run: Run, image_ids: Sequence[int]) -> Mapping[int, set[str]]:
    """The languages in which each image has a caption of the model, or has failed in this run."""
    there: dict[int, set[str]] = defaultdict(set)
    captions = ModelCaption.objects.filter(model=model, image_id__in=image_ids)
    failures = RunFailure.objects.filter(run=run, image_id__in=image_ids, language__isnull=False)
    for rows in (captions, failures):
        for image_id, tag in rows.values_list("image_id", "language_id"):
            there[image_id].add(str(tag))
    return there


def keep_captions(model: CaptioningModel, run: Run, made: Sequence[Made], *, now: datetime) -> int:
    """Store captions; those that another run of the model stored in the meantime stay as they are.

    Raises
    ------
    IntegrityError
        Where another run is doing so at this moment: the transaction is to be tried again.
    """
    if not made:
        return 0
    there = set(
        ModelCaption.objects.filter(
            model=model,
            image_id__in={one.item.image_id for one in made},
            language_id__in={one.part for one in made},
        ).values_list("image_id", "language_id")
    )
    # In one order, so that two runs never wait for each other's captions.
    fresh = sorted(
        (one for one in made if (one.item.image_id, one.part) not in there),
        key=lambda one: (one.item.image_id, one.part),
    )
    rows = [
        ModelCaption(
            model=model,
            image_id=one.item.image_id,
            language_id=one.part,
            text=one.result.text,
            stabiliser=one.result.stabiliser,
            run=run,
            created_at=now,
        )
        for one in fresh
    ]
    ModelCaption.objects.bulk_create(rows)
    return len(rows)
