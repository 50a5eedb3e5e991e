"""The job kinds of captioning models: captions of images, and translations of another model's captions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from django.db.models import F
from django.utils.translation import gettext as _
from PIL import Image as Pillow

from core.images.models import Image
from core.languages.rules.registry import ENGLISH
from crosslens_metrics.formats.caption_rows import caption_text
from crosslens_metrics.formats.problems import LineError
from research.inference.backends.captioners import (
    BackendSettingsError,
    Captioner,
    Decoding,
    FailedImage,
    GeneratedCaption,
    LoadedReader,
    LoadedTranslator,
)
from research.inference.backends.endpoint_options import TokenPrices
from research.inference.models import TRANSLATED, CaptioningModel, Chunk, ModelCaption, Run, RunFailure, Stabiliser
from research.inference.rules.runs import unpack_ids
from research.inference.services import model_cache
from research.inference.services.job_kind import PartOutcome, PendingImage, computed_apart

STABILISER = "stabiliser"
"""The part of an image that is made before all its captions; no language tag is as long."""

STABILISERS_IN_MEMORY = 1000
"""Those of many more images than are in work at a time."""


class CaptioningJob:
    """Captions of images by a model."""

    first_part: str | None = None
    stores_whole_chunks = False

    def __init__(self, run: Run, model: CaptioningModel) -> None:
        self.run, self.model, self.decoding = run, model, Decoding.from_stored(run.decoding)
        self.tags: Sequence[str] = sorted(run.languages.values_list("pk", flat=True))
        self.is_trial = run.trial_image_id is not None
        self.side: int | None = None
        self.batch_size = run.batch_size
        self.stabilisers: dict[int, str] = {}
        if model.is_pivot and self.decoding.is_consistent:
            self.first_part = STABILISER

    def load(self) -> Mapping[str, str]:
        self.captioner: Captioner = model_cache.captioner(self.model)
        self._check_length(self.captioner)
        self.side, self.batch_size = self.captioner.side, self.captioner.batch_size
        return self.captioner.describe()

    def pending(self, chunk: Chunk) -> list[PendingImage]:
        image_ids = unpack_ids(chunk.image_ids)
        pending_tags = self._pending_tags(image_ids)
        if self.first_part:
            self._remember_stabilisers(image_ids)
        images = Image.objects.filter(pk__in=[image_id for image_id in image_ids if pending_tags[image_id]])
        rows = {row[0]: row for row in images.values_list("pk", "sha256", "original", "width", "height")}
        return [
            self._pending_image(*rows[image_id], pending_tags[image_id]) for image_id in image_ids if image_id in rows
        ]

    def _pending_tags(self, image_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """The languages in which each image has neither a caption of the model nor a failure in this run."""
        done: dict[int, set[str]] = defaultdict(set)
        failures = RunFailure.objects.filter(run=self.run, image_id__in=image_ids, language__isnull=False)
        for image_id, tag in failures.values_list("image_id", "language_id"):
            done[image_id].add(str(tag))
        if self.run.trial_image_id is None:
            captions = ModelCaption.objects.filter(model=self.model, image_id__in=image_ids)
            for image_id, tag in captions.values_list("image_id", "language_id"):
                done[image_id].add(tag)
        else:
            # Another worker may have stored some since this one began.
            self.run.refresh_from_db(fields=["trial_captions"])
            done[self.run.trial_image_id].update(self.run.trial_captions)
        return {image_id: tuple(tag for tag in self.tags if tag not in done[image_id]) for image_id in image_ids}

    def _pending_image(
        self, image_id: int, key: str, original: str, width: int, height: int, tags: tuple[str, ...]
    ) -> PendingImage:
        needs_stabiliser = self.first_part and image_id not in self.stabilisers
        return PendingImage(
            image_id=image_id,
            key=key,
            parts=(STABILISER, *tags) if needs_stabiliser else tags,
            original="" if self.side is None else original,
            pixels=width * height,
        )

    def proven(self) -> tuple[PendingImage, str] | None:
        stored = ModelCaption.objects.filter(run=self.run).order_by("pk").values_list("image_id", "language_id").first()
        if stored is None:
            return None
        image_id, tag = stored
        if self.first_part:
            self._remember_stabilisers([image_id])
        return self._image_to_make(image_id, tag), tag

    def _image_to_make(self, image_id: int, tag: str) -> PendingImage:
        image = Image.objects.get(pk=image_id)
        return self._pending_image(image_id, image.sha256, image.original, image.width, image.height, (tag,))

    def prepare(self, image: PendingImage, decoded: Pillow.Image | None) -> Any:
        return self.captioner.prepare(decoded)

    def compute(self, images: Sequence[PendingImage], prepared: Sequence[Any], part: str) -> list[Any | FailedImage]:
        keys = [image.key for image in images]
        if part == STABILISER:
            texts = self.captioner.stabilise(prepared, keys=keys, decoding=self.decoding)
            return [_checked_text(text) for text in texts]
        stabilisers = [self.stabilisers[image.image_id] for image in images] if self.first_part else None
        captions = self.captioner.caption(
            prepared, keys=keys, language=part, decoding=self.decoding, stabilisers=stabilisers
        )
        return [checked_caption(caption) for caption in captions]

    def store(self, chunk: Chunk, outcomes: Sequence[PartOutcome], *, now: datetime) -> int:
        self._store_stabilisers([outcome for outcome in outcomes if outcome.part == STABILISER], now=now)
        captions = [outcome for outcome in outcomes if outcome.part != STABILISER]
        if self.is_trial:
            return self._keep_captions(captions)
        return store_captions(self.model, self.run, captions, now=now)

    def _keep_captions(self, outcomes: Sequence[PartOutcome]) -> int:
        """Keep the captions of a trial with it."""
        for outcome in outcomes:
            caption = {"text": outcome.result.text, "stabiliser": outcome.result.stabiliser}
            self.run.trial_captions[outcome.part] = caption
        self.run.save(update_fields=["trial_captions"])
        return len(outcomes)

    def _store_stabilisers(self, outcomes: Sequence[PartOutcome], *, now: datetime) -> None:
        if self.is_trial:
            self.stabilisers.update((outcome.image.image_id, outcome.result) for outcome in outcomes)
            return
        if not outcomes:
            return
        rows = (
            Stabiliser(model=self.model, image_id=outcome.image.image_id, text=outcome.result, created_at=now)
            for outcome in sorted(outcomes, key=lambda outcome: outcome.image.image_id)
        )
        Stabiliser.objects.bulk_create(rows, ignore_conflicts=True)
        # Where another run stored one first, captions follow from that one.
        self._remember_stabilisers([outcome.image.image_id for outcome in outcomes])

    def _remember_stabilisers(self, image_ids: Sequence[int]) -> None:
        if self.is_trial:
            return
        rows = Stabiliser.objects.filter(model=self.model, image_id__in=image_ids)
        self.stabilisers.update(rows.values_list("image_id", "text"))
        while len(self.stabilisers) > STABILISERS_IN_MEMORY:
            del self.stabilisers[next(iter(self.stabilisers))]

    def _check_length(self, writer: Captioner | LoadedTranslator) -> None:
        # A backend of a package may lack it: its captions are cut off or fail one by one.
        if (check := getattr(writer, "check_length", None)) is not None:
            check(self.tags, self.decoding)

    @property
    def _asked(self) -> Any:
        """What is asked for texts: an endpoint counts the tokens."""
        return self.captioner

    def count_usage(self) -> None:
        take = getattr(self._asked, "take_usage", None)
        if take is None:
            return
        used = take()
        rows = Run.objects.filter(pk=self.run.pk)
        if any(used):
            rows.update(input_tokens=F("input_tokens") + used[0], output_tokens=F("output_tokens") + used[1])
        # What other workers used counts, too.
        check_cost(self._asked.prices, rows.values_list("input_tokens", "output_tokens").get())

    def finish(self, run: Run) -> None:
        return None


class TranslationJob(CaptioningJob):
    """Another model's English captions, machine-translated."""

    def load(self) -> Mapping[str, str]:
        assert self.model.translator is not None
        self.translation: LoadedTranslator = model_cache.translation(self.model.translator)
        self._check_length(self.translation)
        self.side, self.batch_size = None, self.translation.batch_size
        return self.translation.describe()

    @property
    def _asked(self) -> Any:
        return self.translation

    def pending(self, chunk: Chunk) -> list[PendingImage]:
        image_ids = unpack_ids(chunk.image_ids)
        captions = ModelCaption.objects.in_use().filter(model=self.model.english_model_id, language=ENGLISH)
        english = dict(captions.filter(image_id__in=image_ids).values_list("image_id", "text"))
        pending_tags = self._pending_tags(image_ids)
        keys = dict(Image.objects.filter(pk__in=image_ids).values_list("pk", "sha256"))
        no_english = _("“%(model)s” has no English caption of it.") % {"model": self.model.english_model}
        return [
            PendingImage(
                image_id,
                keys[image_id],
                pending_tags[image_id],
                text=english.get(image_id, ""),
                refused="" if image_id in english else no_english,
            )
            for image_id in image_ids
            if pending_tags[image_id] and image_id in keys
        ]

    def _image_to_make(self, image_id: int, tag: str) -> PendingImage:
        english = ModelCaption.objects.filter(model=self.model.english_model_id, language=ENGLISH, image=image_id)
        return PendingImage(image_id, Image.objects.get(pk=image_id).sha256, (tag,), text=english.get().text)

    def prepare(self, image: PendingImage, decoded: Pillow.Image | None) -> Any:
        return image.text

    def compute(self, images: Sequence[PendingImage], prepared: Sequence[Any], part: str) -> list[Any | FailedImage]:
        if part == ENGLISH:
            return [GeneratedCaption(text) for text in prepared]
        keys = [image.key for image in images]
        captions = self.translation.translate(prepared, keys=keys, language=part, decoding=self.decoding)
        return [checked_caption(caption) for caption in captions]


