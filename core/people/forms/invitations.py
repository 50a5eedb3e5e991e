"""Forms to make invitations, to find them in the list, and to change several."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.languages.models import Language
from core.people.formats.invitations import AddressLine, read_addresses
from core.people.models import Project, Role
from core.people.rules.invitations import InvitationAction
from core.people.rules.roles import JUDGES
from core.people.selectors.invitations import InvitationFilters, InvitationsShown, addresses_invited
from core.people.services.invitations import NewInvitation
from crosslens_metrics.formats.problems import FileProblemsError

MAX_PLACES = 1000
MAX_CHANGED = 2000
"""At once."""
MAX_BYTES = 1_000_000
DAYS = 14
ONE, EACH = "one", "each"


def days_field() -> forms.TypedChoiceField:
    return forms.TypedChoiceField(
        label=_("Valid for"),
        coerce=int,
        initial=DAYS,
        choices=[(1, _("1 day")), (7, _("7 days")), (14, _("14 days")), (30, _("30 days")), (90, _("90 days"))],
    )


class InvitationForm(forms.Form):
    role = forms.ChoiceField(label=_("Role"), choices=Role.choices, initial=Role.ANNOTATOR)
    languages = forms.ModelMultipleChoiceField(
        label=_("Languages"),
        queryset=Language.objects.all(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("People who join say which of these they know. Annotators and raters need at least one."),
    )
    links = forms.ChoiceField(
        label=_("Links"),
        choices=[(ONE, _("One link for all languages")), (EACH, _("A link for each language"))],
        initial=ONE,
        required=False,
        widget=forms.RadioSelect,
    )
    places = forms.IntegerField(
        label=_("For how many people"),
        min_value=1,
        max_value=MAX_PLACES,
        initial=1,
        help_text=_("How many can join by each link."),
    )
    days = days_field()
    email = forms.EmailField(
        label=_("E-mail address (optional)"),
        required=False,
        help_text=_("We send the link there. You also get it yourself, to pass on in any way."),
    )
    note = forms.CharField(
        label=_("Note (optional)"),
        required=False,
        max_length=200,
        help_text=_("Who the invitation is for. Only managers see this."),
    )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("role") in JUDGES and "languages" in cleaned and not cleaned["languages"]:
            self.add_error("languages", gettext("Choose at least one language for them to work in."))
        if self._is_for_each(cleaned) and cleaned.get("email"):
            self.add_error(
                "email",
                gettext("Links for several languages do not go to one person. Empty this, or choose one link."),
            )
        return cleaned

    @staticmethod
    def _is_for_each(cleaned: dict[str, Any]) -> bool:
        return cleaned.get("links") == EACH and len(cleaned.get("languages") or ()) > 1

    def wanted(self) -> list[NewInvitation]:
        cleaned = self.cleaned_data
        about = {"role": Role(cleaned["role"]), "places": cleaned["places"], "note": cleaned["note"]}
        if self._is_for_each(cleaned):
            return [NewInvitation(languages=[language], **about) for language in cleaned["languages"]]
        return [NewInvitation(languages=cleaned["languages"], email=cleaned["email"], **about)]

    def expires_at(self, now: datetime) -> datetime:
        return now + timedelta(days=self.cleaned_data["days"])


class AddressesForm(forms.Form):
    """A list of addresses, as a file or as text. With `is_confirmed` it was looked at, and is acted upon."""

    file = forms.FileField(
        label=_("CSV file"),
        required=False,
        help_text=_("At most 1,000 lines and 1 MB."),
        widget=forms.FileInput(attrs={"accept": ".csv,.txt"}),
    )
    text = forms.CharField(
        label=_("Or paste the list"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false", "dir": "ltr"}),
        initial="address,languages,role,note\n",
    )
    role = forms.ChoiceField(
        label=_("Role of lines without one"), choices=Role.choices, initial=Role.ANNOTATOR, required=False
    )
    days = days_field()
    is_confirmed = forms.BooleanField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, project: Project, now: datetime, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._project, self._now = project, now
        self.lines: list[AddressLine] = []

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file is not None and file.size > MAX_BYTES:
            raise ValidationError(gettext("The file is larger than 1 MB. Split it."))
        return file

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if not cleaned.get("file") and not cleaned.get("text", "").strip():
            self.add_error("text", gettext("Choose a file, or paste a list."))
        if self.errors:
            return cleaned
        content = cleaned["file"].read() if cleaned["file"] else cleaned["text"].encode()
        try:
            self.lines = read_addresses(
                content,
                role=Role(cleaned["role"] or Role.ANNOTATOR),
                languages=Language.objects.all(),
                invited=addresses_invited(self._project, now=self._now),
            )
        except FileProblemsError as error:
            self.add_error(None, [ValidationError(line) for line in error.lines()])
        # What was in a file can be corrected in place, and comes back with the confirmation.
        self.data = dict(self.data.items()) | {"text": content.decode("utf-8-sig", "replace")}
        return cleaned

    def wanted(self) -> list[NewInvitation]:
        return [
            NewInvitation(role=line.role, languages=line.languages, email=line.address, note=line.note)
            for line in self.lines
        ]

    def expires_at(self, now: datetime) -> datetime:
        return now + timedelta(days=self.cleaned_data["days"])


class InvitationsFilterForm(forms.Form):
    """Which invitations to list. What is not known selects nothing in particular."""

    words = forms.CharField(label=_("Address or note"), required=False, widget=forms.SearchInput)
    shown = forms.ChoiceField(label=_("State"), choices=[("", _("All")), *InvitationsShown.choices], required=False)
    role = forms.ChoiceField(label=_("Role"), choices=[("", _("All")), *Role.choices], required=False)
    language = forms.ModelChoiceField(
        label=_("Language"), queryset=Language.objects.none(), required=False, empty_label=_("All")
    )
    made = forms.RegexField(regex=r"\A\d{1,12}-\d{1,12}\Z", required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        used = project.invitations.values("languages")
        self.fields["language"].queryset = Language.objects.filter(pk__in=used)  # type: ignore[attr-defined]

    def wanted(self) -> InvitationFilters:
        self.full_clean()
        given = {name: value for name, value in self.cleaned_data.items() if value}
        first, _dash, last = given.pop("made", "").partition("-")
        if first:
            given |= {"first": int(first), "last": int(last)}
        return InvitationFilters(**given)


class ChangeForm(forms.Form):
    """What to do with which invitations. With `is_confirmed` the manager has seen what happens to each."""

    action = forms.ChoiceField(choices=InvitationAction.choices)
    chosen = forms.RegexField(regex=r"\A\d{1,12}(,\d{1,12}){0,1999}\Z", required=False, widget=forms.HiddenInput)
    days = days_field()
    sends = forms.BooleanField(
        label=_("Send the links again"),
        required=False,
        help_text=_("To those with an address that got no e-mail within a day."),
    )
    is_confirmed = forms.BooleanField(required=False, widget=forms.HiddenInput)

    @property
    def pks(self) -> list[int]:
        return [int(pk) for pk in self.cleaned_data["chosen"].split(",") if pk]

    @property
    def valid_for(self) -> timedelta:
        return timedelta(days=self.cleaned_data["days"])
