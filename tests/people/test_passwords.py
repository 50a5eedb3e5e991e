"""A new password ends what the old one let in, by whatever way it comes."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.management.commands import changepassword
from django.core import mail
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.people.models import Session, User
from core.people.services import tokens
from tests.clients import client_of
from tests.factories import make_user
from tests.people.conftest import PASSWORD

pytestmark = pytest.mark.django_db
NEW_PASSWORD = "four grey elephants"
CHANGE = reverse("account_change_password")
GIVEN = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}


def sign_in(login: str = "Ann", password: str = PASSWORD) -> Client:
    client = Client()
    client.post(reverse("account_login"), {"login": login, "password": password})
    assert is_in(client)
    return client


def is_in(client: Client) -> bool:
    return client.get(reverse("people:profile-show")).status_code == 200


@pytest.fixture
def token(ann_with_password: User) -> str:
    now = timezone.now()
    about: Any = {"name": "x", "may_write": True, "expires_at": now + timedelta(days=1), "now": now}
    return tokens.make_token(user=ann_with_password, **about).token


def lets_in(token: str) -> bool:
    answer = Client().get(reverse("api:me"), headers={"Authorization": f"Bearer {token}"})
    return answer.status_code == 200


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_change_that_is_refused_ends_nothing_and_one_that_is_made_ends_all_else(token: str):
    here, there = sign_in(), sign_in()
    assert here.post(CHANGE, {"oldpassword": "wrong", **GIVEN}).status_code == 200
    assert here.post(CHANGE, {"oldpassword": PASSWORD, "password1": "x", "password2": "x"}).status_code == 200
    assert (is_in(here), is_in(there), lets_in(token)) == (True, True, True)
    assert "revokes all your tokens for programs" in here.get(CHANGE).content.decode()
    assert lets_in(token)
    here.post(CHANGE, {"oldpassword": PASSWORD, **GIVEN})
    assert (is_in(here), is_in(there), lets_in(token)) == (True, False, False)
    assert Session.objects.filter(person__isnull=False).count() == 1


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("is_signed_in", [True, False])
def test_a_reset_ends_everything_else_and_signs_in(token: str, is_signed_in: bool):
    there = sign_in()
    client = sign_in() if is_signed_in else Client()
    client.post(reverse("account_reset_password"), {"email": "ann@example.org"})
    link = urlsplit(re.findall(r"https?://\S+", str(mail.outbox[0].body))[0])
    form = client.get(link.path, follow=True)
    assert "signs you out everywhere" in form.content.decode()
    done = client.post(form.request["PATH_INFO"], GIVEN)
    assert done["Location"] == reverse("people:home-show")
    assert (is_in(there), is_in(client), lets_in(token)) == (False, True, False)
    assert is_in(sign_in(password=NEW_PASSWORD))
    assert not User.objects.get(username="Ann").check_password(PASSWORD)
    assert "password1" not in Client().get(link.path, follow=True).content.decode()


@pytest.mark.parametrize("disables", [True, False])
def test_what_an_administrator_sets_or_takes_away_ends_everything(
    token: str, installer: User, ann_with_password: User, disables: bool
):
    there, admin = sign_in(), client_of(installer)
    page = reverse("admin:auth_user_password_change", args=[ann_with_password.pk])
    given = {"usable_password": "false", "unset-password": "x"} if disables else {"usable_password": "true", **GIVEN}
    assert admin.post(page, given).status_code == 302
    assert (is_in(there), lets_in(token)) == (False, False)
    ann_with_password.refresh_from_db()
    assert ann_with_password.has_usable_password() is not disables
    assert not Session.objects.filter(person=ann_with_password.pk).exists()
    assert admin.get(reverse("admin:index")).status_code == 200


def test_an_administrator_who_sets_their_own_stays_signed_in(installer: User):
    admin = client_of(installer)
    page = reverse("admin:auth_user_password_change", args=[installer.pk])
    assert admin.post(page, {"usable_password": "true", **GIVEN}).status_code == 302
    assert admin.get(reverse("admin:index")).status_code == 200


def test_the_command_line_ends_everything(token: str, monkeypatch: Any):
    there = sign_in()
    monkeypatch.setattr(changepassword.Command, "_get_pass", lambda *_prompt, **_names: NEW_PASSWORD)
    call_command("changepassword", "Ann")
    assert (is_in(there), lets_in(token)) == (False, False)
    assert is_in(sign_in(password=NEW_PASSWORD))


@pytest.mark.long(reason="at least three others run each of its lines")
def test_nothing_of_anybody_else_ends(token: str):
    bob = make_user("bob")
    bob.set_password(PASSWORD)
    bob.save()
    now = timezone.now()
    other = tokens.make_token(user=bob, name="x", may_write=True, expires_at=now + timedelta(days=1), now=now).token
    there = sign_in("bob")
    sign_in().post(CHANGE, {"oldpassword": PASSWORD, **GIVEN})
    assert (is_in(there), lets_in(other)) == (True, True)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_hash_that_is_only_brought_up_to_date_ends_nothing(token: str, settings: Any):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher", *settings.PASSWORD_HASHERS]
    sign_in()
    assert User.objects.get(username="Ann").password.startswith("pbkdf2")
    assert lets_in(token)
