"""The shape of what people send in on the pages about people."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from allauth.account.adapter import get_adapter
from django import forms
from django.conf import settings
from django.contrib.auth.forms import SetPasswordMixin
from django.core.exceptions import ValidationError
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from languages.models import Language
from people.log import Wanted, is_known_in
from people.models import ConsentText, Invitation, Level, OnWithdrawal, Project, Role, User, WebhookEvent
from people.rules import CONTRIBUTORS, JUDGES, needs_consent

MOST_PLACES = 1000
LEVEL = "level-"
UNKNOWN = "unknown"


class InvitationForm(forms.Form):
    role = forms.ChoiceField(label=_("Role"), choices=Role.choices, initial=Role.ANNOTATOR)
    languages = forms.ModelMultipleChoiceField(
        label=_("Languages"),
        queryset=Language.objects.all(),
        required=False,
        widget=forms.CheckboxSelectMultiple(attrs={"class": "choices"}),
        help_text=_("Those who come in say how well they know each of these. Annotators and raters need at least one."),
    )
    places = forms.IntegerField(
        label=_("For how many people"), min_value=1, max_value=MOST_PLACES, initial=1, help_text=_("One place each.")
    )
    days = forms.TypedChoiceField(
        label=_("Valid for"),
        coerce=int,
        initial=14,
        choices=[(1, _("1 day")), (7, _("7 days")), (14, _("14 days")), (30, _("30 days")), (90, _("90 days"))],
    )
    email = forms.EmailField(
        label=_("Send the link to this e-mail address"),
        required=False,
        help_text=_("Can be left empty: you get a link to pass on in any way."),
    )
    note = forms.CharField(
        label=_("Note to yourself"),
        required=False,
        max_length=200,
        help_text=_("Whom it is for. Only managers see it."),
    )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("role") in JUDGES and "languages" in cleaned and not cleaned["languages"]:
            self.add_error("languages", gettext("Choose at least one language that they are to work in."))
        return cleaned

    def expires_at(self, now: datetime) -> datetime:
        return now + timedelta(days=self.cleaned_data["days"])


class LanguagesForm(forms.Form):
    """How well somebody knows each of some languages, in fields named `level-<tag>`."""

    def __init__(self, *args: Any, languages: Iterable[Language], user: User | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = dict(user.language_skills.values_list("language", "level")) if user else {}
        for language in languages:
            self.fields[LEVEL + language.tag] = self.level_field(language, known.get(language.tag, ""))

    def level_field(self, language: Language, known: str) -> forms.ChoiceField:
        return forms.ChoiceField(
            label=_("Your %(language)s") % {"language": language.name},
            choices=Level.choices,
            initial=known,
            widget=forms.RadioSelect(attrs={"class": "choices"}),
        )

    def levels(self) -> dict[str, Level | None]:
        given = {name.removeprefix(LEVEL): self.cleaned_data[name] for name in self.fields if name.startswith(LEVEL)}
        return {tag: Level(level) if level in Level.values else None for tag, level in given.items()}


class JoinForm(LanguagesForm):
    """What somebody says when they take a place of an invitation; with no `user` also the account they want."""

    username = forms.CharField(
        label=_("User name"),
        max_length=150,
        help_text=_("Letters, digits and . + - _ only. It is seen by the managers of your projects, nobody else."),
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}),
    )
    email = forms.EmailField(
        label=_("E-mail address"),
        required=False,
        help_text=_("Can be left empty. We send a link to confirm it. Without one a lost password cannot be reset."),
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
        error_messages={"required": _("Without your agreement you cannot take part.")},
    )
    consent_version = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(
        self, *args: Any, invitation: Invitation, user: User | None, text: ConsentText | None, **kwargs: Any
    ) -> None:
        self.needs_language = invitation.role in CONTRIBUTORS
        languages = list(invitation.languages.all())
        self.may_lack_one = len(languages) > 1 or not self.needs_language
        super().__init__(*args, languages=languages, user=user, **kwargs)
        self.makes_account = user is None
        if user is not None:
            self._drop("username", "email", "password1", "password2")
            self.initial["reads_english"] = user.reads_english
        else:
            self.initial["email"] = invitation.email if invitation.places == 1 else ""
        if invitation.role == Role.RATER or (invitation.role not in JUDGES and not languages):
            self._drop("reads_english")
        if needs_consent(invitation.role) and text is not None:
            self.initial["consent_version"] = text.version
        else:
            self._drop("consent", "consent_version")

    def level_field(self, language: Language, known: str) -> forms.ChoiceField:
        field = super().level_field(language, known)
        if self.may_lack_one:
            field.choices = [*Level.choices, (UNKNOWN, _("I do not know it"))]
        return field

    def show(self, text: ConsentText) -> None:
        """Ask for consent to `text`, even where what was sent is about an earlier version."""
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
    def language_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name.startswith(LEVEL) or field.name == "reads_english"]

    def clean_username(self) -> str:
        cleaned: str = get_adapter().clean_username(self.cleaned_data["username"])
        return cleaned

    def clean_email(self) -> str:
        return User.objects.normalize_email(self.cleaned_data["email"])

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        levels = [cleaned.get(name) for name in self.fields if name.startswith(LEVEL)]
        if self.needs_language and levels and all(level == UNKNOWN for level in levels):
            self.add_error(None, gettext("You need to know at least one of these languages to take part."))
        if not self.makes_account:
            return cleaned
        if cleaned.get("password1") != cleaned.get("password2"):
            self.add_error("password2", gettext("This is not the same password as above."))
        elif cleaned.get("password1"):
            self._check_password(cleaned)
        return cleaned

    def _check_password(self, cleaned: dict[str, Any]) -> None:
        likely = User(username=cleaned.get("username", ""), email=cleaned.get("email", ""))
        try:
            get_adapter().clean_password(cleaned["password1"], likely)
        except ValidationError as error:
            self.add_error("password1", error)


class ProfileForm(LanguagesForm):
    reads_english = forms.BooleanField(label=_("I read English well"), required=False)
    interface_language = forms.ChoiceField(
        label=_("Language of the pages"),
        choices=[("", _("As the browser asks")), *settings.LANGUAGES],
        required=False,
    )
    new_language = forms.ModelChoiceField(
        label=_("Add a language"), queryset=Language.objects.none(), required=False, empty_label=_("None")
    )
    new_level = forms.ChoiceField(label=_("How well"), choices=[("", "—"), *Level.choices], required=False)

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        known = list(Language.objects.filter(pk__in=user.language_skills.values("language")))
        super().__init__(*args, languages=known, user=user, **kwargs)
        self.initial.update(reads_english=user.reads_english, interface_language=user.interface_language)
        others = Language.objects.exclude(pk__in=[language.pk for language in known])
        self.fields["new_language"].queryset = others  # type: ignore[attr-defined]

    def level_field(self, language: Language, known: str) -> forms.ChoiceField:
        choices = [*Level.choices, ("", _("Remove"))]
        return forms.ChoiceField(label=language.name, choices=choices, initial=known, required=False)

    @property
    def language_fields(self) -> list[forms.BoundField]:
        levels = [field for field in self if field.name.startswith(LEVEL)]
        return [*levels, self["new_language"], self["new_level"], self["reads_english"]]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if bool(cleaned.get("new_language")) != bool(cleaned.get("new_level")):
            self.add_error("new_level", gettext("Choose both the language and how well you know it."))
        return cleaned

    def levels(self) -> dict[str, Level | None]:
        added: Language | None = self.cleaned_data["new_language"]
        return super().levels() | ({added.tag: Level(self.cleaned_data["new_level"])} if added else {})


class DeletionForm(forms.Form):
    understood = forms.BooleanField(
        label=_("I have read this, and want my account to be deleted"),
        error_messages={"required": _("Tick the box if you want that. If not, you can simply leave this page.")},
    )


class ConsentForm(forms.Form):
    consent = forms.BooleanField(
        label=_("I have read the text above and agree to it"),
        error_messages={"required": _("Tick the box if you agree. If you do not, you can simply leave this page.")},
    )
    version = forms.IntegerField(widget=forms.HiddenInput)


class WithdrawalForm(forms.Form):
    """Asks what becomes of the answers only where the `text` that was agreed to leaves it to the person."""

    answers = forms.ChoiceField(
        label=_("The answers that I gave so far"),
        choices=[
            (OnWithdrawal.KEEP, _("stay, under a pseudonym")),
            (OnWithdrawal.REMOVE, _("count no longer, and are in no later release")),
        ],
        widget=forms.RadioSelect(attrs={"class": "choices choices--sentences"}),
    )

    def __init__(self, *args: Any, text: ConsentText | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if text is None or text.on_withdrawal != OnWithdrawal.CHOOSE:
            del self.fields["answers"]

    def keeps_answers(self) -> bool | None:
        """None where it is not for the person to say."""
        chosen = self.cleaned_data.get("answers")
        return chosen == OnWithdrawal.KEEP if chosen else None


class ConsentTextForm(forms.Form):
    body = forms.CharField(
        label=_("Text"),
        strip=True,
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 24, "dir": "auto"}),
        help_text=_("Markdown: ## begins a heading, - a list, > a quotation."),
    )
    on_withdrawal = forms.ChoiceField(
        label=_("When somebody withdraws their consent"),
        choices=OnWithdrawal.choices,
        widget=forms.RadioSelect(attrs={"class": "choices choices--sentences"}),
        help_text=_("This is stated beside the text. It holds for all answers of those who agree to this version."),
    )

    def __init__(self, *args: Any, text: ConsentText | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["body"] = text.body if text else ""
        self.initial["on_withdrawal"] = text.on_withdrawal if text else OnWithdrawal.CHOOSE


class EndSessionsForm(forms.Form):
    """Asks about tokens only where there are any."""

    with_tokens = forms.BooleanField(required=False, initial=True)

    def __init__(self, *args: Any, tokens: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not tokens:
            del self.fields["with_tokens"]
            return
        self.fields["with_tokens"].label = ngettext(
            "Also revoke my token for programs", "Also revoke my %(count)s tokens for programs", tokens
        ) % {"count": tokens}


class TokenForm(forms.Form):
    name = forms.CharField(
        label=_("Name"),
        max_length=100,
        help_text=_("What uses it, such as “nightly export on lab-3”."),
    )
    may_write = forms.BooleanField(
        label=_("May also change things"),
        required=False,
        help_text=_("Without this it only reads what you may read."),
    )
    days = forms.TypedChoiceField(
        label=_("Valid for"),
        coerce=int,
        initial=90,
        choices=[(30, _("30 days")), (90, _("90 days")), (365, _("1 year"))],
    )

    def expires_at(self, now: datetime) -> datetime:
        return now + timedelta(days=self.cleaned_data["days"])


class WebhookForm(forms.Form):
    url = forms.URLField(
        label=_("Address"),
        max_length=500,
        assume_scheme="https",
        widget=forms.URLInput(attrs={"dir": "ltr"}),
        help_text=_("It begins with https:// and is reached from the internet."),
    )
    events = forms.MultipleChoiceField(
        label=_("Tell it when"),
        choices=WebhookEvent.choices,
        initial=WebhookEvent.values,
        widget=forms.CheckboxSelectMultiple(attrs={"class": "choices"}),
    )

    def wanted(self) -> list[WebhookEvent]:
        return [WebhookEvent(event) for event in self.cleaned_data["events"]]


class LogForm(forms.Form):
    """Which entries of a log are asked for; what cannot be understood is told beside its field."""

    action = forms.ChoiceField(label=_("What was done"), required=False)
    person = forms.CharField(label=_("By or about (user name)"), required=False)
    since = forms.DateField(label=_("First day"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label=_("Last day"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    before = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput)

    def __init__(self, *args: Any, project: Project, actions: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._project = project
        self.fields["action"].choices = [("", _("All")), *actions]  # type: ignore[attr-defined]

    def clean_person(self) -> User | None:
        name = self.cleaned_data["person"].strip()
        if not name:
            return None
        found = User.objects.filter(username__iexact=name).first()
        # Of others it is not said whether they have an account.
        if found is None or not is_known_in(self._project, found):
            raise ValidationError(gettext("There is nobody of this name."))
        return found

    def wanted(self) -> Wanted:
        given = self.cleaned_data
        return Wanted(given["action"], given["person"], given["since"], given["until"])
