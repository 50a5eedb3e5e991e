"""What a request brings: how much is taken, of whom, and how slowly it may come."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.urls import reverse

from config import asgi
from core.images.rules.limits import MAX_UPLOAD_BYTES
from core.people.models import Membership, Project, Role
from office.operations.rules.uploads import MAX_BODY_BYTES, UPLOADS, is_upload
from office.operations.serving import bodies, handler
from tests.operations.asked import Asked, allow, echo, length, scope
from tests.servers import ROOT
from tools.scripts.checks.sources import files_in

UPLOAD = "/projects/lions/import/"
CHUNKED = (b"transfer-encoding", b"chunked")
FORMS_WITH_FILES = {
    "imports:import-create": ["lions"],
    "corpora:subset-create": ["lions"],
    "corpora:table-upload": ["lions"],
    "people:invitation-import": ["lions"],
    "sxs_eval:gold-list": ["lions", 7],
    "sxs_eval:plan-show": ["lions"],
}


def test_a_body_reaches_django_as_it_was_sent():
    asked = Asked(echo).ask("/", b"one ", b"two", headers=[length(7)])

    assert (asked.status, asked.content) == (200, b"one two")


def test_what_announces_too_much_is_refused_before_anything_is_read():
    asked = Asked(echo).ask("/accounts/login/", b"x", headers=[length(MAX_BODY_BYTES + 1)])

    assert (asked.status, asked.received) == (413, 0)
    assert asked.content == b"The request is larger than 1 MB, and nothing of it was kept.\n"


def test_what_announces_nothing_is_refused_as_soon_as_it_is_too_much():
    pieces = [b"x" * 400_000] * 10
    asked = Asked(echo).ask("/accounts/login/", *pieces, headers=[CHUNKED])

    assert (asked.status, asked.received) == (413, 3)


def test_programs_are_refused_as_by_all_of_the_api():
    asked = Asked(echo).ask("/api/v1/work/", b"x", headers=[length(MAX_BODY_BYTES + 1)])

    told = json.loads(asked.content)
    assert (asked.status, told["status"], told["code"]) == (413, 413, "too-large")
    assert told["detail"] == "The request is larger than 1 MB, and nothing of it was kept."
    assert (b"content-type", b"application/problem+json") in asked.sent[0]["headers"]


def test_files_that_are_too_much_are_refused_with_what_to_do():
    asked = Asked(echo, check_uploader=allow).ask(UPLOAD, b"x", headers=[length(MAX_UPLOAD_BYTES + 1)])

    assert (asked.status, asked.received) == (413, 0)
    assert asked.content.startswith(b"Your files are larger than 2000 MB together, and none was kept. Send them in")


@pytest.mark.parametrize("headers", [[length(3 * MAX_BODY_BYTES)], [CHUNKED]])
def test_files_are_taken_of_who_may_send_them_alone(headers):
    pieces = [bytes([number]) * MAX_BODY_BYTES for number in range(3)]
    refused = Asked(echo).ask(UPLOAD, *pieces, headers=headers)
    taken = Asked(echo, check_uploader=allow).ask(UPLOAD, *pieces, headers=headers)

    assert (refused.status, refused.received) == (403, 0)
    assert (taken.status, taken.content) == (200, b"".join(pieces))


def by_django(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
    request = WSGIRequest(environ)
    start("200 OK", [])
    return [f"{request.path} {request.read().decode()}".encode()]


def test_a_body_in_chunks_is_read_by_django():
    assert Asked(by_django).ask("/", b"one ", b"two", headers=[CHUNKED]).content == b"/ one two"


@pytest.mark.django_db
def test_the_platform_knows_who_may_send_files_before_it_reads_them(client, django_user_model, monkeypatch):
    # The connection is that of the test's transaction.
    monkeypatch.setattr(asgi, "close_old_connections", lambda: None)

    def refused(**more: str) -> str:
        environ = {"REQUEST_METHOD": "POST", "PATH_INFO": UPLOAD, "wsgi.input": BytesIO()}
        try:
            asgi.check_uploader(environ | more)
        except bodies.BodyRefusedError as error:
            return f"{error.status} {error.sentence}"
        return ""

    def as_(role: Role | None, **more: bool) -> str:
        user = django_user_model.objects.create_user(f"{role}-{len(more)}", **more)
        if role:
            Membership.objects.create(project=lions, user=user, role=role)
        client.force_login(user)
        return refused(HTTP_COOKIE=f"sessionid={client.cookies['sessionid'].value}")

    owner = django_user_model.objects.create_user("owner")
    lions = Project.objects.create(name="Lions", slug="lions", created_by=owner)

    assert refused() == refused(HTTP_COOKIE="sessionid=guessed") == f"403 {asgi.SIGNED_OUT}"
    assert {as_(role) for role in (Role.PLAYER, Role.ANNOTATOR, Role.RATER, None)} == {f"403 {asgi.NOT_YOURS}"}
    assert {as_(Role.MANAGER), as_(Role.RESEARCHER)} == {""}


@pytest.mark.django_db
def test_looking_who_sends_files_changes_nothing_of_the_request(monkeypatch):
    monkeypatch.setattr(asgi, "close_old_connections", lambda: None)
    environ = handler.environ_of(scope("/projects/%E7%8C%AB/plan/"))
    with pytest.raises(bodies.BodyRefusedError):
        asgi.check_uploader(environ)

    assert WSGIRequest(environ).path == "/projects/猫/plan/"


def test_a_body_that_comes_too_slowly_is_given_up(monkeypatch):
    monkeypatch.setattr(bodies, "PATIENCE_S", 0.05)

    asked = Asked(echo).ask("/accounts/login/", b"x", headers=[length(1000)], then="stalls")

    assert asked.status == 408
    assert b"too slow, so nothing was saved" in asked.content


def test_who_sent_much_and_fast_may_not_stall_for_long_after_it(monkeypatch):
    monkeypatch.setattr(bodies, "IDLE_S", 0.05)

    asked = Asked(echo, check_uploader=allow).ask(UPLOAD, *[b"x" * 10**6] * 3, headers=[CHUNKED], then="stalls")

    assert asked.status == 408


def test_who_leaves_before_the_end_is_answered_nothing():
    assert Asked(echo).ask("/", b"half of", headers=[length(100)], then="leaves").sent == []


def test_a_body_that_finds_no_room_is_answered_so(monkeypatch):
    def full(*_arguments: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(SpooledTemporaryFile, "write", full)
    asked = Asked(echo).ask("/", b"x", headers=[length(1)])

    assert asked.status == 507
    assert b"no space left" in asked.content


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(("name", "arguments"), FORMS_WITH_FILES.items())
def test_every_form_with_files_may_be_large(name, arguments):
    assert is_upload(reverse(name, args=arguments))


def test_these_are_all_forms_with_files_and_the_proxy_knows_them():
    templates = [path.read_text() for path in files_in("templates", endings=(".html",))]
    forms = sum("multipart/form-data" in text for text in templates)
    imports = [f'"_form.html" with submit=_("{label}")' for label in ("Import", "Create set and import")]
    shared = sum(any(form in text for form in imports) for text in templates)

    # The shared form has files where its fields do; a campaign file is small.
    assert forms - 2 + shared == len(FORMS_WITH_FILES)
    assert f"path_regexp {UPLOADS}" in (ROOT / "tools" / "deploy" / "Caddyfile").read_text()
    assert not is_upload("/accounts/login/")
