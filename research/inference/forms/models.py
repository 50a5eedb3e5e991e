"""Forms to register models and translators, with the fields of each kind.

What no field is made for can be given as JSON; so backends of other packages, of which nothing is known here, are
registered with a source and such options alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.people.forms.fields import NameCharField
from core.people.forms.owners import OwnerForm
from core.people.models import User
from crosslens_metrics.formats.records import is_text
from research.inference.backends.transformer_files import PINNED, folders_here
from research.inference.models import CaptioningModel, Translator
from research.inference.rules.captions import MAX_MODEL_NAME_CHARACTERS
from research.inference.selectors.models import english_models, translators

MAX_DEPTH = 16
MAX_NUMBER = 2**53
"""Up to here, every reader of JSON reads whole numbers exactly."""
FOLDER_OR_HUB, ENDPOINT, NOTHING, ANYTHING = "folder", "endpoint", "nothing", "anything"
OF_FILES = ("languages", "batch_size", "allow_pickled_weights")
OF_ENDPOINTS = ("model", "prompt", "prompts", "languages", "concurrency", "per_minute")
LANGUAGES_BESIDES_ENGLISH = _(
    "English by default. For others, enter a tag on each line, and the model's own code after a colon if it "
    "has one, for example “de: ger”."
)
ENDPOINT_PROMPT = _(
    "The prompt: {language} stands for the language's name and {tag} for its tag. If empty, it asks for one "
    "sentence for somebody who cannot see the image."
)
ENDPOINT_LANGUAGES = _(
    "The platform's languages by default. For others, enter a tag on each line, and after a colon the name "
    "for the prompt, for example “cy: Welsh”."
)


class TagLinesField(forms.CharField):
    """A language per line, and its text after a colon: a mapping of our tags to texts.

    With `has_bare_tags` a tag may stand alone; the text is empty then.
    """

    def __init__(self, *, has_bare_tags: bool = False, rows: int = 3, **more: Any) -> None:
        attributes = {"rows": rows, "spellcheck": "false", "dir": "ltr"}
        # Blanks at the ends of the first and the last line may be part of a separator.
        super().__init__(required=False, strip=False, widget=forms.Textarea(attributes), **more)
        self.has_bare_tags = has_bare_tags

    def clean(self, value: Any) -> dict[str, str]:
        return self._read(super().clean(value))

    def _read(self, text: str) -> dict[str, str]:
        texts: dict[str, str] = {}
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip():
                continue
            tag, colon, value = line.partition(":")
            tag, value = tag.strip(), value.removeprefix(" ")
            if not tag or (not value.strip() and (colon or not self.has_bare_tags)):
                raise ValidationError(
                    gettext("Line %(number)d is not like “de: …”: %(line)s"), params={"number": number, "line": line}
                )
            if tag in texts:
                raise ValidationError(gettext("%(tag)s is listed twice. Remove one."), params={"tag": tag})
            texts[tag] = value
        return texts


class JsonObjectField(forms.CharField):
    """A JSON object; empty input is an empty object."""

    def __init__(self, **more: Any) -> None:
        attributes = {"rows": 3, "spellcheck": "false", "dir": "ltr"}
        super().__init__(required=False, widget=forms.Textarea(attributes), **more)

    def clean(self, value: Any) -> dict[str, Any]:
        text = super().clean(value)
        if not text:
            return {}
        try:
            parsed = json.loads(text, parse_constant=_refused)
        except (ValueError, RecursionError) as error:
            raise ValidationError(gettext("This is not valid JSON: %(error)s"), params={"error": error}) from error
        if not isinstance(parsed, dict):
            raise ValidationError(
                gettext("Enter an object, for example %(example)s."), params={"example": '{"seed": 1}'}
            )
        if not _can_be_kept(parsed, deep=MAX_DEPTH):
            raise ValidationError(
                gettext(
                    "It cannot be stored: it has invalid characters, a number that is too large, or too many "
                    "nested levels."
                )
            )
        return parsed


def _refused(name: str) -> object:
    raise ValueError(name)


def _can_be_kept(value: object, *, deep: int) -> bool:
    """Whether every database can store it and every page can show it."""
    if isinstance(value, dict):
        return deep > 0 and all(is_text(key) and _can_be_kept(inner, deep=deep - 1) for key, inner in value.items())
    if isinstance(value, list):
        return deep > 0 and all(_can_be_kept(inner, deep=deep - 1) for inner in value)
    if isinstance(value, str):
        return is_text(value)
    if isinstance(value, float):
        return isfinite(value)
    return not isinstance(value, int) or abs(value) <= MAX_NUMBER


def languages_option(lines: Mapping[str, str]) -> list[str] | dict[str, str]:
    """Build the option `languages`; only tags if the model has no codes of its own."""
    return {tag: code or tag for tag, code in lines.items()} if any(lines.values()) else list(lines)


class ModelEditForm(forms.Form):
    """What may be said of a model otherwise once it is registered."""

    name = NameCharField(label=_("Name"), max_length=MAX_MODEL_NAME_CHARACTERS)
    description = forms.CharField(
        label=_("Description"), required=False, widget=forms.Textarea(attrs={"rows": 3}), max_length=2000
    )


@dataclass(frozen=True)
class BackendFields:
    """The fields of a backend's models: their source, and options with a field of their own."""

    source: str = ANYTHING
    options: Sequence[str] = ()
    may_be_pivot: bool = False
    has_more: bool = True
    """Whether other options can be given as JSON."""
    helps: Mapping[str, Any] = field(default_factory=dict)
    """The help text of a field, where it means something of its own here."""


