"""What docs/security.md says and no other test holds: small things, many of them the framework's own."""

from __future__ import annotations

import json
import logging
import re
from datetime import timedelta
from typing import Any

import pytest
from django.conf import global_settings, settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

import config.settings
from core.people.models import Session, User
from core.people.services.invitations import INVITATIONS, InvitationMailing, queue_mails
from core.people.services.mails import post_by_server
from office.operations.logs import formatter
from tests.factories import make_project, make_user
from tests.people.conftest import PASSWORD
from tests.people.invitations import make_invitation
from tests.people.test_sign_in import enrol, is_signed_in, sign_in


@pytest.fixture
def ann(db: None) -> User:
    user = make_user("Ann", email="ann@example.org")
    user.set_password(PASSWORD)
    user.save()
    return user


@pytest.mark.parametrize("name", ["account_login", "account_reset_password"])
def test_signed_out_pages_work_with_password_managers(client: Client, db: None, name: str) -> None:
    check_password_fields(client.get(reverse(name)).content.decode())


def test_the_page_of_a_new_password_works_with_password_managers(client: Client, ann: User) -> None:
    sign_in(client, "ann")
    page = client.get(reverse("account_change_password")).content.decode()
    assert page.count('type="password"') == 2
    check_password_fields(page)


def check_password_fields(page: str) -> None:
    fields = re.findall(r"<input[^>]+name=\"[^\"]*password[^\"]*\"[^>]*>", page)
    assert all('type="password"' in field and "autocomplete=" in field for field in fields)
    assert 'autocomplete="off"' not in page
    assert "onpaste" not in page


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(
    "password", [" Seven  tall Giraffes ", "größenwahnsinnige Löwen 🦁", "x7 " * 40, "onlysmalllettersinhere"]
)
def test_a_password_of_any_kind_is_taken_as_it_was_typed(client: Client, ann: User, password: str) -> None:
    sign_in(client, "ann")
    given = {"oldpassword": PASSWORD, "password1": password, "password2": password}
    client.post(reverse("account_change_password"), given)
    ann.refresh_from_db()

    assert ann.check_password(password)
    for other in {password.strip(), password.lower(), password[:64]} - {password}:
        sign_in(fresh := Client(), "ann", other)
        assert not is_signed_in(fresh)
    sign_in(fresh := Client(), "ann", password)
    assert is_signed_in(fresh)


def test_passwords_are_stored_by_a_slow_function_with_todays_parameters() -> None:
    assert not hasattr(config.settings, "PASSWORD_HASHERS")
    assert global_settings.PASSWORD_HASHERS[0].endswith(".PBKDF2PasswordHasher")
    # OWASP's figure for PBKDF2 with SHA-256.
    assert PBKDF2PasswordHasher.iterations >= 600_000


def test_signing_in_begins_another_session_and_signing_out_ends_it_on_the_server(client: Client, ann: User) -> None:
    session = client.session
    session["kept"] = "yes"
    session.save()
    client.cookies[settings.SESSION_COOKIE_NAME] = session.session_key
    before = session.session_key
    sign_in(client, "ann")
    after = client.session.session_key
    assert after is not None
    assert after != before
    assert len(after) >= 32
    thief = Client()
    thief.cookies[settings.SESSION_COOKIE_NAME] = after
    client.get(reverse("account_logout"))
    assert is_signed_in(thief)
    client.post(reverse("account_logout"))

    assert not Session.objects.filter(session_key__in=[before, after]).exists()
    assert not is_signed_in(thief)


def test_a_session_ends_fourteen_days_after_signing_in_whatever_is_done_meanwhile(client: Client, ann: User) -> None:
    sign_in(client, "ann")
    began = timezone.now() - timedelta(days=10)
    Session.objects.update(signed_in_at=began)
    # Asked for the password first, which is kept in the session.
    client.post(reverse("people:token-list"), {"name": "nightly", "days": "30"})
    assert Session.objects.get().expire_date == began + timedelta(days=14)
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})

    assert Session.objects.get().expire_date == began + timedelta(days=14)
    assert timedelta(days=14).total_seconds() == settings.SESSION_COOKIE_AGE


def test_confirming_who_one_is_begins_another_session_too(client: Client, ann: User) -> None:
    sign_in(client, "ann")
    before = Session.objects.get(person=ann.pk)
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})

    after = Session.objects.get(person=ann.pk)
    assert after.session_key != before.session_key
    assert after.signed_in_at == before.signed_in_at
    assert is_signed_in(client)
    assert client.cookies[settings.SESSION_COOKIE_NAME].value == after.session_key


