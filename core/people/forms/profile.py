"""Forms to edit one's profile, and to delete one's account."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.languages.models import Language
from core.people.forms.languages import LEVEL, LanguagesForm
from core.people.models import LanguageLevel, User


class ProfileForm(LanguagesForm):
    reads_english = forms.BooleanField(label=_("I read English well"), required=False)
    interface_language = forms.ChoiceField(
        label=_("Page language"), choices=[("", _("Same as the browser")), *settings.LANGUAGES], required=False
    )
    new_language = forms.ModelChoiceField(
        label=_("Add a language"), queryset=Language.objects.none(), required=False, empty_label=_("None")
    )
    new_level = forms.ChoiceField(label=_("How well"), choices=[("", "—"), *LanguageLevel.choices], required=False)

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        known = list(Language.objects.filter(pk__in=user.language_skills.values("language")))
        super().__init__(*args, languages=known, user=user, **kwargs)
        self.initial.update(reads_english=user.reads_english, interface_language=user.interface_language)
        others = Language.objects.exclude(pk__in=[language.pk for language in known])
        self.fields["new_language"].queryset = others  # type: ignore[attr-defined]

    def level_field(self, language: Language, known: str) -> forms.ChoiceField:
        choices = [*LanguageLevel.choices, ("", _("Remove"))]
        return forms.ChoiceField(label=language.name, choices=choices, initial=known, required=False)

    @property
    def language_fields(self) -> list[forms.BoundField]:
        levels = [field for field in self if field.name.startswith(LEVEL)]
        return [*levels, self["new_language"], self["new_level"], self["reads_english"]]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if bool(cleaned.get("new_language")) != bool(cleaned.get("new_level")):
            self.add_error("new_level", gettext("Choose both a language and how well you know it."))
        return cleaned

    def levels(self) -> dict[str, LanguageLevel | None]:
        added: Language | None = self.cleaned_data["new_language"]
        return super().levels() | ({added.tag: LanguageLevel(self.cleaned_data["new_level"])} if added else {})


class DeletionForm(forms.Form):
    understood = forms.BooleanField(
        label=_("I have read this and want to delete my account"),
        error_messages={"required": _("Tick the box if you want to delete your account. If not, leave this page.")},
    )
