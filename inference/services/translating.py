"""Translate texts, as many at once as fit into memory. A text with which the translator crashes fails alone."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from django.utils.translation import gettext as _

from inference.backends.captioners import Decoding, Failed, GeneratedCaption, Translation
from inference.backends.memory import halved, has_run_out
from inference.services.captioning import checked
from inference.services.model_batches import RUN_ERRORS, Crashed, traceback_of
from inference.services.worker_status import meter

log = logging.getLogger(__name__)


def translated(
    translation: Translation, texts: Sequence[str], *, keys: Sequence[str], language: str, decoding: Decoding
) -> list[GeneratedCaption | Failed]:
    """Translate English texts; one result for each.

    If memory runs out, the translator keeps the `batch_size` that fitted.

    Raises
    ------
    inference.backends.captioners.BackendSettingsError, inference.backends.captioners.BackendDownError
        Where no text is to blame.
    """
    with meter.computing():
        results, size = halved(
            lambda chosen: _results(translation, texts[chosen], keys[chosen], language, decoding),
            len(texts),
            size=min(len(texts), translation.batch_size),
            too_large=lambda: Crashed(_("Memory ran out, even for this text by itself.")),
        )
    if size < min(len(texts), translation.batch_size):
        translation.batch_size = size
    return results


def _results(
    translation: Translation, texts: Sequence[str], keys: Sequence[str], language: str, decoding: Decoding
) -> list[GeneratedCaption | Failed]:
    try:
        made = translation.translate(texts, keys=keys, language=language, decoding=decoding)
        if len(made) != len(texts):
            raise ValueError(f"{len(made)} results for {len(texts)} texts")
        return [checked(one) for one in made]
    except RUN_ERRORS:
        raise
    except Exception as error:
        if has_run_out(error):
            raise
        if len(texts) == 1:
            log.exception("A text of %s, %s", keys[0], language)
            reason = _("The translator failed on it (%(error)s).") % {"error": type(error).__name__}
            return [Crashed(reason, traceback_of(error))]
    half = len(texts) // 2
    return [
        result
        for some in (slice(None, half), slice(half, None))
        for result in _results(translation, texts[some], keys[some], language, decoding)
    ]
