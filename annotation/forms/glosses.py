"""The form with which a manager has captions translated into English."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.selectors.glosses import GlossTranslator, gloss_translators
from core.languages.models import Language
from core.people.models import Project


class GlossForm(forms.Form):
    """Which translator, for which captions."""

    translator = forms.ChoiceField(
        label=_("Translator"),
        widget=forms.RadioSelect,
        error_messages={"invalid_choice": _("This translator does not translate from this language into English.")},
    )
    keeps_up = forms.BooleanField(label=_("Also translate captions as they arrive"), required=False)
    all_languages = forms.BooleanField(
        label=_("In every language of the project that this translator reads"), required=False
    )

    def __init__(self, *args: Any, project: Project, language: Language, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._project, self._language = project, language
        self._known = {str(one.translator.pk): one for one in gloss_translators(project) if language.pk in one.reads}
        field = self.fields["translator"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(key, f"{one.translator.name}. {one.place}") for key, one in self._known.items()]

    @property
    def has_translators(self) -> bool:
        return bool(self._known)

    def asked(self) -> dict[str, Any]:
        """Return what the service needs. Call it on a valid form."""
        given = self.cleaned_data
        by_whom: GlossTranslator = self._known[given["translator"]]
        languages = [self._language]
        if given["all_languages"]:
            of_project = Language.objects.filter(pk__in=self._project.rounds.values("language"))
            languages = list(of_project.filter(pk__in=by_whom.reads))
        return {"languages": languages, "by_whom": by_whom, "keeps_up": given["keeps_up"]}
