"""The column of a name that files and people spell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models

from crosslens_metrics.formats.names import readable_name

if TYPE_CHECKING:
    Text = models.CharField[str, str]
else:
    Text = models.CharField


class NameField(Text):
    """A text that is stored and looked for in the one spelling in which names are compared; see `readable_name`."""

    def deconstruct(self) -> Any:
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.CharField", args, kwargs

    def get_prep_value(self, value: Any) -> Any:
        prepared = super().get_prep_value(value)
        return readable_name(prepared) if isinstance(prepared, str) else prepared

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        value = super().pre_save(model_instance, add)
        if isinstance(value, str):
            value = readable_name(value)
            setattr(model_instance, self.attname, value)
        return value
