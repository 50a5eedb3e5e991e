"""What managers send to build a corpus: its name, files and settings."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from corpora.models import CorpusBuild, CorpusFile, FileRole, Side
from corpora.rules.corpus_files import ENGLISH
from corpora.services.corpus_files import About
from images.forms import SeveralFilesField
from languages.models import Language
from parallel_text.config import (
    INVENTORY_FORMATS,
    LARGEST_SEED,
    TEXT_FORMATS,
    AlignSettings,
    CandidateSettings,
    DictionarySettings,
)
from people.forms.names import NameCharField

ALIGNERS = ("eflomal", "fast_align")
FORMAT_NAMES = {
    "tsv": "TSV",
    "tmx": "TMX",
    "opus": "OPUS (ZIP)",
    "moses": "Moses",
    "omw": "Open Multilingual Wordnet",
    "wordnet": "WordNet 3.0",
    "lmf": "LMF (XML)",
    "babelnet": "BabelNet",
}


class CorpusForm(forms.Form):
    """A new corpus."""

    name = NameCharField(label=_("Name"), max_length=CorpusBuild._meta.get_field("name").max_length)


class KindForm(forms.Form):
    """What files are."""

    role = forms.ChoiceField(label=_("What it is"), choices=FileRole.choices)
    language = forms.ChoiceField(
        label=_("Language"), required=False, help_text=_("Of parallel text, the language besides English.")
    )
    format = forms.ChoiceField(label=_("Format"), required=False)
    nothing: Any = "–"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        languages = {ENGLISH: _("English")} | {one.tag: one.name for one in Language.objects.all()}
        self._offer("language", languages)
        self._offer("format", {name: FORMAT_NAMES[name] for name in (*TEXT_FORMATS, *INVENTORY_FORMATS)})

    def _offer(self, name: str, choices: dict[str, Any]) -> None:
        cast("forms.ChoiceField", self.fields[name]).choices = [("", self.nothing), *choices.items()]

    @property
    def about(self) -> About:
        return About(**{name: self.cleaned_data.get(name, "") for name in ("role", "language", "side", "format")})


class AboutForm(KindForm):
    """What one file is."""

    side = forms.ChoiceField(
        label=_("Side of a Moses pair"), required=False, choices=[("", _("Neither")), *Side.choices]
    )

    @staticmethod
    def initial_of(file: CorpusFile) -> dict[str, str]:
        return {"role": file.role, "language": file.language, "side": file.side, "format": file.format}


class FilesForm(KindForm):
    """Files of a corpus. What is left open is guessed from their names."""

    uploads = SeveralFilesField(
        label=_("Files"),
        help_text=_("Their names can tell what they are, such as tatoeba.es.tsv or senses.en.tsv.gz."),
    )
    nothing = _("As the name says")
    field_order = ("uploads", "role", "language", "format")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["role"].required = False
        self._offer("role", dict(FileRole.choices))


class SettingsForm(forms.Form):
    """The thresholds of a corpus, its seed and its aligner."""

    threshold = forms.FloatField(
        label=_("Least imageability"),
        min_value=100,
        max_value=700,
        help_text=_("From 100 to 700. Words that are rated lower are left out."),
    )
    occurrences = forms.IntegerField(
        label=_("Least occurrences"), min_value=1, max_value=1_000_000, help_text=_("Of a word in the English text.")
    )
    share = forms.FloatField(
        label=_("Least share of a translation"),
        min_value=0,
        max_value=1,
        help_text=_("Of all alignments of the word, from 0 to 1. The dictionary leaves rarer translations out."),
    )
    seed = forms.IntegerField(label=_("Seed"), min_value=0, max_value=LARGEST_SEED)
    program = forms.ChoiceField(label=_("Aligner"), required=False)

    def __init__(self, *args: Any, build: CorpusBuild, **kwargs: Any) -> None:
        self.stored = build.configuration
        super().__init__(*args, **kwargs | {"initial": self._initial()})
        program = cast("forms.ChoiceField", self.fields["program"])
        current = self._initial()["program"]
        names = [*ALIGNERS, *([current] if current and current not in ALIGNERS else [])]
        program.choices = [("", _("The first that is found")), *((name, name) for name in names)]

    def _initial(self) -> dict[str, Any]:
        candidates, defaults = self.stored.get("candidates", {}), CandidateSettings()
        return {
            "threshold": candidates.get("threshold", defaults.threshold),
            "occurrences": candidates.get("occurrences", defaults.occurrences),
            "share": self.stored.get("dictionary", {}).get("share", DictionarySettings().share),
            "seed": self.stored.get("seed", 0),
            "program": self.stored.get("align", {}).get("program", AlignSettings().program),
        }

    @property
    def configuration(self) -> dict[str, Any]:
        values = self.cleaned_data
        return self.stored | {
            "seed": values["seed"],
            "candidates": {"threshold": values["threshold"], "occurrences": values["occurrences"]},
            "dictionary": {"share": values["share"]},
            "align": {"program": values["program"]},
        }
