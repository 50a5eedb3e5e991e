"""Translate texts, as many at once as fit into memory. A text with which the translator crashes fails alone."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from research.inference.backends.captioners import Decoding, FailedImage, GeneratedCaption, LoadedTranslator
from research.inference.services.captioning import checked_caption
from research.inference.services.model_batches import computed_apart


def translated_texts(
    translation: LoadedTranslator, texts: Sequence[str], *, keys: Sequence[str], language: str, decoding: Decoding
) -> list[GeneratedCaption | FailedImage]:
    """Translate English texts; one result for each.

    If memory runs out, the translator keeps the `batch_size` that fitted.

    Raises
    ------
    research.inference.backends.captioners.BackendSettingsError, research.inference.backends.captioners.BackendDownError
        Where no text is to blame.
    """

    def translate(chosen: slice) -> list[GeneratedCaption | FailedImage]:
        made = translation.translate(texts[chosen], keys=keys[chosen], language=language, decoding=decoding)
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