def captioning_kind(run: Run, model: CaptioningModel) -> CaptioningJob:
    kind = TranslationJob if model.backend == TRANSLATED else CaptioningJob
    return kind(run, model)


def check_cost(prices: TokenPrices | None, used: tuple[int, int]) -> None:
    """Check that the tokens that were used have not reached an endpoint's limit.

    Raises BackendSettingsError.
    """
    if prices is None or prices.limit is None:
        return
    cost = prices.cost(used)
    if cost >= prices.limit:
        raise BackendSettingsError(
            _(
                "The run has cost %(cost)s, and its limit is %(limit)s. Register the model again with a higher "
                "“cost_limit”."
            )
            % {"cost": f"{cost:.4f}", "limit": f"{prices.limit:g}"}
        )


def checked_caption(caption: GeneratedCaption | FailedImage) -> GeneratedCaption | FailedImage:
    """Clean up a backend's caption as it is stored, or say why it cannot be."""
    if isinstance(caption, FailedImage):
        return caption
    try:
        stabiliser = caption_text(caption.stabiliser, "") if caption.stabiliser else ""
        return GeneratedCaption(caption_text(caption.text, ""), stabiliser)
    except LineError as error:
        return FailedImage(str(error))


def _checked_text(text: str | FailedImage) -> str | FailedImage:
    if isinstance(text, FailedImage):
        return text
    caption = checked_caption(GeneratedCaption(text))
    return caption if isinstance(caption, FailedImage) else caption.text