def test_every_cookie_has_the_prefix_and_only_that_of_forms_is_for_scripts(ann: User, settings: Any) -> None:
    settings.COOKIE_PREFIX = "__Host-"
    for name in ("SESSION", "CSRF", "LANGUAGE"):
        value = getattr(settings, f"{name}_COOKIE_NAME").removeprefix("__Host-")
        setattr(settings, f"{name}_COOKIE_NAME", f"__Host-{value}")
    settings.KNOWN_BROWSER_COOKIE_NAME = "__Host-known_browser"
    client = Client()
    client.get(reverse("account_login"))
    sign_in(client, "ann")
    client.post(reverse("set_language"), {"language": "ar"})
    # It says that it was done, on the next page.
    client.post(reverse("people:profile-show"), {"interface_language": "en"})

    named = {name: bool(cookie["httponly"]) for name, cookie in client.cookies.items()}
    assert {name.removeprefix("__Host-") for name in named} >= {"sessionid", "csrftoken", "messages", "django_language"}
    assert all(name.startswith("__Host-") for name in named)
    assert {name for name, is_hidden in named.items() if not is_hidden} == {"__Host-csrftoken"}
    assert {cookie["samesite"] for cookie in client.cookies.values()} == {"Lax"}


@pytest.mark.long(reason="at least three others run each of its lines")
def test_an_account_that_is_switched_off_is_out_at_once(client: Client, ann: User) -> None:
    sign_in(client, "ann")
    assert client.get(reverse("people:profile-show")).status_code == 200
    User.objects.update(is_active=False)

    assert client.get(reverse("people:profile-show")).status_code == 302
    sign_in(again := Client(), "ann")
    assert not is_signed_in(again)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_resetting_the_password_does_not_pass_by_the_second_factor(client: Client, ann: User) -> None:
    sign_in(client, "ann")
    enrol(client)
    client = Client()
    client.post(reverse("account_reset_password"), {"email": "ann@example.org"})
    link = re.findall(r"http://testserver(/\S+)", str(mail.outbox[-1].body))[0]
    form = client.get(link, follow=True)
    new = {"password1": "four grey elephants", "password2": "four grey elephants"}
    client.post(form.redirect_chain[-1][0], new)

    assert not is_signed_in(client)
    answer = sign_in(client, "ann", "four grey elephants")
    assert answer["Location"] == reverse("mfa_authenticate")


def test_every_page_of_who_is_signed_in_leads_out(client: Client, ann: User) -> None:
    sign_in(client, "ann")
    page = client.get(reverse("people:profile-show")).content.decode()

    assert f'action="{reverse("account_logout")}"' in page


def test_no_name_of_a_project_adds_a_header_to_a_mail(db: None) -> None:
    project = make_project("lions")
    project.name = "Lions\nBcc: everybody@evil.example"
    project.save()
    invitation = make_invitation(project, email="bob@example.org")
    mailing = InvitationMailing(by=project.created_by, site="https://crosslens.example.org/")
    queue_mails(invitations=[invitation], mailing=mailing, now=timezone.now())
    INVITATIONS.send(mail_id=invitation.mails.get().pk, post=post_by_server, clock=timezone.now)

    (sent,) = mail.outbox
    assert sent.recipients() == ["bob@example.org"]
    assert "Bcc" not in sent.message()
    assert sent.message()["Subject"].endswith("Lions Bcc: everybody@evil.example")


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("address", ["/static/", "/static/css/", "/media/", "/.git/config", "/static/../manage.py"])
def test_no_folder_is_listed_and_nothing_of_the_code_is_served(client: Client, db: None, address: str) -> None:
    assert client.get(address).status_code == 404


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/nothing", "text/html; charset=utf-8"),
        ("/healthz", "text/plain; charset=utf-8"),
        ("/static/css/base.css", 'text/css; charset="utf-8"'),
        ("/static/js/page.js", 'text/javascript; charset="utf-8"'),
        ("/static/img/logo.svg", "image/svg+xml"),
        ("/api/v1/me/", "application/problem+json"),
    ],
)
def test_every_answer_says_what_it_is_and_in_which_letters(client: Client, db: None, address: str, kind: str) -> None:
    assert client.get(address)["Content-Type"] == kind


def test_an_error_tells_its_page_nothing_and_the_log_everything(
    db: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_arguments: Any) -> None:
        raise RuntimeError("secret-of-the-inside")

    monkeypatch.setattr("core.people.views.profile.render", fail)
    answer = Client(raise_request_exception=False).get("/")

    assert answer.status_code == 500
    assert b"secret-of-the-inside" not in answer.content
    assert b"Traceback" not in answer.content
    assert "secret-of-the-inside" in caplog.text
    assert config.settings.DEBUG is False


def test_nobody_writes_a_second_line_into_the_log() -> None:
    record = logging.LogRecord(
        "x", logging.INFO, "", 0, "tried %s", ('ann\n{"level": "INFO", "event": "signed-in"}',), None
    )

    line = formatter("json").format(record)
    assert len(line.splitlines()) == 1
    assert "event" not in json.loads(line)
