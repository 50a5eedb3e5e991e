"""What people say about themselves as they join and later: account and languages, consent, sessions and tokens."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Protocol

from allauth.account.adapter import get_adapter
from django import forms
from django.conf import settings
from django.contrib.auth.password_validation import password_validators_help_text_html
from django.core.exceptions import ValidationError
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _

from core.languages.models import Language
from core.languages.rules.page_languages import tag_of
from core.people.forms.fields import NameCharField
from core.people.models import ConsentText, LanguageLevel, OnWithdrawal, Role, User
from core.people.rules.roles import CONTRIBUTORS, JUDGES, needs_consent

LEVEL = "level-"


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


class EndSessionsForm(forms.Form):
    """Asks about tokens only if there are any."""

    with_tokens = forms.BooleanField(label=_("Also revoke my tokens for programs"), required=False, initial=True)

    def __init__(self, *args: Any, tokens: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not tokens:
            del self.fields["with_tokens"]


class TokenForm(forms.Form):
    name = NameCharField(
        label=_("Name"), max_length=100, help_text=_("The program that uses it, for example “nightly export on lab-3”.")
    )
    may_write = forms.BooleanField(
        label=_("Can also change things"),
        required=False,
        help_text=_("Otherwise it is read-only: it can read what you can read."),
    )
    days = forms.TypedChoiceField(
        label=_("Valid for"),
        coerce=int,
        initial=90,
        choices=[(30, _("30 days")), (90, _("90 days")), (365, _("1 year"))],
    )

    def expires_at(self, now: datetime) -> datetime:
        return now + timedelta(days=self.cleaned_data["days"])


class Admission(Protocol):
    """An invitation, or what else people join by."""

    role: str
    places: int
    languages: Any


BY_LINK, BY_PASSWORD = "link", "password"
ACCOUNT = ("way", "username", "email", "password")


class LinkMailForm(forms.Form):
    email = forms.EmailField(label=_("E-mail address"), widget=forms.EmailInput(attrs={"autocomplete": "email"}))


class JoinForm(LanguagesForm):
    """What somebody gives when they accept an invitation; without `user` also their new account."""

    way = forms.ChoiceField(
        label=_("How you sign in"),
        choices=[(BY_LINK, _("Start now, with a personal link")), (BY_PASSWORD, _("Make an account with a password"))],
        initial=BY_LINK,
        required=False,
        widget=forms.RadioSelect(attrs={"class": "choices choices--sentences"}),
    )
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
    password = forms.CharField(
        label=_("Password"),
        strip=False,
        help_text=password_validators_help_text_html(),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
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
        # Its reader most likely knows the language of the page.
        languages.sort(key=lambda language: language.tag != tag_of(get_language()))
        super().__init__(*args, languages=languages, user=user, **kwargs)
        self.makes_account = user is None
        if user is not None:
            self._drop(*ACCOUNT)
            self.initial["reads_english"] = user.reads_english
        else:
            self.initial["email"] = getattr(invitation, "email", "") if invitation.places == 1 else ""
            if needs_consent(invitation.role):
                # Those who start with a link leave them empty.
                self.fields["username"].required = self.fields["password"].required = False
            else:
                self._drop("way")
        if invitation.role in (Role.RATER, Role.PLAYER) or (invitation.role not in JUDGES and not languages):
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
        return [self[name] for name in ACCOUNT[1:] if name in self.fields]

    @property
    def language_choices(self) -> list[tuple[Language, forms.BoundField]]:
        """The languages to choose from; empty if there is only one, whose level is asked for."""
        return [(language, self[LEVEL + language.tag]) for language in self.languages] if self.has_choice else []

    @property
    def language_fields(self) -> list[forms.BoundField]:
        levels = [] if self.has_choice else [field for field in self if field.name.startswith(LEVEL)]
        return [*levels, *(self[name] for name in ("reads_english",) if name in self.fields)]

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        return str(get_adapter().clean_username(name)) if name else ""

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
        if cleaned.get("way") == BY_LINK:
            for name in ACCOUNT[1:]:
                cleaned[name] = ""
                self.errors.pop(name, None)
            return cleaned
        for name in ("username", "password"):
            if not cleaned.get(name) and name not in self.errors:
                self.add_error(name, self.fields[name].error_messages["required"])
        if cleaned.get("password"):
            self._check_password(cleaned)
        return cleaned

    def _check_password(self, cleaned: dict[str, Any]) -> None:
        likely = User(username=cleaned.get("username", ""), email=cleaned.get("email", ""))
        try:
            get_adapter().clean_password(cleaned["password"], likely)
        except ValidationError as error:
            self.add_error("password", error)


class ConsentForm(forms.Form):
    consent = forms.BooleanField(
        label=_("I have read the text above and agree to it"),
        error_messages={"required": _("Tick the box if you agree. If you do not, leave this page.")},
    )
    version = forms.IntegerField(widget=forms.HiddenInput)
    roles = forms.CharField(required=False, widget=forms.HiddenInput)

    def agreed(self) -> dict[str, Any]:
        """Return what was read: which version, and for which roles."""
        return {"version": self.cleaned_data["version"], "roles": self.cleaned_data["roles"].split(",")}


class WithdrawalForm(forms.Form):
    """Asks whether answers are kept only if the `text` that was agreed to lets the person choose."""

    answers = forms.ChoiceField(
        label=_("The answers I have given so far"),
        choices=[
            (OnWithdrawal.KEEP, _("Keep them under a pseudonym")),
            (OnWithdrawal.REMOVE, _("Do not count them, and leave them out of later releases")),
        ],
        widget=forms.RadioSelect(attrs={"class": "choices choices--sentences"}),
    )

    def __init__(self, *args: Any, text: ConsentText | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if text is None or text.on_withdrawal != OnWithdrawal.CHOOSE:
            del self.fields["answers"]

    def keeps_answers(self) -> bool | None:
        """Return the choice; None if it is not the person's."""
        chosen = self.cleaned_data.get("answers")
        return chosen == OnWithdrawal.KEEP if chosen else None
