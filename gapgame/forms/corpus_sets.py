"""Forms to make an item set or a task for machines from a corpus."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from corpora.models import CorpusBuild, FileRole
from gapgame.models import ItemSet, Split
from gapgame.rules.corpus_items import Choice
from gapgame.rules.task import HELD_OUT_SPLIT, TEST, VALID
from gapgame.rules.turns import SPLITS
from languages.models import Language
from parallel_text.config import LARGEST_SEED
from people.forms.names import NameCharField

MOST_ITEMS = 20_000
LARGEST_PART = 10**6


class CorpusSetForm(forms.Form):
    name = NameCharField(label=_("Name of the set"), max_length=ItemSet._meta.get_field("name").max_length)
    least = forms.TypedChoiceField(
        label=_("Languages that share the sense, at least"), choices=Split.choices, coerce=int, initial=1
    )
    per_word = forms.IntegerField(label=_("Sentences of each word, at most"), min_value=1, max_value=1000, initial=5)
    most = forms.IntegerField(label=_("Sentences in all, at most"), min_value=1, max_value=MOST_ITEMS, initial=500)
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=LARGEST_SEED,
        initial=0,
        help_text=_("The same seed draws the same sentences."),
    )

    def choice(self) -> Choice:
        return Choice(**{name: self.cleaned_data[name] for name in ("least", "per_word", "most", "seed")})


class TaskForm(forms.Form):
    language = forms.ChoiceField(label=_("Task"), required=False)
    valid = forms.IntegerField(label=_("Instances for validation"), min_value=1, max_value=LARGEST_PART, initial=5000)
    test = forms.IntegerField(label=_("Instances for testing"), min_value=1, max_value=LARGEST_PART, initial=5000)
    reserve = forms.IntegerField(
        label=_("Images of each sense reserved for each of the two, in percent"), min_value=1, max_value=40, initial=10
    )
    split = forms.ChoiceField(
        label=_("Split that they come from"), choices=[(name, name) for name in SPLITS], initial=HELD_OUT_SPLIT
    )
    seed = forms.IntegerField(label=_("Seed"), min_value=0, max_value=LARGEST_SEED, initial=0)

    def __init__(self, *args: Any, build: CorpusBuild, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        tags = build.files.filter(role=FileRole.TEXT).values("language")
        names = {language.tag: language.name for language in Language.objects.filter(tag__in=tags)}
        into = _("Lexical translation: %(language)s")
        choices = [(tag, into % {"language": name}) for tag, name in sorted(names.items())]
        cast("forms.ChoiceField", self.fields["language"]).choices = [("", _("Fill in the blank")), *choices]

    def options(self) -> dict[str, Any]:
        """Return the arguments of `task_archive`."""
        given = self.cleaned_data
        return {
            "language": given["language"],
            "sizes": {VALID: given["valid"], TEST: given["test"]},
            "reserve_percent": given["reserve"],
            "seed": given["seed"],
            "split": given["split"],
        }
