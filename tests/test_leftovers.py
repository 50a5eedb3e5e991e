from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.factories import make_vectors
from tests.leftovers import left_over


def test_what_is_left_in_the_temporary_folder_is_noticed():
    before = left_over()
    folder = Path(tempfile.mkdtemp())
    with tempfile.NamedTemporaryFile():
        assert left_over()[len(before) : len(before) + 1] == [folder]
    assert left_over() == [*before, folder]
    folder.rmdir()
    assert left_over() == before


@pytest.mark.django_db
def test_word_vectors_of_tests_leave_nothing_there():
    before = left_over()
    assert make_vectors() == make_vectors()
    assert left_over() == before
