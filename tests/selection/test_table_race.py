"""Managers who replace a language table at the same moment never lose a change of each other unseen."""

from __future__ import annotations

import threading

import pytest

from core.people.models import AuditEntry, Project
from research.selection.models import LanguageTable
from research.selection.rules.tables import shipped_table
from research.selection.selectors.tables import checked_table, table_of
from research.selection.services.tables import TableChangedError, replace_table
from tests.concurrency import together, together_with_errors
from tests.factories import NOW

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]
TAGS = ("bn", "te", "hi", "fr")


def changed(tag: str) -> dict[str, object]:
    """What a manager saves who has the shipped table before them and changes one language."""
    return dict(shipped_table().as_entries()) | {tag: {"region": ["IS"]}}


def languages_changed(project: Project) -> set[str]:
    table = table_of(project)
    return {tag for tag in TAGS if table.areas[tag].region == {"IS"}}


def test_of_four_changes_based_on_the_same_version_one_is_saved_and_three_are_told(project):
    seen = table_of(project).version

    def save(tag: str) -> LanguageTable | None:
        table = checked_table(changed(tag))
        return replace_table(project=project, table=table, note="", by=None, now=NOW, expected=seen)

    outcomes = together_with_errors(save, TAGS)

    assert sum(isinstance(one, TableChangedError) for one in outcomes) == 3
    [made] = [one for one in outcomes if isinstance(one, LanguageTable)]
    assert (made.number, LanguageTable.objects.count()) == (1, 1)
    assert len(languages_changed(project)) == 1
    assert AuditEntry.objects.filter(action="language-table.replaced").count() == 1


def test_versions_that_are_asked_for_at_once_get_numbers_of_their_own(project):
    def save(tag: str) -> LanguageTable | None:
        return replace_table(project=project, table=checked_table(changed(tag)), note="", by=None, now=NOW)

    made = together(save, TAGS)

    assert sorted(one.number for one in made if one) == [1, 2, 3, 4]


def test_control_without_the_version_expected_the_last_takes_back_the_others_unseen(project):
    all_have_read = threading.Barrier(len(TAGS))

    def naive(tag: str) -> LanguageTable | None:
        entries = dict(table_of(project).as_entries())
        all_have_read.wait(30)
        table = checked_table(entries | {tag: {"region": ["IS"]}})
        return replace_table(project=project, table=table, note="", by=None, now=NOW)

    together(naive, TAGS)

    assert LanguageTable.objects.count() == 4
    assert len(languages_changed(project)) == 1, "three changes are lost"