KINDS: Mapping[str, BackendFields] = {
    "encoder-decoder": BackendFields(
        FOLDER_OR_HUB,
        ("prompts", "separators", *OF_FILES),
        may_be_pivot=True,
        helps={
            "prompts": _("How its captions begin: a language on each line, for example “en: a picture of”."),
            "languages": LANGUAGES_BESIDES_ENGLISH,
        },
    ),
    "chat": BackendFields(
        FOLDER_OR_HUB,
        ("prompt", "prompts", "separators", *OF_FILES),
        may_be_pivot=True,
        helps={
            "prompt": _(
                "The prompt: {language} stands for the language's English name, {code} for the model's own "
                "code. If empty, it is the usual one for this kind of model, or “Describe this picture in "
                "one sentence in {language}.”"
            )
        },
    ),
    "endpoint": BackendFields(
        ENDPOINT, OF_ENDPOINTS, helps={"prompt": ENDPOINT_PROMPT, "languages": ENDPOINT_LANGUAGES}
    ),
    "palette": BackendFields(NOTHING, has_more=False),
}
TRANSLATOR_KINDS: Mapping[str, BackendFields] = {
    "seq2seq": BackendFields(FOLDER_OR_HUB, OF_FILES),
    "endpoint": BackendFields(
        ENDPOINT,
        OF_ENDPOINTS,
        helps={
            "prompt": _(
                "The prompt: {text} stands for the English caption, {language} for the language's name and "
                "{tag} for its tag. If empty, it asks for a translation and nothing else."
            ),
            "languages": ENDPOINT_LANGUAGES,
        },
    ),
}
OF_ANOTHER_PACKAGE = BackendFields(may_be_pivot=True)
OF_ANOTHER_TRANSLATOR = BackendFields()


