"""Adding languages besides the 36."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from core.languages.models import Language, TextDirection
from core.languages.rules.scripts import canonical_script, script_of_tag
from crosslens_metrics.language_tags import canonical_tag


class LanguageExistsError(Exception):
    """Says which language has the tag already."""


def add_language(
    *,
    tag: str,
    english_name: str,
    own_name: str,
    is_right_to_left: bool = False,
    spaced: bool = True,
    scripts: Sequence[str] = (),
) -> Language:
    """Add a language under the canonical spelling of its tag.

    Without `scripts`, the script that the tag names is taken; where it names none, captions are not checked for it.

    Raises MalformedTagError or MalformedScriptError where `tag` or one of `scripts` is not well-formed. Raises
    LanguageExistsError where the tag, or the one it is an alias of, is taken. Raises ValidationError where a name is
    missing or too long.
    """
    canonical = canonical_tag(tag)
    named = script_of_tag(canonical)
    codes = [canonical_script(code) for code in scripts] or ([named] if named else [])
    language = Language(
        tag=canonical,
        english_name=english_name.strip(),
        own_name=own_name.strip(),
        direction=TextDirection.RTL if is_right_to_left else TextDirection.LTR,
        spaced=spaced,
        scripts=list(dict.fromkeys(codes)),
    )
    with transaction.atomic():
        taken = Language.objects.filter(tag__iexact=canonical).first()
        if taken is not None:
            raise LanguageExistsError(f"{taken.tag} already exists: {taken.english_name} ({taken.own_name}).")
        language.full_clean()
        language.save(force_insert=True)
    return language
