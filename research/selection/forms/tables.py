"""The shape of changes to a table of where languages are spoken."""

from __future__ import annotations

import json
import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from research.selection.rules.tables import PLACE_LEVELS, REASONS, Areas, AreasTable, TableError, data_of
from research.selection.selectors.tables import checked_table

MAX_NOTE_CHARACTERS = 2000
MAX_FILE_BYTES = 2**20
"""Bytes; the table that is shipped has 20,000."""


class _TableForm(forms.Form):
    """`table`, the whole new table, is there once the form is valid."""

    table: AreasTable

    def take(self, data: object, field: str | None = None) -> None:
        try:
            self.table = checked_table(data)
        except TableError as error:
            self.add_error(field, ValidationError(error.problems))


class LanguageAreasForm(_TableForm):
    """The areas of one language, as codes with blanks or commas between them."""

    region = forms.CharField(
        label=_("Region"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "dir": "ltr"}),
        help_text=_("Where it is the language of most people: codes of countries and regions, such as BD IN-WB."),
    )
    country = forms.CharField(
        label=_("Country"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "dir": "ltr"}),
        help_text=_("Countries where it is official, in the whole country or in a part: codes such as BD IN."),
    )
    continent = forms.CharField(
        label=_("Continent"),
        required=False,
        widget=forms.TextInput(attrs={"dir": "ltr"}),
        help_text=_("AF, AN, AS, EU, NA, OC or SA."),
    )

    seen = forms.CharField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, tag: str, before: AreasTable, **options: Any) -> None:
        super().__init__(*args, **options)
        self.tag, self.before = tag, before
        areas = before.areas.get(tag, Areas())
        self.initial = {level.value: " ".join(sorted(areas.at(level))) for level in PLACE_LEVELS}
        self.current = self.initial["seen"] = " | ".join(self.initial.values()).strip()

    def clean_seen(self) -> str:
        """Refuse once what somebody else changed since the page was opened; the next attempt has seen it."""
        seen: str = self.cleaned_data["seen"]
        if seen and seen != self.current:
            self.data = dict(self.data.items()) | {"seen": self.current}
            said = gettext("Somebody else changed the places of this language meanwhile. They are now: %(places)s.")
            todo = gettext("Compare them with yours, then preview again.")
            self.add_error(None, f"{said % {'places': self.current}} {todo}")
        return seen

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        entries = self.before.as_entries()
        reasons = entries.get(self.tag, {}).get(REASONS, {})
        lists = {level.value: re.split(r"[\s,;]+", cleaned.get(level.value, "").strip(" ,;")) for level in PLACE_LEVELS}
        written = {level.value: [code for code in lists[level] if code] for level in PLACE_LEVELS}
        self.take(entries | {self.tag: written | ({REASONS: reasons} if reasons else {})})
        return cleaned


class TableFileForm(_TableForm):
    file = forms.FileField(
        label=_("File"),
        help_text=_("JSON, as this page exports it."),
        widget=forms.FileInput(attrs={"accept": ".json"}),
    )

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > MAX_FILE_BYTES:
            raise ValidationError(gettext("The file is too large. A table has at most 1 MB."))
        return file

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if "file" in cleaned:
            try:
                data = data_of(cleaned["file"].read())
            except TableError as error:
                self.add_error("file", [ValidationError(problem) for problem in error.problems])
            else:
                self.take(data, "file")
        return cleaned


class ReplaceForm(_TableForm):
    """What the preview sends: the whole table, and on which version it is based."""

    areas = forms.CharField(widget=forms.HiddenInput, max_length=MAX_FILE_BYTES)
    expected = forms.CharField(widget=forms.HiddenInput, max_length=80)
    note = forms.CharField(
        label=_("Reason (optional)"),
        required=False,
        max_length=MAX_NOTE_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("It is kept with the version and in the audit log."),
    )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        try:
            data = json.loads(cleaned.get("areas", ""))
        except (ValueError, RecursionError):
            self.add_error(None, gettext("The table did not arrive. Go back and try again."))
        else:
            self.take(data)
        return cleaned