def _option_fields() -> dict[str, forms.Field]:
    """Create the fields of those options that have one."""
    return {
        "model": forms.CharField(
            label=_("Model at the endpoint"), max_length=200, help_text=_("The model's name at the endpoint.")
        ),
        "prompt": forms.CharField(
            label=_("Prompt"),
            required=False,
            widget=forms.Textarea({"rows": 3}),
        ),
        "prompts": TagLinesField(
            label=_("Prompts for single languages"),
            help_text=_(
                "Used instead of the prompt above: a language on each line, for example “de: Beschreibe das Bild.”"
            ),
        ),
        "separators": TagLinesField(
            label=_("Separators"),
            help_text=_(
                "For pivot-stabilised models: the text between stabiliser and caption, a language on each "
                "line, for example “de: <de>”. If empty, it is the model's own code in angle brackets."
            ),
        ),
        "languages": TagLinesField(
            has_bare_tags=True,
            label=_("Languages"),
            help_text=_(
                "Only needed if they differ from those this kind of model is known to write: a tag on each "
                "line, and the model's own code after a colon if it has one, for example “de: deu_Latn”."
            ),
        ),
        "batch_size": forms.IntegerField(
            label=_("Batch size"),
            required=False,
            min_value=1,
            max_value=1024,
            help_text=_(
                "The number of images at a time, to begin with. If memory runs out, it is halved. If empty, a "
                "default is used."
            ),
        ),
        "allow_pickled_weights": forms.BooleanField(
            label=_("Load weights that are Python pickles"),
            required=False,
            disabled=not settings.PICKLED_WEIGHTS,
            help_text=_("Such files can run any program. Use this only for models from people you trust.")
            if settings.PICKLED_WEIGHTS
            else _("This installation loads only safetensors. The operator can allow others."),
        ),
        "concurrency": forms.IntegerField(
            label=_("Concurrent requests"), required=False, min_value=1, max_value=64, help_text=_("If empty, 4.")
        ),
        "per_minute": forms.FloatField(
            label=_("Requests per minute"),
            required=False,
            min_value=0.1,
            help_text=_("The most requests sent per minute. If empty, there is no limit."),
        ),
    }


