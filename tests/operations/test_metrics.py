"""What Prometheus is told, whom it is told, and that all processes are counted."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.utils import timezone

from core.images.models import ImportJob, ImportKind
from core.people.models import Delivery, Project, User, Webhook
from office.operations.selectors import waiting
from office.operations.selectors.broker import UnreachableError
from office.operations.services import metrics
from office.operations.services.counters import ProcessNumbers
from tests.commands import run_python
from tests.servers import ROOT

TOKEN = "mQ8sT2vX5zR7bN1cK4dF"


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    waiting.levels_at.cache_clear()


def samples() -> dict[str, float]:
    lines = [line for line in metrics.exposition().decode().splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, _blank, value in (line.rpartition(" ") for line in lines)}


def difference(before: dict[str, float]) -> dict[str, float]:
    return {name: now - before.get(name, 0.0) for name, now in samples().items()}


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.django_db
def test_requests_are_counted_by_the_name_of_their_address(client):
    before = samples()

    client.get("/healthz")
    client.get("/nowhere/at/all/")
    client.generic("INVENTED", "/nowhere/")

    grown = difference(before)
    assert grown['crosslens_requests_total{method="GET",status="200",view="health-show"}'] == 1
    assert grown['crosslens_requests_total{method="GET",status="404",view="unresolved"}'] == 1
    assert not any("INVENTED" in name or "nowhere" in name for name in grown)
    assert grown['crosslens_request_seconds_count{view="health-show"}'] == 1


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.django_db
def test_what_the_database_refuses_is_counted_once(client):
    before = samples()

    with pytest.raises(DatabaseError), connection.cursor() as cursor:
        cursor.execute("SELECT * FROM nothing_of_that_name")

    grown = difference(before)
    assert sum(more for name, more in grown.items() if name.startswith("crosslens_database_errors_total")) == 1


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.django_db
def test_what_waits_is_told_with_how_long_the_oldest_has_waited():
    now = timezone.now()
    job = ImportJob.objects.create(kind=ImportKind.IMAGES, source_name="lions.zip")
    ImportJob.objects.filter(pk=job.pk).update(created_at=now - timedelta(minutes=10))
    ann = User.objects.create_user("ann")
    project = Project.objects.create(slug="lions", name="Lions", created_by=ann)
    hook = Webhook.objects.create(
        project=project, url="https://example.org/", secret="s", created_at=now, created_by=ann
    )
    for due in (now - timedelta(seconds=30), now + timedelta(hours=1)):
        Delivery.objects.create(webhook=hook, event="round.closed", payload={}, due_at=due, created_at=now)

    figures = samples()

    assert figures['crosslens_jobs_waiting{kind="imports"}'] == 1
    assert 600 <= figures['crosslens_oldest_waiting_seconds{kind="imports"}'] < 700
    # One is to be tried again in an hour; it does not wait for us.
    assert figures['crosslens_jobs_waiting{kind="deliveries"}'] == 1
    assert figures['crosslens_jobs_waiting{kind="releases"}'] == 0
    assert figures['crosslens_queue_messages{queue="default"}'] >= 0


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.django_db
def test_the_same_figures_are_given_for_some_seconds(django_assert_num_queries):
    samples()
    with django_assert_num_queries(0):
        samples()


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.django_db
def test_figures_cost_a_few_queries_however_much_there_is(django_assert_max_num_queries):
    with django_assert_max_num_queries(12):
        samples()


@pytest.mark.django_db
def test_without_a_broker_or_database_the_counts_are_still_told(monkeypatch):
    def broken(*_arguments: Any) -> Any:
        raise UnreachableError

    def refused(*_arguments: Any) -> Any:
        raise DatabaseError("gone")

    monkeypatch.setattr(waiting, "messages_waiting", broken)
    monkeypatch.setattr(waiting, "_jobs", refused)
    metrics.count_request(view="health-show", method="GET", status=200, duration_s=0.1)

    figures = samples()

    assert not any(name.startswith(("crosslens_queue_messages", "crosslens_jobs_waiting")) for name in figures)
    assert any(name.startswith("crosslens_requests_total") for name in figures)


@pytest.mark.parametrize(
    ("address", "token", "sent", "status"),
    [
        *(("10.0.0.7", "", "", 200), ("127.0.0.1", "", "", 200), ("8.8.8.8", "", "", 404)),
        *(("8.8.8.8", TOKEN, f"Bearer {TOKEN}", 200), ("8.8.8.8", TOKEN, "Bearer another", 404)),
        *(("8.8.8.8", TOKEN, f"Basic {TOKEN}", 404), ("8.8.8.8", TOKEN, "", 404)),
        *(("10.0.0.7", TOKEN, "", 404), ("8.8.8.8", "", "Bearer ", 404)),
    ],
)
@pytest.mark.django_db
def test_metrics_are_for_private_addresses_or_for_a_token(client, settings, address, token, sent, status):
    settings.METRICS_TOKEN = token

    answer = client.get("/metrics", REMOTE_ADDR=address, headers={"Authorization": sent})

    assert answer.status_code == status
    assert ("crosslens_" in answer.content.decode()) is (status == 200)
    assert status == 200 or "private addresses" in answer.content.decode()


@pytest.mark.django_db
def test_through_a_proxy_nobody_sees_them_without_the_token(client, settings):
    """Also not from a private address: containers see people outside under one."""
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1

    def status(forwarded: str, **headers: str) -> int:
        sent = {"X-Forwarded-For": forwarded, **headers}
        return int(client.get("/metrics", REMOTE_ADDR="10.0.0.2", headers=sent).status_code)

    assert {status(forwarded) for forwarded in ("8.8.8.8", "10.0.0.7", "10.0.0.7, 8.8.8.8", "")} == {404}
    settings.METRICS_TOKEN = TOKEN
    assert status("8.8.8.8", Authorization=f"Bearer {TOKEN}") == 200


COUNTER = """
import sys
sys.path.insert(0, {root!r})
from pathlib import Path
from office.operations.services.counters import ProcessNumbers
slots = ProcessNumbers(Path({folder!r}))
print(f"{{slots.number()}} {{slots.number()}}\\n", end="", flush=True)
sys.stdin.read()
"""


def counting(folder: Path) -> tuple[subprocess.Popen[str], int]:
    program = COUNTER.format(root=str(ROOT), folder=str(folder))
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    first, second = map(int, process.stdout.readline().split())
    assert first == second
    return process, first


@pytest.mark.process
def test_processes_have_different_numbers_and_the_next_has_that_of_one_that_was_killed(tmp_path):
    mine = ProcessNumbers(tmp_path).number()
    first, of_first = counting(tmp_path)
    second, of_second = counting(tmp_path)
    first.kill()
    first.wait()
    third, of_third = counting(tmp_path)
    for process in (second, third):
        process.kill()
        process.wait()

    assert len({mine, of_first, of_second}) == 3
    assert of_third == of_first


@pytest.mark.process
def test_a_process_that_was_forked_off_has_a_number_of_its_own(tmp_path):
    program = COUNTER.format(root=str(ROOT), folder=str(tmp_path)).replace(
        "print(", "import os; slots.number(); os.fork(); print("
    )
    assert sorted(run_python("-c", program).split()) == ["0", "0", "1", "1"]


@pytest.mark.process
def test_who_was_forked_off_does_not_take_the_number_of_a_parent_that_is_gone(tmp_path):
    gone = "import os, time; slots.number(); parent = os.getpid()\nif os.fork(): os._exit(0)\n"
    gone += "while os.getppid() == parent: time.sleep(0.01)\n"
    program = COUNTER.format(root=str(ROOT), folder=str(tmp_path)).replace("print(", f"{gone}print(")
    assert run_python("-c", program).split() == ["1", "1"]


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.process
def test_the_folder_of_the_process_that_started_this_one_is_not_written_into(tmp_path):
    # Both would have the first slot of their own folder, and overwrite each other's counts.
    program = (
        "import django; django.setup(); import os; from office.operations.services import metrics; "
        "print(os.environ['PROMETHEUS_MULTIPROC_DIR'])"
    )
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", "CROSSLENS_VAR": str(tmp_path)}
    environment["PROMETHEUS_MULTIPROC_DIR"] = str(tmp_path / "other")
    assert run_python("-c", program, env=environment).split() == [str(tmp_path / "metrics")]
