"""Forms to set up a season."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.timezone import make_naive
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.people.forms.fields import NameCharField
from gapgame.models import ItemSet, Season, SeasonAccess
from gapgame.rules.clock import (
    AmbiguousTimeError,
    ClockError,
    instant_of,
    is_second_of_two,
    local_time,
    time_zones,
)
from gapgame.selectors.setup import PlayableSentences
from gapgame.services.seasons import SeasonTerms, SeasonTexts
from research.inference.models import WordVectorSet

MAX_BATCH_SIZE = 1000
MAX_TEXT_CHARACTERS = 20_000
VECTORS = "vectors-"
FIRST, SECOND = "first", "second"
ON_THE_CLOCK = "%Y-%m-%dT%H:%M"
TEXTS = ("name", "description", "prizes")


class ItemSetForm(forms.Form):
    """The first step: the languages depend on the sentences."""

    items = forms.ModelChoiceField(
        label=_("Sentences"),
        queryset=ItemSet.objects.none(),
        empty_label=_("Choose…"),
        help_text=_("A season uses the sentences of one set. You cannot change this later."),
        error_messages={"invalid_choice": _("This set no longer exists in this project. Choose another one.")},
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, item_sets: QuerySet[ItemSet]) -> None:
        super().__init__(data)
        self.fields["items"].queryset = item_sets  # type: ignore[attr-defined]


class TextsForm(forms.Form):
    """Settings that may be changed at any time."""

    name = NameCharField(label=_("Name"), max_length=120, help_text=_("Players can see it."))
    description = forms.CharField(
        label=_("Description"),
        required=False,
        max_length=MAX_TEXT_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 5, "dir": "auto"}),
        help_text=_("Shown to players before they join. Use Markdown: ## for a heading, - for a list."),
    )
    prizes = forms.CharField(
        label=_("Prizes"),
        required=False,
        max_length=MAX_TEXT_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
        help_text=_("What the winner and runner-up get, if anything. You can use Markdown."),
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, season: Season | None = None, **kwargs: Any) -> None:
        initial = {name: getattr(season, name) for name in TEXTS} if season else {}
        super().__init__(data, initial=initial | kwargs.pop("initial", {}), **kwargs)

    def texts(self) -> SeasonTexts:
        return SeasonTexts(**{name: self.cleaned_data[name] for name in TEXTS})

    def text_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in TEXTS]


def _clock_field(label: Any, help_text: Any) -> forms.DateTimeField:
    return forms.DateTimeField(
        label=label,
        input_formats=[ON_THE_CLOCK, "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"],
        widget=forms.DateTimeInput(attrs={"type": "datetime-local", "dir": "ltr"}, format=ON_THE_CLOCK),
        help_text=help_text,
        error_messages={"invalid": _("Enter a date and time, for example 2026-05-31 20:00.")},
    )


def _fold_field() -> forms.ChoiceField:
    """Shown only if a time occurs twice; it then says at which two instants."""
    choices = [(FIRST, _("The first time")), (SECOND, _("The second time"))]
    return forms.ChoiceField(required=False, choices=choices, widget=forms.RadioSelect)


class SeasonForm(TextsForm):
    """All settings of a season, until it begins. Times are local times of its time zone."""

    time_zone = forms.CharField(
        label=_("Time zone"),
        max_length=64,
        initial="UTC",
        widget=forms.TextInput(attrs={"list": "time-zones", "dir": "ltr", "spellcheck": "false"}),
        help_text=_(
            "Applies to the start and cut-off below. Type part of its name, such as a city, to find it in the list."
        ),
    )
    starts_at = _clock_field(_("Start"), _("From this time people can play, and you can change only the texts."))
    starts_which = _fold_field()
    ends_at = _clock_field(
        _("Cut-off"), _("Play ends for everybody at this time. Guesses made at or after it do not count.")
    )
    ends_which = _fold_field()
    batch_size = forms.IntegerField(
        label=_("Sentences per batch"),
        min_value=1,
        max_value=MAX_BATCH_SIZE,
        initial=100,
        help_text=_("How many a player gets at a time. They can ask for more when they are done. The method uses 100."),
    )
    access = forms.ChoiceField(
        label=_("Who may play"), choices=SeasonAccess.choices, initial=SeasonAccess.INVITED, widget=forms.RadioSelect
    )
    needs_address = forms.BooleanField(
        label=_("Require a confirmed e-mail address"),
        required=False,
        help_text=_(
            "This makes it harder to play under several names, because each address can belong to only one account."
        ),
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        playable: Sequence[PlayableSentences],
        season: Season | None = None,
        chosen: Mapping[str, WordVectorSet] | None = None,
    ) -> None:
        super().__init__(data, season=season, initial=_initial(season) if season else {})
        self.playable, self.twice = [row for row in playable if row.ready], set[str]()
        self.unready = [row.language for row in playable if not row.ready]
        chosen = chosen or {}
        for row in self.playable:
            tag = row.language.pk
            # A single set leaves only the choice whether the language is played.
            first = row.offered[0] if season is None and row.offered else None
            self.fields[VECTORS + tag] = forms.ModelChoiceField(
                label=row.language.name,
                queryset=WordVectorSet.objects.filter(language=row.language),
                required=False,
                empty_label=gettext("Not played in this language"),
                initial=chosen.get(tag, first),
                error_messages={
                    "invalid_choice": gettext("These word vectors no longer exist for this language. Choose others.")
                },
            )
        if season is not None:
            self._offer_both("starts", season.starts_at, season.time_zone)
            self._offer_both("ends", season.ends_at, season.time_zone)

    def clean_time_zone(self) -> str:
        asked = str(self.cleaned_data["time_zone"])
        named = {zone.casefold(): zone for zone in time_zones()}
        time_zone = named.get(asked.casefold().replace(" ", "_"))
        if time_zone is None:
            ending = "/" + asked.casefold().replace(" ", "_")
            close = [zone for name, zone in named.items() if name.endswith(ending)]
            text = gettext("Unknown time zone. Choose one from the list, for example %(example)s.")
            raise forms.ValidationError(text % {"example": close[0] if close else "Europe/Berlin"})
        return time_zone

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        for which in ("starts", "ends"):
            self._take_time(cleaned, which)
        if not any(cleaned.get(VECTORS + row.language.pk) for row in self.playable):
            self.add_error(None, gettext("Choose word vectors for at least one language."))
        return cleaned

    def _take_time(self, cleaned: dict[str, Any], which: str) -> None:
        asked, time_zone = cleaned.get(f"{which}_at"), cleaned.get("time_zone")
        if asked is None or time_zone is None:
            return
        # The field has read it in the installation's time zone; it is meant in the season's.
        shown = make_naive(asked)
        answer = cleaned.get(f"{which}_which")
        try:
            cleaned[which] = instant_of(shown, time_zone)
        except AmbiguousTimeError as twice:
            self._offer(which, twice.first, twice.second, time_zone)
            if answer in (FIRST, SECOND):
                cleaned[which] = instant_of(shown, time_zone, is_second=answer == SECOND)
            else:
                self.add_error(f"{which}_at", str(twice))
        except ClockError as refused:
            self.add_error(f"{which}_at", str(refused))

    def _offer_both(self, which: str, instant: datetime, time_zone: str) -> None:
        """If a stored time occurs twice, show which one it is."""
        try:
            instant_of(local_time(instant, time_zone), time_zone)
        except AmbiguousTimeError as twice:
            self._offer(which, twice.first, twice.second, time_zone)

    def _offer(self, which: str, first: datetime, second: datetime, time_zone: str) -> None:
        field = self.fields[f"{which}_which"]
        labels = (gettext("The first time, %(utc)s UTC"), gettext("The second time, %(utc)s UTC"))
        said = [label % {"utc": at.strftime("%H:%M")} for label, at in zip(labels, (first, second), strict=True)]
        field.choices = list(zip((FIRST, SECOND), said, strict=True))  # type: ignore[attr-defined]
        field.label = gettext("Clocks in %(zone)s show this time twice. Which one do you mean?") % {"zone": time_zone}
        self.twice.add(which)

    def terms(self) -> SeasonTerms:
        given = self.cleaned_data
        tags = [row.language.pk for row in self.playable]
        return SeasonTerms(
            starts_at=given["starts"],
            ends_at=given["ends"],
            vectors={tag: given[VECTORS + tag] for tag in tags if given[VECTORS + tag]},
            access=SeasonAccess(given["access"]),
            **{name: given[name] for name in ("time_zone", "batch_size", "needs_address")},
        )

    def time_fields(self) -> list[forms.BoundField]:
        names = ["time_zone"]
        for which in ("starts", "ends"):
            names += [f"{which}_at", *([f"{which}_which"] if which in self.twice else [])]
        return [self[name] for name in names]

    def play_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("access", "needs_address", "batch_size")]

    def language_fields(self) -> list[tuple[PlayableSentences, forms.BoundField]]:
        return [(row, self[VECTORS + row.language.pk]) for row in self.playable]


def _initial(season: Season) -> dict[str, Any]:
    initial = {name: getattr(season, name) for name in ("time_zone", "batch_size", "access", "needs_address")}
    for which, instant in (("starts", season.starts_at), ("ends", season.ends_at)):
        initial |= clock_fields(which, instant, season.time_zone)
    return initial


def clock_fields(which: str, instant: datetime, time_zone: str) -> dict[str, Any]:
    """Return the fields of an instant as clocks show it: when, and which of the two times if they show it twice."""
    is_second = is_second_of_two(instant, time_zone)
    return {f"{which}_at": local_time(instant, time_zone), f"{which}_which": SECOND if is_second else FIRST}