class RegisterForm(OwnerForm):
    """Register a model or a translator of one backend."""

    name = NameCharField(
        label=_("Name"),
        max_length=MAX_MODEL_NAME_CHARACTERS,
        help_text=_("Its name here, used wherever its captions are compared and scored."),
    )
    description = forms.CharField(
        label=_("Description"),
        required=False,
        widget=forms.Textarea({"rows": 2}),
        help_text=_("For example, what it was trained on and where it comes from."),
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, kind: BackendFields, by: User) -> None:
        super().__init__(data, by=by)
        self.kind = kind
        self.fields |= self._source_fields()
        if kind.may_be_pivot:
            self.fields["is_pivot"] = forms.BooleanField(
                label=_("Pivot-stabilised"),
                required=False,
                help_text=_("It writes an English stabiliser and a separator before each caption. Both are kept."),
            )
        self.put_owner_last()
        options = _option_fields()
        self.fields |= {name: options[name] for name in kind.options}
        for name, text in kind.helps.items():
            self.fields[name].help_text = text
        if kind.has_more:
            self.fields["more"] = JsonObjectField(
                label=_("Other options"),
                help_text=_(
                    "A JSON object. The options are described in docs/models.md or in the documentation of "
                    "the backend's package."
                ),
            )

    def _source_fields(self) -> dict[str, forms.Field]:
        if self.kind.source == FOLDER_OR_HUB:
            return self._folder_fields()
        if self.kind.source == ENDPOINT:
            return {"source": self._endpoint_field()}
        if self.kind.source == ANYTHING:
            help_text = _("Depends on the backend: see its documentation.")
            return {"source": forms.CharField(label=_("Source"), required=False, max_length=500, help_text=help_text)}
        return {}

    @staticmethod
    def _folder_fields() -> dict[str, forms.Field]:
        return {
            "folder": forms.ChoiceField(
                label=_("Folder"),
                required=False,
                choices=[("", gettext("Choose…")), *((name, name) for name in folders_here())],
                help_text=gettext("The folders in %(folder)s, where the operator puts models.")
                % {"folder": settings.MODELS_FOLDER},
            ),
            "elsewhere": forms.CharField(
                label=_("Or from the hub"),
                required=False,
                max_length=300,
                widget=forms.TextInput({"dir": "ltr", "spellcheck": "false"}),
                help_text=_(
                    "Its name and commit, 40 digits, as owner/name@commit, so that it stays the same model. "
                    "Or a folder that only the workers' machine has."
                ),
            ),
        }

    @staticmethod
    def _endpoint_field() -> forms.Field:
        names = list(settings.CAPTION_ENDPOINTS)
        help_text = _("The operator sets up endpoints, with address and key, in the environment (docs/settings.md).")
        choices = [("", gettext("Choose…")), *((name, name) for name in names)]
        return forms.ChoiceField(label=_("Endpoint"), choices=choices, help_text=help_text)

    def first_fields(self) -> list[forms.BoundField]:
        """Return the fields about the model itself; options come below."""
        return [self[name] for name in self.fields if name not in (*self.kind.options, "more")]

    def option_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name in (*self.kind.options, "more")]

    def has_options_open(self) -> bool:
        """Whether to show all options: if one is required, or was wrong."""
        return any(field.field.required or field.errors for field in self.option_fields())

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self.kind.source == FOLDER_OR_HUB and not self.errors:
            self._clean_folder(cleaned)
        return cleaned

    def _clean_folder(self, cleaned: Mapping[str, Any]) -> None:
        folder, elsewhere = cleaned["folder"], cleaned["elsewhere"]
        if bool(folder) == bool(elsewhere):
            self.add_error("folder", gettext("Choose either a folder or a model of the hub."))
        elif "/" in elsewhere and PINNED.fullmatch(elsewhere) is None:
            self.add_error(
                "elsewhere",
                gettext("Enter it as owner/name@commit. A commit has 40 digits, 0-9 and a-f."),
            )

    def about(self) -> dict[str, Any]:
        """Return the values to register, of a valid form."""
        cleaned = self.cleaned_data
        options = {name: cleaned[name] for name in self.kind.options if cleaned[name] not in (None, "", {}, False)}
        if "languages" in options:
            options["languages"] = self._languages(options["languages"])
        values = {
            "name": cleaned["name"],
            "description": cleaned["description"],
            "project": cleaned["project"],
            "is_shared": cleaned["is_shared"],
            "source": cleaned.get("source") or cleaned.get("folder") or cleaned.get("elsewhere") or "",
            "options": options | cleaned.get("more", {}),
        }
        return values | ({"is_pivot": cleaned["is_pivot"]} if self.kind.may_be_pivot else {})

    def _languages(self, lines: Mapping[str, str]) -> Any:
        # Behind an endpoint there are no codes, but names that the prompt gives.
        if self.kind.source == ENDPOINT:
            return {tag: code or tag for tag, code in lines.items()}
        return languages_option(lines)


class TranslatedModelForm(OwnerForm):
    """Register a model whose captions are machine translations of another's English captions."""

    made_of = ("english_model", "translator")

    name = NameCharField(
        label=_("Name"),
        max_length=MAX_MODEL_NAME_CHARACTERS,
        help_text=_("Its name here, for example “BLIP, translated by NLLB”."),
    )
    description = forms.CharField(label=_("Description"), required=False, widget=forms.Textarea({"rows": 2}))
    english_model = forms.ModelChoiceField(
        CaptioningModel.objects.none(),
        label=_("English captions by"),
        empty_label=_("Choose…"),
        help_text=_("Uses the English captions that exist when it runs. Images without one fail."),
    )
    translator = forms.ModelChoiceField(Translator.objects.none(), label=_("Translated by"), empty_label=_("Choose…"))

    def __init__(self, *args: Any, by: User, **kwargs: Any) -> None:
        super().__init__(*args, by=by, **kwargs)
        english: Any = self.fields["english_model"]
        english.queryset = english_models(by)
        translator: Any = self.fields["translator"]
        translator.queryset = translators(by)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if not self.errors:
            self.check_usable(cleaned, *self.made_of)
        return cleaned
