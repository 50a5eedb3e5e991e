"""Translate texts, as many at once as fit into memory. A text with which the translator crashes fails alone."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from django.utils.translation import gettext as _

from research.inference.backends.captioners import Decoding, FailedImage, GeneratedCaption, LoadedTranslator
from research.inference.backends.memory import has_run_out, in_halves
from research.inference.services.captioning import checked_caption
from research.inference.services.model_batches import RUN_ERRORS, CrashedImage, traceback_of
from research.inference.services.worker_status import meter

log = logging.getLogger(__name__)


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
    with meter.computing():
        results, size = in_halves(
            lambda chosen: _results(translation, texts[chosen], keys[chosen], language, decoding),
            len(texts),
            size=min(len(texts), translation.batch_size),
            too_large=lambda: CrashedImage(_("Memory ran out, even for this text by itself.")),
        )
    if size < min(len(texts), translation.batch_size):
        translation.batch_size = size
    return results


def _results(
    translation: LoadedTranslator, texts: Sequence[str], keys: Sequence[str], language: str, decoding: Decoding
) -> list[GeneratedCaption | FailedImage]:
    try:
        made = translation.translate(texts, keys=keys, language=language, decoding=decoding)
        if len(made) != len(texts):
            raise ValueError(f"{len(made)} results for {len(texts)} texts")
        return [checked_caption(one) for one in made]
    except RUN_ERRORS:
        raise
    except Exception as error:
        if has_run_out(error):
            raise
        if len(texts) == 1:
            log.exception("A text of %s, %s", keys[0], language)
            reason = _("The translator failed on it (%(error)s).") % {"error": type(error).__name__}
            return [CrashedImage(reason, traceback_of(error))]
    half = len(texts) // 2
    return [
        result
        for some in (slice(None, half), slice(half, None))
        for result in _results(translation, texts[some], keys[some], language, decoding)
    ]
