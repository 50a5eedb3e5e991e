"""The form about a person's languages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from core.languages.models import Language
from core.languages.rules.page_languages import tag_of
from core.people.models import LanguageLevel, User

LEVEL = "level-"


def likely_first(languages: Iterable[Language], page_language: str | None) -> list[Language]:
    """Put the language of the page first: its reader most likely knows it."""
    return sorted(languages, key=lambda language: language.tag != tag_of(page_language))


class LanguagesForm(forms.Form):
    """How well somebody knows each of some languages, in fields named `level-<tag>`."""

    def __init__(self, *args: Any, languages: Iterable[Language], user: User | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.languages = list(languages)
        known = dict(user.language_skills.values_list("language", "level")) if user else {}
        for language in self.languages:
            self.fields[LEVEL + language.tag] = self.level_field(language, known.get(language.tag, ""))

    def level_field(self, language: Language, known: str) -> forms.ChoiceField:
        return forms.ChoiceField(
            label=_("Your %(language)s") % {"language": language.name},
            choices=LanguageLevel.choices,
            initial=known,
            widget=forms.RadioSelect(attrs={"class": "choices"}),
        )

    def levels(self) -> dict[str, LanguageLevel | None]:
        by_tag = {name.removeprefix(LEVEL): self.cleaned_data[name] for name in self.fields if name.startswith(LEVEL)}
        return {tag: LanguageLevel(level) if level in LanguageLevel.values else None for tag, level in by_tag.items()}
