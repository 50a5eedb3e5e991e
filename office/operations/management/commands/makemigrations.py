"""`makemigrations` without what no database knows of a field, so that a new label or help text needs no migration."""

from __future__ import annotations

from django.core.management.commands import makemigrations
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.questioner import MigrationQuestioner
from django.db.migrations.state import ProjectState


class AutodetectorWithoutTexts(MigrationAutodetector):
    def __init__(
        self, from_state: ProjectState, to_state: ProjectState, questioner: MigrationQuestioner | None = None
    ) -> None:
        for state in (from_state, to_state):
            for model in state.models.values():
                for field in model.fields.values():
                    field.choices, field.help_text = None, ""
        super().__init__(from_state, to_state, questioner)


class Command(makemigrations.Command):
    autodetector = AutodetectorWithoutTexts
