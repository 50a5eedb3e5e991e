"""What is asked of the pages of a corpus: which words, sentences and candidates, and what is struck out."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from corpora.models import CorpusExclusion, ExclusionKind
from parallel_text.looking import KEPT

LONGEST = 200
SORTS = [
    ("occurrences", _("Occurrences")),
    ("word", _("Alphabet")),
    ("imageability", _("Imageability")),
    ("instances", _("Occurrences with a sense")),
    ("senses", _("Senses")),
]
MATCHES = [("part", _("contain")), ("prefix", _("begin with"))]
KINDS = [
    ("noun", _("Noun")),
    ("verb", _("Verb")),
    ("adjective", _("Adjective")),
    ("noun_phrase", _("Noun phrase")),
    ("verb_phrase", _("Verb phrase")),
]
REASONS = [
    (KEPT, _("Kept")),
    ("too_rare", _("Occurs too rarely")),
    ("no_imageability", _("Imageability unknown")),
    ("not_imageable", _("Imageability too low")),
    ("excluded", _("Struck out")),
]
SOURCES = {
    "rated": _("rated"),
    "vectors": _("from word vectors"),
    "mean": _("mean of its words"),
    "none": _("unknown"),
}


class Asked(forms.Form):
    """A form whose answers stand in the address. What nobody can have meant is as if it were not there."""

    def asked(self) -> dict[str, Any]:
        self.is_valid()
        return {name: self.cleaned_data.get(name) or self.fields[name].initial for name in self.fields}


class WordsForm(Asked):
    match = forms.ChoiceField(label=_("Words that"), choices=MATCHES, required=False, initial="part")
    search = forms.CharField(label=_("Search"), max_length=LONGEST, required=False, initial="")
    sort = forms.ChoiceField(label=_("Sort by"), choices=SORTS, required=False, initial="occurrences")


class CandidatesForm(Asked):
    search = forms.CharField(label=_("Begins with"), max_length=LONGEST, required=False, initial="")
    kind = forms.ChoiceField(label=_("Kind"), choices=[("", _("All")), *KINDS], required=False, initial="")
    reason = forms.ChoiceField(label=_("Reason"), choices=[("", _("All")), *REASONS], required=False, initial="")


class InstancesForm(Asked):
    n = forms.IntegerField(min_value=0, max_value=100, required=False, initial=0)
    sense = forms.CharField(max_length=80, required=False, initial="")


class ExclusionForm(forms.Form):
    """A word, a sense of it, or an image; `back` are the words of the page that it was struck out on."""

    kind = forms.ChoiceField(choices=ExclusionKind.choices)
    word = forms.CharField(max_length=CorpusExclusion._meta.get_field("word").max_length, required=False, strip=False)
    synset = forms.CharField(
        max_length=CorpusExclusion._meta.get_field("synset").max_length, required=False, strip=False
    )
    image = forms.CharField(max_length=CorpusExclusion._meta.get_field("image").max_length, required=False, strip=False)
    reason = forms.CharField(max_length=500, required=False)

    def clean(self) -> dict[str, Any]:
        data = dict(self.cleaned_data)
        wanted = {"word": ("word",), "sense": ("word", "synset"), "image": ("image",)}.get(data.get("kind", ""), ())
        for name in ("word", "synset", "image"):
            if name not in wanted:
                data[name] = ""
            elif not data.get(name):
                self.add_error(name, _("This is missing."))
        return data
