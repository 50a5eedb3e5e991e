"""`makemigrations` without the choices of fields: no database knows their labels, so a new label needs no migration."""

from __future__ import annotations

from django.core.management.commands import makemigrations
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.questioner import MigrationQuestioner
from django.db.migrations.state import ProjectState


class AutodetectorWithoutChoices(MigrationAutodetector):
    def __init__(
        self, from_state: ProjectState, to_state: ProjectState, questioner: MigrationQuestioner | None = None
    ) -> None:
        for state in (from_state, to_state):
            for model in state.models.values():
                for field in model.fields.values():
                    field.choices = None
        super().__init__(from_state, to_state, questioner)


class Command(makemigrations.Command):
    autodetector = AutodetectorWithoutChoices
