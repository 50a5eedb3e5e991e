"""Sessions and tokens: people see where they are signed in and what acts for them, and end it."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth import BACKEND_SESSION_KEY
from django.core.cache import cache
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.people.models import ApiToken, Session, User
from core.people.rules.devices import device_of
from core.people.selectors.accounts import own_sessions
from core.people.services import tokens
from core.people.services.sessions import USE_NOTED_EVERY
from tests.clients import client_of
from tests.factories import NOW, make_user
from tests.people.conftest import PASSWORD
from tests.queries import queries_of

pytestmark = pytest.mark.django_db
PAGE, OTHERS = reverse("people:session-list"), reverse("people:session-end-others")
HOME = reverse("people:profile-show")
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 "
    "Mobile/15E148 Safari/604.1"
)


def sign_in(user_agent: str = FIREFOX, address: str = "192.0.2.1", name: str = "Ann") -> Client:
    client = Client(headers={"user-agent": user_agent}, REMOTE_ADDR=address)
    client.post(reverse("account_login"), {"login": name, "password": PASSWORD})
    assert "_auth_user_id" in client.session
    return client


def handle_of(client: Client) -> str:
    session = Session.objects.get(pk=client.session.session_key)
    owner = User.objects.get(pk=session.person)
    own = own_sessions(owner, this=session.session_key, now=timezone.now())
    return next(row["handle"] for row in own if row["is_this"])


def is_in(client: Client) -> bool:
    return client.get(HOME).status_code == 200


def test_the_page_shows_each_session_with_device_address_and_time(ann_with_password: User):
    here, _phone = sign_in(), sign_in(PHONE, "198.51.100.7")
    bob = make_user("bob")
    bob.set_password(PASSWORD)
    bob.save()
    sign_in("Edg/1 (Windows)", "203.0.113.9", "bob")
    page = here.get(PAGE)
    text = page.content.decode()
    assert [(own["device"], own["address"], own["is_this"]) for own in page.context["sessions"]] == [
        ("Firefox on Linux", "192.0.2.1", True),
        ("Safari on iPhone", "198.51.100.7", False),
    ]
    assert "Firefox on Linux" in text
    assert "198.51.100.7" in text
    assert "203.0.113.9" not in text
    assert text.count("This session") == 1


def test_nothing_on_the_page_lets_anybody_in_and_a_session_that_ran_out_is_not_shown(ann_with_password: User):
    here, there = sign_in(), sign_in(PHONE)
    text = here.get(PAGE).content.decode()
    assert not [client for client in (here, there) if client.session.session_key in text]
    Session.objects.filter(pk=there.session.session_key).update(expire_date=timezone.now())
    assert "iPhone" not in here.get(PAGE).content.decode()


def test_one_session_is_ended_and_the_others_go_on(ann_with_password: User):
    here, there, third = sign_in(), sign_in(PHONE), sign_in()
    answer = here.post(reverse("people:session-end", args=[handle_of(there)]))
    assert answer["Location"] == PAGE
    assert [is_in(client) for client in (here, there, third)] == [True, False, True]


def test_nobody_ends_the_session_of_somebody_else(ann_with_password: User):
    there = sign_in()
    stranger = client_of(make_user())
    assert stranger.post(reverse("people:session-end", args=[handle_of(there)])).status_code == 404
    stranger.post(OTHERS)
    assert is_in(there)


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("with_tokens", [True, False])
def test_all_others_are_ended_with_tokens_where_that_is_asked_for(ann_with_password: User, with_tokens: bool):
    here, there, third = sign_in(), sign_in(PHONE), sign_in()
    now = timezone.now()
    about: Any = {"name": "x", "may_write": True, "expires_at": now + timedelta(days=1), "now": now}
    token = tokens.make_token(user=ann_with_password, **about).token
    token_of_another = tokens.make_token(user=make_user(), **about).token
    assert "Also revoke my tokens for programs" in here.get(PAGE).content.decode()
    here.post(OTHERS, {"with_tokens": "on"} if with_tokens else {})
    assert [is_in(client) for client in (here, there, third)] == [True, False, False]
    assert (tokens.token_of(token, now=now) is None) is with_tokens
    assert tokens.token_of(token_of_another, now=now)


def test_without_tokens_nothing_is_asked_about_them(ann_with_password: User):
    assert "with_tokens" not in sign_in().get(PAGE).content.decode()


def test_use_is_noted_every_five_minutes(ann_with_password: User):
    client = sign_in()
    first = Session.objects.get()
    client.get(HOME, REMOTE_ADDR="198.51.100.7")
    again = Session.objects.get()
    assert (again.seen_at, again.address) == (first.seen_at, "192.0.2.1")
    Session.objects.update(seen_at=first.seen_at - USE_NOTED_EVERY)
    client.get(HOME, REMOTE_ADDR="198.51.100.7")
    later = Session.objects.get()
    assert later.seen_at >= first.seen_at
    assert (later.address, later.signed_in_at) == ("198.51.100.7", first.signed_in_at)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_page_that_is_only_read_writes_nothing_and_after_five_minutes_once(ann_with_password: User):
    client = sign_in()
    assert writes_of(client) == 0
    Session.objects.update(seen_at=timezone.now() - USE_NOTED_EVERY)
    assert [writes_of(client), writes_of(client)] == [1, 0]


def writes_of(client: Client) -> int:
    queries = queries_of(lambda: client.get(HOME))
    return sum(query.startswith(("UPDATE", "INSERT", "DELETE")) for query in queries)


def test_pages_are_still_read_where_nothing_can_be_written(ann_with_password: User, monkeypatch: Any):
    client = sign_in()
    tried = []

    def full(*_args: Any, **_names: Any) -> None:
        tried.append(1)
        raise OperationalError("disk full")

    monkeypatch.setattr("core.people.services.sessions.SessionStore.note_use", full)
    assert is_in(client)
    assert tried


def test_of_whoever_is_not_signed_in_nothing_is_noted(client: Client):
    session = client.session
    session["x"] = 1
    session.save()
    Client(headers={"user-agent": FIREFOX}).get(reverse("account_login"))
    client.get(reverse("account_login"), headers={"user-agent": FIREFOX}, REMOTE_ADDR="192.0.2.1")
    assert Session.objects.values_list("person", "seen_at", "address", "user_agent").get() == (None, None, "", "")


def test_an_unlikely_user_agent_is_cut_and_kept(ann_with_password: User):
    sign_in("x\0" + "y" * 400)
    assert Session.objects.get().user_agent == "x" + "y" * 299


@pytest.mark.parametrize("address", [PAGE, OTHERS, reverse("people:session-end", args=["x"])])
def test_the_pages_are_for_who_is_signed_in(client: Client, address: str):
    answer = client.get(address) if address == PAGE else client.post(address)
    assert answer["Location"].startswith(reverse("account_login"))


@pytest.mark.parametrize(
    ("user_agent", "device"),
    [
        (FIREFOX, "Firefox on Linux"),
        (PHONE, "Safari on iPhone"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/140.0.0.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Chrome/140.0.0.0 Safari/537.36", "Chrome on macOS"),
        ("Mozilla/5.0 (Linux; Android 15) SamsungBrowser/28.0 Chrome/130.0", "Samsung Internet on Android"),
        ("curl/8.14", "Unknown browser"),
        ("", "Unknown browser"),
    ],
)
def test_a_device_is_told_in_two_words(user_agent: str, device: str):
    assert device_of(user_agent) == device


TOKENS_PAGE, ME = reverse("people:token-list"), reverse("api:me")


def make_token(user: User, *, name: str = "x") -> str:
    now = timezone.now()
    return tokens.make_token(user=user, name=name, may_write=True, expires_at=now + tokens.MAX_LIFETIME, now=now).token


def confirmed(client: Client) -> Client:
    """Who just gave the password once more."""
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    return client


def ask(token: str, address: str = ME, scheme: str = "Bearer") -> tuple[int, str]:
    answer = Client().get(address, headers={"Authorization": f"{scheme} {token}"})
    return answer.status_code, answer.json().get("code", answer.json().get("username"))


def test_a_token_lets_a_program_in_as_the_person():
    assert ask(make_token(make_user("ann"))) == (200, "ann")


def test_only_a_digest_is_kept_and_the_minute_when_it_was_used():
    token = make_token(make_user())
    row = ApiToken.objects.get()
    kept = "".join(str(value) for value in ApiToken.objects.values_list().get())
    assert token not in kept
    assert token.startswith("clt_")
    assert token.startswith(row.prefix)
    assert len(token) - len(row.prefix) > 30
    tokens.note_use(token=row, now=NOW)
    row.refresh_from_db()
    tokens.note_use(token=row, now=NOW + timedelta(seconds=59))
    assert ApiToken.objects.get().last_used_at == NOW
    tokens.note_use(token=row, now=NOW + timedelta(seconds=60))
    assert ApiToken.objects.get().last_used_at == NOW + timedelta(seconds=60)
    assert ask(token)[0] == 200


@pytest.mark.parametrize("change", [{"revoked_at": NOW}, {"expires_at": NOW}], ids=["revoked", "expired"])
def test_one_that_ended_lets_nobody_in(change):
    token = make_token(make_user())
    ApiToken.objects.update(**change)
    assert ask(token) == (401, "wrong-token")


def test_that_of_an_account_that_was_closed_lets_nobody_in():
    user = make_user()
    token = make_token(user)
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert ask(token) == (401, "wrong-token")


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("given", ["", "clt_guessed", "é", "clt_\x00", "a b c"])
def test_nothing_else_lets_anybody_in(given):
    make_token(make_user())
    assert ask(given.encode("utf-8").decode("latin-1")) == (401, "wrong-token")


def test_whoever_shows_nothing_is_asked_for_a_token():
    answer = Client().get(ME)
    assert (answer.status_code, answer.json()["code"]) == (401, "not-signed-in")
    assert answer["WWW-Authenticate"] == "Bearer"
    assert answer["Content-Type"] == "application/problem+json"


def test_asking_twice_within_a_minute_writes_once(django_assert_num_queries):
    token = make_token(make_user())
    ask(token)
    first = ApiToken.objects.get().last_used_at
    ask(token)
    assert ApiToken.objects.get().last_used_at == first


def test_wrong_tokens_from_one_address_are_slowed_down():
    token = make_token(make_user())
    answers = [ask(f"clt_{number}")[0] for number in range(60)]
    assert answers == [401] * 60
    refused = Client().get(ME, headers={"Authorization": "Bearer clt_60"})
    assert (refused.status_code, refused.json()["code"]) == (429, "too-many-requests")
    assert 0 < int(refused["Retry-After"]) <= 60
    assert ask(token)[0] == 429
    cache.clear()
    assert ask(token)[0] == 200


@pytest.mark.long(reason="at least three others run each of its lines")
def test_right_tokens_are_not_counted():
    token = make_token(make_user())
    assert {ask(token)[0] for _ in range(70)} == {200}


def test_a_person_has_at_most_fifty_in_force():
    user = make_user()
    for _ in range(tokens.MAX_TOKENS):
        make_token(user)
    with pytest.raises(tokens.TokenError, match="50 tokens"):
        make_token(user)
    tokens.revoke_token(token=ApiToken.objects.first(), now=NOW)
    make_token(user)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_page_shows_a_new_token_once(ann_with_password: User):
    client = confirmed(client_of(ann_with_password))
    made = client.post(TOKENS_PAGE, {"name": "export", "may_write": "on", "days": "90"})
    row = ApiToken.objects.get()
    shown = made.content.decode().partition('id="token"')[2].partition('value="')[2].partition('"')[0]
    assert tokens.digest_of(shown) == row.digest
    assert "no-store" in made["Cache-Control"]
    assert (row.may_write, (row.expires_at - row.created_at).days) == (True, 90)
    again = client.get(TOKENS_PAGE).content.decode()
    assert shown not in again
    assert f"{row.prefix}…" in again


@pytest.mark.parametrize("days", ["0", "366", ""])
def test_each_has_an_end_within_a_year(ann_with_password: User, days: str):
    assert confirmed(client_of(ann_with_password)).post(TOKENS_PAGE, {"name": "x", "days": days}).status_code == 422
    late = NOW + tokens.MAX_LIFETIME + timedelta(seconds=1)
    with pytest.raises(tokens.TokenError, match="a year"):
        tokens.make_token(user=ann_with_password, name="x", may_write=False, expires_at=late, now=NOW)
    assert not ApiToken.objects.exists()


@pytest.mark.long(reason="at least three others run each of its lines")
def test_whoever_makes_one_gives_the_password_first_and_loses_nothing_of_the_form(ann_with_password: User):
    client = client_of(ann_with_password)
    assert client.get(TOKENS_PAGE).status_code == 200
    sent = client.post(TOKENS_PAGE, {"name": "export", "may_write": "on", "days": "30"})
    assert sent["Location"].startswith(reverse("account_reauthenticate"))
    assert not ApiToken.objects.exists()
    client.post(sent["Location"], {"password": "wrong", "next": TOKENS_PAGE})
    assert not ApiToken.objects.exists()
    shown = client.post(sent["Location"], {"password": PASSWORD, "next": TOKENS_PAGE})
    row = ApiToken.objects.get()
    assert (row.name, row.may_write, (row.expires_at - row.created_at).days) == ("export", True, 30)
    assert 'id="token"' in shown.content.decode()


def test_without_a_name_none_is_made(ann_with_password: User):
    assert confirmed(client_of(ann_with_password)).post(TOKENS_PAGE, {"days": "90"}).status_code == 422
    assert not ApiToken.objects.exists()


def test_one_is_revoked_by_its_owner_and_by_nobody_else():
    user = make_user()
    token = make_token(user)
    address = reverse("people:token-revoke", args=[ApiToken.objects.get().pk])
    assert client_of(make_user()).post(address).status_code == 404
    assert ask(token)[0] == 200
    assert client_of(user).get(address).status_code == 405
    client_of(user).post(address)
    assert ask(token) == (401, "wrong-token")


def test_the_page_is_for_who_is_signed_in_offers_ninety_days_and_shows_nobody_elses_tokens():
    assert Client().get(TOKENS_PAGE).status_code == 302
    assert '<option value="90" selected>' in client_of(make_user()).get(TOKENS_PAGE).content.decode()
    make_token(make_user(), name="of somebody else")
    assert b"of somebody else" not in client_of(make_user()).get(TOKENS_PAGE).content


def test_an_update_in_which_the_backend_moved_signs_nobody_out(client: Client) -> None:
    """Sessions name the class that signed somebody in, which has moved since 0.1.0."""
    migration = import_module("core.people.migrations.0007_sessions_name_moved_backend")
    client.force_login(make_user("ann"))
    assert client.get(reverse("people:profile-show")).status_code == 200
    ((old, new),) = migration.MOVED.items()
    session = client.session
    assert session[BACKEND_SESSION_KEY] == new
    session[BACKEND_SESSION_KEY] = old
    session.save()
    assert client.get(reverse("people:profile-show")).status_code == 302

    migration.name_moved_backend(apps, None)

    assert client.get(reverse("people:profile-show")).status_code == 200
