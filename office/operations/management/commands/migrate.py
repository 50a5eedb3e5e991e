from __future__ import annotations

from django.core.management.commands import migrate

from office.operations.management.commands.makemigrations import AutodetectorWithoutTexts


class Command(migrate.Command):
    """`migrate`, which says whether the models have changed by the same comparison as `makemigrations`."""

    autodetector = AutodetectorWithoutTexts
