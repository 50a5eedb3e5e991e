"""Files of chosen candidates: fetched from a folder, a bucket or the web, once each; what fails is named."""

from __future__ import annotations

import csv
import hashlib
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from threading import Event, Semaphore, Thread
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage
from django.core.management import CommandError, call_command
from django.urls import reverse

from corpora.models import Candidate, CandidateList, SelectedImage, Selection
from corpora.services import downloads, fetching
from corpora.services.downloads import FetchFailedError, StoredFiles, Web
from images.models import CollectionImage, Image, ImportJob, ImportKind, JobState, Outcome
from images.rules import limits
from images.services import jobs
from images.services.collections import create_collection
from images.services.leases import LEASE
from people.models import AuditEntry, User
from tests.clients import client_of
from tests.factories import NOW, make_language, make_project, make_user
from tests.images.image_files import image_file
from tests.inference.object_storage import ObjectStorage

pytestmark = pytest.mark.django_db

Answer = tuple[int, dict[str, str], bytes]


def make_selection(addresses: dict[str, str], *, checksums: dict[str, str] | None = None) -> Selection:
    project = make_project(manager=make_user("mia"))
    candidates = CandidateList.objects.create(project=project, slug="world", name="World", created_at=NOW)
    selection = Selection.objects.create(
        project=project,
        number=1,
        name="India",
        candidates=candidates,
        languages=["de"],
        levels=["region"],
        per_language=9,
        seed=1,
        areas={},
        table="1",
        created_at=NOW,
        state=JobState.DONE,
        confirmed_at=NOW,
        collection=create_collection(name="India", project=project),
    )
    about = {"list": candidates, "latitude": 17.5, "longitude": 78.5, "author": "Ann", "licence": "CC BY 4.0"}
    for position, (key, address) in enumerate(addresses.items(), start=1):
        checksum = (checksums or {}).get(key, "")
        candidate = Candidate.objects.create(key=key, address=address, checksum=checksum, **about)
        SelectedImage.objects.create(
            selection=selection,
            language=make_language(),
            level="region",
            position=position,
            key=key,
            candidate=candidate,
        )
    return selection


def fetch(selection: Selection, source: Any) -> ImportJob:
    return fetching.fetch_here(selection=selection, source=source, clock=lambda: NOW, announce=lambda pk: None)