def store_captions(model: CaptioningModel, run: Run, outcomes: Sequence[PartOutcome], *, now: datetime) -> int:
    """Store captions, except where another run of the model has stored one in the meantime.

    Raises IntegrityError if another run is doing so at this moment: try the transaction again.
    """
    if not outcomes:
        return 0
    stored = set(
        ModelCaption.objects.filter(
            model=model,
            image_id__in={outcome.image.image_id for outcome in outcomes},
            language_id__in={outcome.part for outcome in outcomes},
        ).values_list("image_id", "language_id")
    )
    # In one order, so that two runs never wait for each other's captions.
    fresh = sorted(
        (outcome for outcome in outcomes if (outcome.image.image_id, outcome.part) not in stored),
        key=lambda outcome: (outcome.image.image_id, outcome.part),
    )
    rows = [
        ModelCaption(
            model=model,
            image_id=outcome.image.image_id,
            language_id=outcome.part,
            text=outcome.result.text,
            stabiliser=outcome.result.stabiliser,
            run=run,
            created_at=now,
        )
        for outcome in fresh
    ]
    ModelCaption.objects.bulk_create(rows)
    return len(rows)


def translated_texts(
    translation: LoadedTranslator,
    texts: Sequence[str],
    *,
    keys: Sequence[str],
    language: str,
    decoding: Decoding,
    from_it: bool = False,
) -> list[GeneratedCaption | FailedImage]:
    """Translate English texts into `language`, or from it into English; one result for each.

    If memory runs out, the translator keeps the `batch_size` that fitted.

    Raises research.inference.backends.captioners.BackendSettingsError or
    research.inference.backends.captioners.BackendDownError where no text is to blame.
    """

    ask = cast(LoadedReader, translation).translate_into_english if from_it else translation.translate

    def translate(chosen: slice) -> list[GeneratedCaption | FailedImage]:
        made = ask(texts[chosen], keys=keys[chosen], language=language, decoding=decoding)
        return [checked_caption(one) for one in made]

    results, size = computed_apart(
        translate,
        [f"A text of {key}, {language}" for key in keys],
        size=min(len(texts), translation.batch_size),
        failed=_("The translator failed on it (%(error)s)."),
        too_large=_("Memory ran out, even for this text by itself."),
    )
    if size < min(len(texts), translation.batch_size):
        translation.batch_size = size
    return results
