"""Finding a language by any tag that somebody might write."""

from __future__ import annotations

from core.languages.models import Language
from crosslens_metrics.language_tags import canonical_tag


def language_by_tag(tag: str) -> Language | None:
    """The language that `tag` names, whatever its case, aliases included; None where it is not in the table.

    Raises
    ------
    MalformedTagError
        Where `tag` is no BCP-47 tag at all.
    """
    return Language.objects.filter(pk=canonical_tag(tag)).first()
