"""Parts of forms about assigning work, whatever the work is."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from django import forms
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

MAX_REPLICATION = 20
MAX_BATCH_SIZE = 200
MIN_LEASE_H, MAX_LEASE_H = Decimal("0.25"), 24 * 90


def batch_size_field(*, label: StrPromise, initial: int, help_text: StrPromise) -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=1, max_value=MAX_BATCH_SIZE, initial=initial, help_text=help_text)


def lease_field(*, initial: int, help_text: StrPromise) -> forms.DecimalField:
    return forms.DecimalField(
        label=_("Hours to finish a batch"),
        min_value=MIN_LEASE_H,
        max_value=MAX_LEASE_H,
        decimal_places=2,
        initial=initial,
        help_text=help_text,
    )


def is_open_field() -> forms.BooleanField:
    return forms.BooleanField(
        label=_("Allow new batches"),
        required=False,
        help_text=_("When this is off, people can finish their batches but get no new ones."),
    )


class BatchesForm(forms.Form):
    """A form with a `lease_field` of the name `lease_h`."""

    def lease_s(self, *, before: int | None = None) -> int:
        """Return the lease in seconds. If unchanged it stays `before`, however the page rounded it to hours."""
        if before is not None and "lease_h" not in self.changed_data:
            return before
        return int(self.cleaned_data["lease_h"] * 3600)


def hours(seconds: int) -> Decimal:
    whole, rest = divmod(seconds, 3600)
    return Decimal(whole) if not rest else (Decimal(seconds) / 3600).quantize(Decimal("0.01"))
