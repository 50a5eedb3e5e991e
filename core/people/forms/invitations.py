"""The form to join by an invitation."""

from __future__ import annotations

from typing import Any, Protocol

from allauth.account.adapter import get_adapter
from django import forms
from django.contrib.auth.forms import SetPasswordMixin
from django.core.exceptions import ValidationError
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _

from core.languages.models import Language
from core.people.forms.languages import LEVEL, LanguagesForm, likely_first
from core.people.models import ConsentText, LanguageLevel, Role, User
from core.people.rules.roles import CONTRIBUTORS, JUDGES, needs_consent


class Admission(Protocol):
    """An invitation, or what else people join by."""

    role: str
    places: int
    languages: Any


class JoinForm(LanguagesForm):
    """What somebody gives when they accept an invitation; without `user` also their new account."""

    username = forms.CharField(
        label=_("User name"),
        max_length=150,
        help_text=_("Letters, digits and . + - _ only. Only the managers of your projects see it."),
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}),
    )
    email = forms.EmailField(
        label=_("E-mail address"),
        required=False,
        help_text=_(
            "Optional. We send a link to confirm it. Without an address you cannot reset a forgotten password."
        ),
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )
    password1, password2 = SetPasswordMixin.create_password_fields(label1=_("Password"), label2=_("Password again"))
    reads_english = forms.BooleanField(
        label=_("I read English well"),
        required=False,
        help_text=_("Annotators rate English captions before they write their own."),
    )
    consent = forms.BooleanField(
        label=_("I have read the text above and agree to it"),
        error_messages={"required": _("You cannot take part unless you agree. Tick the box if you do.")},
    )
    consent_version = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(
        self, *args: Any, invitation: Admission, user: User | None, text: ConsentText | None, **kwargs: Any
    ) -> None:
        self.needs_language = invitation.role in CONTRIBUTORS
        languages = list(invitation.languages.all())
        self.has_choice = len(languages) > 1 or not self.needs_language
        super().__init__(*args, languages=likely_first(languages, get_language()), user=user, **kwargs)
        self.makes_account = user is None
        if user is not None:
            self._drop("username", "email", "password1", "password2")
            self.initial["reads_english"] = user.reads_english
        else:
            self.initial["email"] = getattr(invitation, "email", "") if invitation.places == 1 else ""
        if invitation.role == Role.RATER or (invitation.role not in JUDGES and not languages):
            self._drop("reads_english")
        if needs_consent(invitation.role) and text is not None:
            self.initial["consent_version"] = text.version
        else:
            self._drop("consent", "consent_version")

    def level_field(self, language: Language, known: str) -> forms.ChoiceField:
        if not self.has_choice:
            return super().level_field(language, known)
        choices = [("", _("I do not know it")), *LanguageLevel.choices]
        return forms.ChoiceField(label=language.name, choices=choices, initial=known, required=False)

    def show(self, text: ConsentText) -> None:
        """Ask for consent to `text`, even if the submitted form is about an earlier version."""
        sent = self.data.get("consent_version")
        if self.is_bound and "consent_version" in self.fields and sent != str(text.version):
            kept = {name: value for name, value in self.data.items() if name != "consent"}
            self.data = kept | {"consent_version": str(text.version)}

    def _drop(self, *names: str) -> None:
        for name in names:
            del self.fields[name]

    @property
    def account_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("username", "email", "password1", "password2") if name in self.fields]

    @property
    def language_choices(self) -> list[tuple[Language, forms.BoundField]]:
        """The languages to choose from; empty if there is only one, whose level is asked for."""
        return [(language, self[LEVEL + language.tag]) for language in self.languages] if self.has_choice else []

    @property
    def language_fields(self) -> list[forms.BoundField]:
        levels = [] if self.has_choice else [field for field in self if field.name.startswith(LEVEL)]
        return [*levels, *(self[name] for name in ("reads_english",) if name in self.fields)]

    def clean_username(self) -> str:
        cleaned: str = get_adapter().clean_username(self.cleaned_data["username"])
        return cleaned

    def clean_email(self) -> str:
        return User.objects.normalize_email(self.cleaned_data["email"])

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        names = [name for name in self.fields if name.startswith(LEVEL)]
        if self.needs_language and names and not any(cleaned.get(name) or name in self.errors for name in names):
            self.add_error(
                None,
                gettext("You need to know at least one of these languages to take part. Say how well you know it."),
            )
        if not self.makes_account:
            return cleaned
        if cleaned.get("password1") != cleaned.get("password2"):
            self.add_error("password2", gettext("The two passwords differ. Enter the same one twice."))
        elif cleaned.get("password1"):
            self._check_password(cleaned)
        return cleaned

    def _check_password(self, cleaned: dict[str, Any]) -> None:
        likely = User(username=cleaned.get("username", ""), email=cleaned.get("email", ""))
        try:
            get_adapter().clean_password(cleaned["password1"], likely)
        except ValidationError as error:
            self.add_error("password1", error)
