"""Recording which languages a person knows."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from core.people.models import LanguageLevel, LanguageSkill, User


def set_language_skills(
    *, user: User, levels: Mapping[str, LanguageLevel | None], reads_english: bool, interface_language: str
) -> None:
    """Record how well `user` knows each language of `levels` (tag to level, None to forget it); others stay."""
    with transaction.atomic():
        user.reads_english = reads_english
        user.interface_language = interface_language
        user.save(update_fields=["reads_english", "interface_language"])
        LanguageSkill.objects.filter(user=user, language__in=[tag for tag in levels if levels[tag] is None]).delete()
        for tag, level in levels.items():
            if level is not None:
                LanguageSkill.objects.update_or_create(user=user, language_id=tag, defaults={"level": level})
