"""What stands in a line of the log, and what never does."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.decorators import login_not_required
from django.db import IntegrityError, connection, transaction
from django.http import HttpResponse, StreamingHttpResponse
from django.urls import include, path

from core.allocation.tasks import sweep_leases
from core.people.models import User
from office.operations.logs import NOTHING, ContextFilter, LogContext, doing, formatter
from office.operations.signals import tasks

CAPTION = "Ein Hund läuft über die Wiese"
log = logging.getLogger("operations.tested")


def say(request: Any) -> HttpResponse:
    log.warning("Said in between.")
    return HttpResponse("said")


def stream(request: Any) -> StreamingHttpResponse:
    def rows() -> Iterator[bytes]:
        log.warning("Said while it is sent.")
        yield b"row"

    return StreamingHttpResponse(rows())


def fail(request: Any) -> HttpResponse:
    raise ValueError("It broke.")


def enter(request: Any, token: str) -> HttpResponse:
    return HttpResponse("in")


def refuse(request: Any) -> HttpResponse:
    """What PostgreSQL says of a row that it refuses: the row, with all that is in it."""
    raise IntegrityError(f'new row violates "caption_not_empty"\nDETAIL:  Failing row contains (7, {CAPTION}).')


urlpatterns = [
    *(path(f"{view.__name__}/", login_not_required(view), name=view.__name__) for view in (say, stream, fail, refuse)),
    path("enter/<str:token>/", login_not_required(enter), name="enter"),
    path("", include("config.urls")),
]

pytestmark = pytest.mark.django_db


class Lines:
    def __init__(self, log_format: str) -> None:
        self.stream = StringIO()
        self.handler = logging.StreamHandler(self.stream)
        self.handler.setFormatter(formatter(log_format))
        self.handler.addFilter(ContextFilter())

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(json.loads, self.text.splitlines())

    def of(self, logger: str) -> list[dict[str, Any]]:
        return [line for line in self if line["logger"] == logger]


@pytest.fixture(params=["json"])
def lines(request: pytest.FixtureRequest, settings: Any) -> Iterator[Lines]:
    """What is logged during the test, as a line of production has it."""
    settings.ROOT_URLCONF = __name__
    lines = Lines(request.param)
    doing.set(NOTHING)
    root, ours = logging.getLogger(), logging.getLogger("operations")
    before = ours.level
    root.addHandler(lines.handler)
    ours.setLevel(logging.INFO)
    yield lines
    root.removeHandler(lines.handler)
    ours.setLevel(before)
    doing.set(NOTHING)


def test_a_line_is_an_object_with_time_level_logger_and_message(lines):
    log.warning("Found %s.", "something", extra={"secret": "not given", "duration_ms": 5})

    (line,) = lines
    assert line.pop("time").endswith("+00:00")
    said = {"level": "WARNING", "logger": "operations.tested", "message": "Found something."}
    assert line == said | {"duration_ms": 5}


def test_every_request_has_a_line_without_its_query(lines, client):
    client.get("/say/?email=ann@example.org")

    (line,) = lines.of("operations.access")
    assert (line["method"], line["path"], line["status"], line["view"]) == ("GET", "/say/", 200, "say")
    assert line["duration_ms"] >= 0
    assert "ann@example.org" not in lines.text


@pytest.mark.parametrize("given", ["0123abcd-req.7", "x" * 64])
def test_a_well_formed_request_id_goes_through_everything(lines, client, given):
    answer = client.get("/say/", headers={"X-Request-ID": given})

    assert answer["X-Request-ID"] == given
    assert {line["request_id"] for line in lines} == {given}
    assert len(list(lines)) == 2


@pytest.mark.parametrize("given", ["", "short", "x" * 65, "a b c d e f", "injected\tfield", "ümlaut-ümlaut"])
def test_any_other_is_replaced_by_a_new_one_for_each_request(lines, client, given):
    ids = {client.get("/say/", headers={"X-Request-ID": given})["X-Request-ID"] for _ in range(2)}

    assert len(ids) == 2
    assert given not in ids


def test_what_is_logged_while_a_download_is_sent_is_of_its_request_and_the_time_is_to_its_end(lines, client):
    answer = client.get("/stream/", headers={"X-Request-ID": "download-1"})
    assert lines.of("operations.access") == []
    assert b"".join(answer.streaming_content) == b"row"
    answer.close()

    assert [line["request_id"] for line in lines] == ["download-1"] * 2
    assert lines.of("operations.access")[0]["status"] == 200


@pytest.mark.long(reason="at least three others run each of its lines")
def test_what_lets_somebody_in_is_never_told(lines, client):
    client.get("/enter/oWQ3sEcReTtOkEn/")
    client.get("/entre/oWQ3sEcReTtOkEn/")
    client.get("/enter/oWQ3sEcReTtOkEn")

    assert [line["path"] for line in lines.of("operations.access")] == ["/enter/…/", "/entre/…", "/enter/…"]
    assert "oWQ3sEcReTtOkEn" not in lines.text


@pytest.mark.parametrize("lines", ["json", "text"], indirect=True)
def test_an_error_is_told_with_its_traceback_and_nothing_of_what_was_written(lines, client):
    client.raise_request_exception = False
    client.get("/fail/?q=secret")
    assert client.get("/refuse/").status_code == 500

    assert "ValueError: It broke." in lines.text
    assert "test_logs.py" in lines.text
    assert "caption_not_empty" in lines.text
    assert CAPTION not in lines.text
    assert "secret" not in lines.text


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_real_refusal_of_the_database_is_told_without_the_row(lines):
    User.objects.create(username=CAPTION[:20])
    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        User.objects.create(username=CAPTION[:20])

    log.error("It was refused.", exc_info=refused.value)

    # The control: where the database says the row, the error has it.
    assert connection.vendor == "sqlite" or CAPTION[:20] in str(refused.value)
    assert "It was refused." in lines.text
    assert CAPTION[:20] not in lines.text


@pytest.mark.long(reason="at least three others run each of its lines")
def test_whoever_is_signed_in_is_told_by_number_and_not_by_name(lines, client):
    ann = User.objects.create_user("ann-with-a-name", "ann@example.org", "pass")
    client.force_login(ann)
    client.get("/profile/")
    client.logout()
    client.get("/accounts/login/")

    assert [line.get("user_id") for line in lines.of("operations.access")] == [ann.pk, None]
    assert "ann" not in lines.text


def test_a_task_carries_the_request_that_asked_for_it(lines):
    headers: dict[str, Any] = {}
    doing.set(LogContext(request_id="asked-in-browser"))
    tasks._pass_on(headers=headers)
    doing.set(NOTHING)
    task = sweep_leases
    task.push_request(**headers)
    try:
        tasks._begin(task=task, task_id="task-1")
        log.warning("At it.")
        further: dict[str, Any] = {}
        tasks._pass_on(headers=further)
        tasks._end(task=task, state="SUCCESS", retval=None)
    finally:
        task.pop_request()
    log.warning("Over.")

    at_it, over = lines
    assert (at_it["request_id"], at_it["task_id"]) == ("asked-in-browser", "task-1")
    assert at_it["task"] == "allocation.tasks.sweep_leases"
    assert further == headers == {"request_id": "asked-in-browser"}
    assert "request_id" not in over
    assert "task" not in over


def test_a_task_that_failed_is_told_as_celery_does_without_what_was_written(lines):
    error = IntegrityError(f"refused\nDETAIL:  Failing row contains ({CAPTION}).")
    told = {"name": "a.task", "id": "1", "description": "raised unexpected", "exc": repr(error)}
    logging.getLogger("celery.app.trace").error(
        "Task %(name)s[%(id)s] %(description)s: %(exc)s", told, exc_info=error, extra={"data": {"args": [CAPTION]}}
    )

    assert "a.task" in lines.text
    assert CAPTION not in lines.text
