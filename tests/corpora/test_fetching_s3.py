"""`fetch_selected --s3`: what its address may be, and files from a bucket as a server of S3 gives them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from threading import Thread
from urllib.parse import unquote, urlsplit

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from corpora.management.commands.fetch_selected import storage_of
from corpora.models import SelectedImage, Selection
from images.models import Image, ImportJob, JobState, Outcome
from tests.corpora.test_fetching import make_selection, outcomes
from tests.images.image_files import image_file

pytestmark = pytest.mark.django_db


class Bucket:
    """A server on this machine that answers what boto3 asks for: objects by bucket and key, signed by one key."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.wrong_length: set[str] = set()
        bucket = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self._answer(has_body=False)

            def do_GET(self) -> None:
                self._answer(has_body=True)

            def _answer(self, *, has_body: bool) -> None:
                name = unquote(urlsplit(self.path).path)
                bucket.asked.append(f"{self.command} {name}")
                content = bucket.objects.get(name)
                is_ours = "Credential=ours/" in self.headers.get("Authorization", "")
                self.send_response(200 if is_ours and content is not None else 404 if is_ours else 403)
                sent = (content or b"") if is_ours else b""
                self.send_header("Content-Length", str(len(sent)))
                self.send_header("ETag", '"' + hashlib.md5(sent, usedforsecurity=False).hexdigest() + '"')
                self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
                self.end_headers()
                if has_body:
                    self.wfile.write(sent[: len(sent) // 2] if name in bucket.wrong_length else sent)
                    self.close_connection = name in bucket.wrong_length

            def log_message(self, *about: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self.http.server_port}"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ours")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    made = Bucket()
    thread = Thread(target=made.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.http.shutdown()
    made.http.server_close()
    thread.join()


def fetch(selection: Selection, address: str) -> ImportJob:
    call_command("fetch_selected", selection.project.slug, "1", s3=address, stdout=StringIO())
    return ImportJob.objects.latest("pk")


def test_files_are_taken_from_a_folder_of_a_bucket_by_address_or_key(bucket: Bucket) -> None:
    addresses = {"a": "https://x.org/photos/one.jpg", "b": "in/two.jpg", "c": "https://x.org/?id=3", "d": "none.jpg"}
    contents = {"a": image_file(shade=1), "b": image_file(shade=2), "c": image_file(shade=3)}
    names = {"a": "one.jpg", "b": "in/two.jpg", "c": "c.jpg"}
    bucket.objects = {f"/photos/of 2026/{names[key]}": content for key, content in contents.items()}

    job = fetch(make_selection(addresses), f"s3://photos/of 2026/?region=eu-north-1&endpoint={bucket.endpoint}")

    assert outcomes(job) == {**dict.fromkeys("abc", Outcome.ADDED), "d": Outcome.REJECTED}
    assert "no file named" in job.rows.get(name="d").reason
    digests = {key: hashlib.sha256(content).hexdigest() for key, content in contents.items()}
    assert dict(SelectedImage.objects.exclude(image=None).values_list("key", "image__sha256")) == digests


def test_a_file_of_a_bucket_that_breaks_off_or_has_another_checksum_is_not_taken(bucket: Bucket) -> None:
    whole = {"a": image_file(shade=1), "b": image_file(shade=2), "c": image_file(shade=3)}
    sums = {key: f"sha256:{hashlib.sha256(content).hexdigest()}" for key, content in whole.items()}
    bucket.objects = {f"/photos/{key}.jpg": content for key, content in whole.items()}
    bucket.objects["/photos/b.jpg"] = whole["b"][:-40]
    bucket.wrong_length = {"/photos/a.jpg"}
    selection = make_selection({key: f"{key}.jpg" for key in whole}, checksums=sums)

    job = fetch(selection, f"s3://photos?region=eu-north-1&endpoint={bucket.endpoint}")

    assert outcomes(job) == {"a": Outcome.REJECTED, "b": Outcome.REJECTED, "c": Outcome.ADDED}
    assert "checksum" in job.rows.get(name="b").reason
    assert Image.objects.count() == 1

    bucket.wrong_length, bucket.objects["/photos/b.jpg"] = set(), whole["b"]
    again = fetch(selection, f"s3://photos?region=eu-north-1&endpoint={bucket.endpoint}")
    assert outcomes(again) == {"a": Outcome.ADDED, "b": Outcome.ADDED}


def test_a_bucket_that_refuses_is_named_with_each_image(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "theirs")
    with pytest.raises(CommandError, match="Nothing was imported"):
        fetch(make_selection({"a": "a.jpg"}), f"s3://photos?region=eu-north-1&endpoint={bucket.endpoint}")
    job = ImportJob.objects.latest("pk")
    assert (job.state, outcomes(job)) == (JobState.DONE, {"a": Outcome.REJECTED})
    assert "ClientError" in job.rows.get().reason


def test_an_address_names_bucket_folder_region_and_endpoint() -> None:
    storage = storage_of(None, "s3://photos/of/2026/?region=eu-north-1&endpoint=https://s3.example.org:9000")
    names = ("bucket_name", "location", "region_name", "endpoint_url")
    assert [getattr(storage, name) for name in names] == [
        *("photos", "of/2026", "eu-north-1", "https://s3.example.org:9000")
    ]


def test_what_an_address_leaves_out_is_not_that_of_the_platform() -> None:
    with override_settings(AWS_LOCATION="media", AWS_S3_CUSTOM_DOMAIN="cdn.example.org"):
        assert getattr(storage_of(None, "s3://photos"), "location") == ""  # noqa: B009 of that kind of storage


@pytest.mark.parametrize(
    "address",
    [
        "",
        "photos",
        "https://photos/of",
        "s3:///of",
        "s3://photos?zone=1",
        "s3://photos?region=",
        "s3://photos?endpoint=s3.example.org",
        "s3://photos?endpoint=file:///etc",
        "s3://photos?region=a&region=b",
        "s3://key:secret@photos/of",
        "s3://photos/of#2026",
    ],
)
def test_another_address_is_refused_before_anything_is_asked(address: str) -> None:
    with pytest.raises(CommandError, match=r"--s3 must look like s3://BUCKET/FOLDER"):
        storage_of(None, address)