def outcomes(job: ImportJob) -> dict[str, str]:
    return dict(job.rows.values_list("name", "outcome"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "files"
    (path / "in").mkdir(parents=True)
    (path / "one.jpg").write_bytes(image_file(shade=1))
    (path / "in" / "two.jpg").write_bytes(image_file(shade=2))
    (path / "c.jpg").write_bytes(image_file(shade=3))
    return path


ADDRESSES = {"a": "https://x.org/photos/one.jpg", "b": "in/two.jpg", "c": "https://x.org/?id=3"}


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("storage", [FileSystemStorage, ObjectStorage])
def test_files_are_taken_from_a_folder_or_a_bucket_with_their_attribution(folder, storage):
    selection = make_selection(ADDRESSES)

    job = fetch(selection, StoredFiles(storage(location=folder)))

    assert (job.state, job.error) == (JobState.DONE, "")
    assert outcomes(job) == dict.fromkeys("abc", Outcome.ADDED)
    image = SelectedImage.objects.get(key="a").image
    assert image is not None
    assert (image.author, image.licence, image.source) == ("Ann", "CC BY 4.0", ADDRESSES["a"])
    assert (image.latitude, image.longitude) == (17.5, 78.5)
    entries = CollectionImage.objects.filter(collection=selection.collection).values_list("key", flat=True)
    assert list(entries) == ["a", "b", "c"]


def test_what_fails_is_named_and_tried_again_by_the_next_job(folder):
    selection = make_selection({**ADDRESSES, "d": "missing.jpg"}, checksums={"a": "md5:" + "0" * 32})

    first = fetch(selection, StoredFiles(FileSystemStorage(location=folder)))

    assert [name for name, outcome in outcomes(first).items() if outcome == Outcome.REJECTED] == ["a", "d"]
    assert "checksum" in first.rows.get(name="a").reason
    (folder / "missing.jpg").write_bytes(image_file(shade=4))
    second = fetch(selection, StoredFiles(FileSystemStorage(location=folder)))
    assert outcomes(second) == {"a": Outcome.REJECTED, "d": Outcome.ADDED}


def test_the_audit_log_says_when_files_were_fetched_and_how_many_failed(folder):
    selection = make_selection({**ADDRESSES, "d": "missing.jpg"})
    fetch(selection, StoredFiles(FileSystemStorage(location=folder)))

    logged = AuditEntry.objects.filter(action__startswith="selection.fetch").order_by("number")
    assert [(entry.action, entry.details) for entry in logged] == [
        ("selection.fetch_started", {"waiting": 4}),
        ("selection.fetched", {"fetched": 3, "failed": 1}),
    ]


def test_a_checksum_that_fits_is_accepted(folder):
    digest = hashlib.md5(image_file(shade=1), usedforsecurity=False).hexdigest()
    selection = make_selection({"a": "one.jpg"}, checksums={"a": f"md5:{digest}"})
    assert outcomes(fetch(selection, StoredFiles(FileSystemStorage(location=folder)))) == {"a": Outcome.ADDED}


def test_the_second_of_two_files_of_one_image_is_left_for_exchange(folder):
    (folder / "same.jpg").write_bytes(image_file(shade=1))
    selection = make_selection({"a": "one.jpg", "b": "same.jpg"})
    job = fetch(selection, StoredFiles(FileSystemStorage(location=folder)))
    assert outcomes(job) == {"a": Outcome.ADDED, "b": Outcome.REJECTED}
    assert "the same image as “a”" in job.rows.get(name="b").reason
    assert SelectedImage.objects.get(key="b").image is None


def test_a_file_that_is_no_image_is_refused(folder):
    (folder / "one.jpg").write_text("<html>")
    job = fetch(make_selection({"a": "one.jpg"}), StoredFiles(FileSystemStorage(location=folder)))
    assert outcomes(job) == {"a": Outcome.REJECTED}
    assert not Image.objects.exists()


def test_a_fetch_that_was_killed_goes_on_where_it_was(folder, monkeypatch):
    selection = make_selection(ADDRESSES)
    job = fetching.start_fetch(selection=selection, by=None, clock=lambda: NOW)
    asked: list[str] = []
    files = StoredFiles(FileSystemStorage(location=folder))

    class DiesAtTheSecond:
        def __init__(self, **options: object) -> None:
            pass

        def fetch(self, candidate: Candidate) -> Any:
            asked.append(candidate.key)
            if len(asked) == 2:
                raise KeyboardInterrupt
            return files.fetch(candidate)

    monkeypatch.setattr(fetching, "Web", DiesAtTheSecond)
    with pytest.raises(KeyboardInterrupt):
        fetching.run_fetch(job_id=job.pk, clock=lambda: NOW, announce=lambda pk: None)
    later = NOW + 2 * LEASE
    assert jobs.jobs_waiting(kind=ImportKind.FETCH, now=later) == [job.pk]
    fetching.run_fetch(job_id=job.pk, clock=lambda: later, announce=lambda pk: None)

    job.refresh_from_db()
    assert asked == ["a", "b", "b", "c"]
    assert (job.state, job.done, outcomes(job)) == (JobState.DONE, 3, dict.fromkeys("abc", Outcome.ADDED))
    assert CollectionImage.objects.filter(collection=selection.collection).count() == 3


def test_nothing_is_fetched_before_a_selection_is_confirmed_or_twice_at_once():
    selection = make_selection(ADDRESSES)
    fetching.start_fetch(selection=selection, by=None, clock=lambda: NOW)
    with pytest.raises(fetching.FetchRefusedError, match="being fetched"):
        fetching.start_fetch(selection=selection, by=None, clock=lambda: NOW)
    Selection.objects.update(confirmed_at=None)
    with pytest.raises(fetching.FetchRefusedError, match="Confirm"):
        fetching.start_fetch(selection=selection, by=None, clock=lambda: NOW)


class Server:
    """A web server on this machine that gives the answers in turn and remembers what was asked."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.asked: list[tuple[str, str]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append((self.path, self.headers["User-Agent"]))
                status, headers, content = server.answers.pop(0)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *about: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_port}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(downloads, "is_public", lambda address: True)
    made = Server()
    thread = Thread(target=made.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.http.shutdown()
    made.http.server_close()
    thread.join()


@pytest.fixture
def get(server: Server) -> Callable[[str], tuple[bytes, list[float]]]:
    def got(path: str) -> tuple[bytes, list[float]]:
        pauses: list[float] = []
        with Web(per_second=1e9, pause=pauses.append).fetch(Candidate(key="a", address=server.address + path)) as file:
            file.seek(0)
            return file.read(), [one for one in pauses if one > 0.5]

    return got


def test_busy_servers_are_asked_again_as_late_as_they_say(server, get):
    server.answers = [(429, {"Retry-After": "30"}, b""), (503, {}, b""), (200, {}, b"image")]
    assert get("/a.jpg?size=o") == (b"image", [30.0, 4.0])
    assert server.asked == [("/a.jpg?size=o", downloads.USER_AGENT)] * 3


def test_a_busy_server_may_say_at_what_time_to_ask_again(server, get):
    then = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    server.answers = [(429, {"Retry-After": then}, b""), (503, {"Retry-After": "soon"}, b""), (200, {}, b"image")]
    content, pauses = get("/a.jpg")
    assert content == b"image"
    assert pauses == [pytest.approx(60, abs=3), 4.0]


def test_half_a_file_is_no_image_even_if_nothing_says_how_long_it_is(server):
    whole = image_file(size=(300, 200))
    server.answers = [(200, {}, whole[: len(whole) // 2])]
    selection = make_selection({"a": server.address + "/a.jpg"})
    assert outcomes(fetch(selection, Web(per_second=1e9))) == {"a": Outcome.REJECTED}
    server.answers = [(200, {}, whole)]
    assert outcomes(fetch(selection, Web(per_second=1e9))) == {"a": Outcome.ADDED}


def test_a_file_from_the_web_with_another_checksum_is_not_taken(server):
    server.answers = [(200, {}, image_file(shade=1)), (200, {}, image_file(shade=2))]
    digest = f"sha256:{hashlib.sha256(image_file(shade=2)).hexdigest()}"
    addresses = {key: f"{server.address}/{key}.jpg" for key in "ab"}
    job = fetch(make_selection(addresses, checksums=dict.fromkeys(addresses, digest)), Web(per_second=1e9))
    assert outcomes(job) == {"a": Outcome.REJECTED, "b": Outcome.ADDED}


def test_redirects_are_followed_within_the_web_only(server, get):
    server.answers = [(302, {"Location": "/b.jpg"}, b""), (200, {}, b"image")]
    assert get("/a.jpg")[0] == b"image"
    server.answers = [(302, {"Location": "file:///etc/passwd"}, b"")]
    with pytest.raises(FetchFailedError, match="not http"):
        get("/a.jpg")


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([(404, {}, b"")], "404"),
        ([(500, {}, b"")] * 4, "500"),
        ([(429, {"Retry-After": "9999"}, b"")], "429"),
        ([(200, {"Content-Length": "9"}, b"cut")] * 4, "broke off"),
        ([(301, {"Location": "/a.jpg"}, b"")] * 6, "redirects more"),
    ],
)
def test_what_does_not_arrive_is_said(server, get, answers, said):
    server.answers = list(answers)
    with pytest.raises(FetchFailedError, match=said):
        get("/a.jpg")
    assert server.answers == []


def test_files_over_the_limit_are_cut_off(server, get, monkeypatch):
    monkeypatch.setattr(limits, "MAX_IMAGE_BYTES", 10)
    server.answers = [(200, {}, b"x" * 11)]
    with pytest.raises(FetchFailedError, match="larger"):
        get("/a.jpg")


@pytest.mark.parametrize("start", [b"HTTP/1.0 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_a_server_that_sends_a_byte_now_and_then_is_left_in_time(monkeypatch, start):
    """A socket's own timeout begins again with each byte."""
    monkeypatch.setattr(downloads, "is_public", lambda address: True)
    monkeypatch.setattr(downloads, "LONGEST_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection = listening.accept()[0]
            with connection, suppress(OSError):
                connection.sendall(start)
                for _second in range(200):
                    connection.sendall(b"x")
                    time.sleep(0.02)

        dripping = Thread(target=drip)
        dripping.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/a.jpg"
        begun_s = time.monotonic()
        with pytest.raises(FetchFailedError, match="took longer"):
            Web().fetch(Candidate(key="a", address=address))
        assert time.monotonic() - begun_s < 2
        dripping.join()


@pytest.mark.parametrize("head", [b"Content-Length: 5", b"Transfer-Encoding: chunked"], ids=["whole", "chunks"])
def test_a_worker_can_renew_its_lease_after_each_byte_of_a_slow_server(monkeypatch, head):
    monkeypatch.setattr(downloads, "is_public", lambda address: True)
    renewals, renewed = Semaphore(0), []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            with listening.accept()[0] as connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\n%b\r\n\r\n" % head)
                for byte in b"image":
                    connection.sendall((b"1\r\n%c\r\n" if b"chunked" in head else b"%c") % byte)
                    renewed.append(renewals.acquire(timeout=5))
                connection.sendall(b"0\r\n\r\n" if b"chunked" in head else b"")

        dripping = Thread(target=drip)
        dripping.start()
        # One renewal is before the request.
        web = Web(beat=renewals.release)
        with web.fetch(Candidate(key="a", address=f"http://127.0.0.1:{listening.getsockname()[1]}/a.jpg")) as file:
            assert (file.seek(0), file.read()) == (0, b"image")
        dripping.join()
    assert renewed == [True] * 5


def test_a_server_is_left_before_the_lease_of_the_worker_ends():
    silent_s = max(downloads.SILENT_S + downloads.CONNECT_S, downloads.READ_S, fetching.BEAT_S)
    assert fetching.BEAT_S + silent_s < LEASE.total_seconds()


@pytest.mark.parametrize(
    "start",
    [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;x="],
    ids=["head", "length of a chunk"],
)
def test_bytes_that_bring_no_file_keep_no_worker(monkeypatch, start):
    monkeypatch.setattr(downloads, "is_public", lambda address: True)
    monkeypatch.setattr(downloads, "SILENT_S", 0.05)
    is_left = Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            try:
                with listening.accept()[0] as connection:
                    connection.sendall(start)
                    for _byte in range(500):
                        connection.sendall(b"x")
                        time.sleep(0.01)
            except OSError:
                is_left.set()

        dripping = Thread(target=drip)
        dripping.start()
        with pytest.raises(downloads._TryAgainError):
            Web()._fetch(f"http://127.0.0.1:{listening.getsockname()[1]}/a.jpg")
        dripping.join()
    assert is_left.is_set()


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "10.0.0.1", "169.254.169.254", "localhost"])
def test_private_addresses_are_never_asked(host):
    with pytest.raises(FetchFailedError, match="private"):
        Web().fetch(Candidate(key="a", address=f"http://{host}/a.jpg"))


def resolve_to(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Answer questions for names with these addresses in turn; returns the names asked for."""
    asked: list[str] = []

    def getaddrinfo(host: str, port: int, *more: object, **options: object) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in answers[len(asked) - 1]]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


def test_a_name_with_any_private_address_is_never_asked(monkeypatch):
    resolve_to(monkeypatch, ["93.184.215.14", "10.0.0.1"])
    with pytest.raises(FetchFailedError, match="private"):
        Web().fetch(Candidate(key="a", address="http://x.org/a.jpg"))


def test_a_name_is_resolved_once_so_that_the_address_checked_is_the_one_asked(monkeypatch):
    connected = []

    def connect(address: tuple[str, int], *more: object, **options: object) -> socket.socket:
        connected.append(address)
        raise OSError

    asked = resolve_to(monkeypatch, ["93.184.215.14"], ["10.0.0.1"])
    monkeypatch.setattr("urllib3.util.connection.create_connection", connect)
    web = Web(pause=lambda seconds: None)
    with pytest.raises(downloads._TryAgainError):
        web._fetch("http://x.org/a.jpg")
    assert (asked, connected) == (["x.org"], [("93.184.215.14", 80)])


def test_a_redirect_to_a_private_address_is_not_followed(server, get, monkeypatch):
    monkeypatch.setattr(downloads, "is_public", lambda address: str(address) == "127.0.0.1")
    server.answers = [(302, {"Location": "http://169.254.169.254/latest"}, b"")]
    with pytest.raises(FetchFailedError, match="private"):
        get("/a.jpg")


def test_one_host_is_asked_so_many_times_a_second():
    now, pauses = [0.0], []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        now[0] += seconds

    web = Web(per_second=2, pause=pause, clock_s=lambda: now[0])
    for host in ("x.org", "y.org", "x.org", "x.org"):
        web._wait_for(host)
    assert pauses == [0.5, 0.5]


def test_the_commands_list_and_fetch_the_files(folder, tmp_path):
    selection = make_selection(ADDRESSES)
    out = StringIO()
    call_command("list_selected", selection.project.slug, 1, stdout=out)
    rows = list(csv.DictReader(StringIO(out.getvalue())))
    assert [(row["key"], row["address"], row["language"], row["level"]) for row in rows] == [
        (key, address, "de", "region") for key, address in ADDRESSES.items()
    ]
    assert "latitude" not in rows[0]
    call_command("fetch_selected", selection.project.slug, 1, folder=folder, stdout=StringIO())
    assert Image.objects.count() == 3
    with pytest.raises(CommandError, match="have been fetched"):
        call_command("fetch_selected", selection.project.slug, 1, folder=folder)
    with pytest.raises(CommandError, match="no selection 2"):
        call_command("list_selected", selection.project.slug, 2)


def test_a_manager_has_the_files_fetched_or_takes_the_list():
    selection = make_selection(ADDRESSES)
    client, about = client_of(User.objects.get(username="mia")), [selection.project.slug, 1]
    assert "Fetch the images" in client.get(reverse("corpora:selected-files", args=about)).content.decode()
    response = client.post(reverse("corpora:selected-fetch", args=about))
    assert response["Location"] == reverse("images:import-show", args=[ImportJob.objects.get().pk])
    listed = client.get(reverse("corpora:selected-export", args=about)).getvalue().decode()
    assert ADDRESSES["a"] in listed
    assert "17.5" not in listed
