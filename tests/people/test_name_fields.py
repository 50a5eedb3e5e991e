"""Names that people give to things: what looks the same is the same, and no name is invisible."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages

import pytest
from django import forms
from django.core.exceptions import ValidationError

from core.people.forms.fields import NameCharField
from tools.scripts.checks.sources import own_apps


def test_a_name_is_kept_without_hidden_characters_and_is_not_made_of_them_alone():
    field = NameCharField()
    assert field.clean(" Zoe\u0308\u200b's \u202egame ") == "Zoë's game"
    with pytest.raises(ValidationError, match="required"):
        field.clean("\u200b\u2060")


def of_all_forms(kind: type[forms.BaseForm]) -> Iterator[type[forms.BaseForm]]:
    for one in kind.__subclasses__():
        yield one
        yield from of_all_forms(one)


def test_every_form_reads_names_so():
    own = own_apps()
    for config in own:
        for module in walk_packages([config.path], f"{config.name}."):
            if module.name.startswith(f"{config.name}.forms"):
                import_module(module.name)
    ours = tuple(f"{one.name}." for one in own)
    fields = {
        form.__qualname__: getattr(form, "base_fields", {}).get("name")
        for form in of_all_forms(forms.BaseForm)
        if form.__module__.startswith(ours)
    }
    named = {form: type(field) for form, field in fields.items() if isinstance(field, forms.CharField)}
    assert len(named) > 15
    assert set(named.values()) == {NameCharField}
