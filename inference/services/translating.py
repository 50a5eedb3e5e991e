"""Translate texts, as many at once as fit into memory. A text with which the translator crashes fails alone."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from django.utils.translation import gettext as _

from inference.backends.captioners import Decoding, Failed, GeneratedCaption, OutOfMemoryError, Translation
from inference.services.captioning import checked
from inference.services.model_batches import RUN_ERRORS, Crashed, traceback_of
from inference.services.worker_status import meter

log = logging.getLogger(__name__)


def translated(
    translation: Translation, texts: Sequence[str], *, keys: Sequence[str], language: str, decoding: Decoding
) -> list[GeneratedCaption | Failed]:
    """Translate English texts; one result for each.

    Raises
    ------
    inference.backends.captioners.BackendSettingsError, inference.backends.captioners.BackendDownError
        Where no text is to blame.
    """
    try:
        with meter.computing():
            made = translation.translate(texts, keys=keys, language=language, decoding=decoding)
        if len(made) != len(texts):
            raise ValueError(f"{len(made)} results for {len(texts)} texts")
        return [checked(one) for one in made]
    except RUN_ERRORS:
        raise
    except OutOfMemoryError:
        if len(texts) == 1:
            return [Crashed(_("Memory ran out, even for this text by itself."))]
    except Exception as error:
        if len(texts) == 1:
            log.exception("A text of %s, %s", keys[0], language)
            reason = _("The translator failed on it (%(error)s).") % {"error": type(error).__name__}
            return [Crashed(reason, traceback_of(error))]
    half = len(texts) // 2
    return [
        result
        for some in (slice(None, half), slice(half, None))
        for result in translated(translation, texts[some], keys=keys[some], language=language, decoding=decoding)
    ]
