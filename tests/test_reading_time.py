"""A file whose reading does not end: the import ends, says so, and keeps what it had taken."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from string import ascii_lowercase, digits
from threading import Event
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection

from core.images.models import ImportOutcome
from core.images.services import import_jobs
from core.images.services import imports as image_imports
from core.jobs.models import JobState
from core.languages.models import Language
from crosslens_metrics.formats.problems import FileProblemsError
from crosslens_metrics.formats.recognition import captions_of
from office.imports.services import file_imports, previews
from research.inference.models import ModelCaption
from research.inference.services import captions as caption_imports
from research.selection.rules.tables import TableError, data_of
from sxs_eval.formats.plans import parse_scores
from tests.factories import NOW, make_collection, make_project
from tests.images.image_files import image_file
from tests.imports.sent import confirmed, run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]

TOO_LONG = re.compile("Reading (a|the) file went on for more than")


def hang(*_given: Any, **_named: Any) -> None:
    # The time is over here, however slow the machine was before.
    assert 0 < signal.setitimer(signal.ITIMER_REAL, 0.01)[0] <= import_jobs.MAX_SILENT_S
    Event().wait(5)
    pytest.fail("Nothing interrupted the reader.")


@pytest.mark.parametrize(("module", "reader"), [(previews, "recognise"), (image_imports, "plan_of_path")])
def test_an_import_ends_where_its_files_take_too_long_to_read(module, reader, monkeypatch):
    monkeypatch.setattr(module, reader, hang)
    project = make_project()
    wish = {"collection": make_collection(0, project=project).slug}
    uploads = [SimpleUploadedFile("a.jpg", image_file())]
    job = file_imports.start_upload(project=project, uploads=uploads, wish=wish, by=project.created_by)
    for minute in range(4):
        if file_imports.waits_for_answers(job):
            file_imports.confirm(job=job)
        run(job, now=NOW + timedelta(minutes=minute))

    assert job.state == JobState.FAILED
    assert TOO_LONG.match(job.error)


def test_what_was_taken_before_a_reader_hung_is_kept(monkeypatch):
    collection = make_collection(2)
    first, second = collection.entries.values_list("key", flat=True)
    monkeypatch.setattr(caption_imports, "LINES_PER_TRANSACTION", 1)

    def read_one_line(file: Any, **options: Any) -> Iterator[Any]:
        yield next(captions_of(file))
        hang()

    lines = f'{{"image": "{first}", "caption": "a"}}\n{{"image": "{second}", "caption": "b"}}\n'
    job = confirmed(lines.encode(), model="m", language="en", collection=collection.slug)
    monkeypatch.setattr(caption_imports, "captions_of", read_one_line)
    states: list[str] = []
    while not states or states[-1] != JobState.FAILED:
        states.append(run(job, now=NOW + timedelta(minutes=len(states))).state)

    assert states == [JobState.RUNNING, JobState.RUNNING, JobState.FAILED]
    assert TOO_LONG.match(job.error)
    assert [row.outcome for row in job.parts.get().rows.all()] == [ImportOutcome.ADDED]
    assert [caption.text for caption in ModelCaption.objects.all()] == ["a"]


MANY = ["".join(letters) for letters in product(ascii_lowercase + digits, repeat=3)]
COLUMNS = f"language,model,{','.join(MANY)}\nde,m,1\n".encode()
LANGUAGES = json.dumps(dict.fromkeys(MANY, 1)).replace("}", ', "zzz": 1}').encode()
WAITED_FOR = {
    "columns": (lambda: parse_scores(COLUMNS), FileProblemsError),
    "languages": (lambda: data_of(LANGUAGES), TableError),
}


@pytest.mark.parametrize("name", WAITED_FOR)
def test_names_are_compared_in_one_pass_while_a_page_waits(name, monkeypatch):
    # In one pass that is a tenth of it; each name compared with each takes half a minute.
    monkeypatch.setattr(import_jobs, "MAX_SILENT_S", 5)
    read, error = WAITED_FOR[name]
    with pytest.raises(error), import_jobs.limited_time():
        read()


def test_what_the_database_does_is_not_interrupted_and_what_follows_is():
    def ring(execute: Any, *query: Any) -> Any:
        signal.raise_signal(signal.SIGALRM)
        return execute(*query)

    with import_jobs.limited_time():
        with connection.execute_wrapper(ring):
            assert Language.objects.exists()
        with pytest.raises(import_jobs.ReadingTimeError):
            Event().wait(5)


def test_the_limit_counts_from_the_last_result_and_not_outside_of_an_import(monkeypatch):
    monkeypatch.setattr(import_jobs, "MAX_SILENT_S", 60)
    with import_jobs.limited_time():
        signal.setitimer(signal.ITIMER_REAL, 1)
        import_jobs.restart_time()
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 50
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    import_jobs.restart_time()
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
