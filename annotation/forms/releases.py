"""What a manager says of a release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.formats.licences import LICENCES
from annotation.models import Release
from people.models import Project

DEFAULT_LICENCE = "CC-BY-4.0"
TEXT_CHARACTERS = 20_000


class ReleaseForm(forms.Form):
    """Begins with what the release before said."""

    title = forms.CharField(
        label=_("Title"), max_length=Release._meta.get_field("title").max_length, help_text=_("As it is to be cited.")
    )
    licence = forms.ChoiceField(
        label=_("Licence of the captions"),
        choices=[(spdx, f"{licence.name} ({spdx})") for spdx, licence in LICENCES.items()],
        help_text=_(
            "The pictures are not in the release; each keeps its own licence, which the list of images states."
        ),
    )
    authors = forms.CharField(
        label=_("Authors"),
        max_length=TEXT_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("One a line: family name, given names. An institution without a comma."),
    )
    description = forms.CharField(
        label=_("Description"),
        required=False,
        max_length=TEXT_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text=_(
            "Opens the datasheet, in Markdown. Say what only you know: what it was made for, who paid for it, how "
            "people were found and paid, whether there was an ethical review."
        ),
    )
    changes = forms.CharField(
        label=_("What changed"),
        required=False,
        max_length=TEXT_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("In your words. Captions that were added, changed and removed since the last release are counted."),
    )

    def __init__(
        self, data: Mapping[str, Any] | None = None, *, project: Project, before: Release | None = None
    ) -> None:
        initial: dict[str, Any] = {"title": project.name, "licence": DEFAULT_LICENCE}
        if before is not None:
            initial = {name: getattr(before, name) for name in ("title", "licence", "authors", "description")}
        super().__init__(data, initial=initial)
