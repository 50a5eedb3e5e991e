"""Open word vectors by their signature, once per process."""

from __future__ import annotations

import threading
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from crosslens_metrics.word_vectors import MalformedTableError, WordVectorSource, open_table
from research.inference.backends.use_multilingual import EncoderMissingError, MultilingualEncoder
from research.inference.models import VectorKind, WordVectorSet

_open: dict[tuple[Path, str], WordVectorSource] = {}
_opening = threading.Lock()


class WordVectorsUnavailableError(Exception):
    """There are no vectors with this signature here, or their files are missing or changed."""


def folder_of(signature: str) -> Path:
    return Path(settings.VECTORS) / signature


def vectors_of(signature: str) -> WordVectorSource:
    """Open the vectors with exactly this signature.

    Raises WordVectorsUnavailableError.
    """
    key = (Path(settings.VECTORS), signature)
    with _opening:
        if key not in _open:
            _open[key] = _opened(signature)
        return _open[key]


def _opened(signature: str) -> WordVectorSource:
    row = WordVectorSet.objects.filter(signature=signature).first()
    if row is None:
        raise WordVectorsUnavailableError(
            _("There are no word vectors with the signature %(signature)s.") % {"signature": signature}
        )
    values = {"name": row.name, "language": row.language_id, "signature": signature}
    try:
        vectors: WordVectorSource
        vectors = (
            open_table(folder_of(signature)) if row.kind == VectorKind.TABLE else MultilingualEncoder(row.language_id)
        )
    except (MalformedTableError, EncoderMissingError) as error:
        message = _("The word vectors “%(name)s” (%(language)s) cannot be read: %(why)s")
        raise WordVectorsUnavailableError(message % {**values, "why": error}) from error
    if vectors.signature != signature:
        message = _(
            "The word vectors “%(name)s” (%(language)s) do not have the signature %(signature)s. Install or "
            "import the original version again."
        )
        raise WordVectorsUnavailableError(message % values)
    return vectors
