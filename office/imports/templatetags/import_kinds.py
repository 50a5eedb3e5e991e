"""What a file of an import holds, in the reader's language."""

from __future__ import annotations

from collections.abc import Mapping

from django import template
from django.utils.translation import gettext_lazy as _

from crosslens_metrics.formats.recognised_files import CAPTIONS_BY_PEOPLE, MODEL_CAPTIONS, REFERENCES
from crosslens_metrics.formats.table_parts import FileKind

KINDS = {
    FileKind.IMAGES: _("Images"),
    FileKind.CAPTIONS: _("Captions"),
    MODEL_CAPTIONS: _("Captions by a model"),
    REFERENCES: _("Reference captions"),
    CAPTIONS_BY_PEOPLE: _("Captions by people"),
    FileKind.JUDGEMENTS: _("Judgements"),
    FileKind.GAP_ITEMS: _("Sentences with a gap"),
    FileKind.CANDIDATES: _("Candidates"),
    FileKind.VECTORS: _("Vectors of images"),
    FileKind.NAMES: _("Names of images"),
    FileKind.SENTENCES: _("Sentences"),
}

register = template.Library()


@register.filter
def pairs(counts: Mapping[str, int] | None) -> list[tuple[str, int]]:
    """The items of a mapping whose keys people wrote, one of which may be “items”."""
    return list((counts or {}).items())


@register.simple_tag
def import_kind(kind: str) -> str:
    return str(KINDS.get(kind, kind))
