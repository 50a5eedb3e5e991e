"""Tokens let programs in as whoever made them until they end; nobody reads one again, not even in the database."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.people.models import ApiToken, User
from core.people.services import tokens
from tests.clients import client_of
from tests.factories import NOW, make_user
from tests.people.conftest import PASSWORD

pytestmark = pytest.mark.django_db
PAGE, ME = reverse("people:token-list"), reverse("api:me")


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
    made = client.post(PAGE, {"name": "export", "may_write": "on", "days": "90"})
    row = ApiToken.objects.get()
    shown = made.content.decode().partition('id="token"')[2].partition('value="')[2].partition('"')[0]
    assert tokens.digest_of(shown) == row.digest
    assert "no-store" in made["Cache-Control"]
    assert (row.may_write, (row.expires_at - row.created_at).days) == (True, 90)
    again = client.get(PAGE).content.decode()
    assert shown not in again
    assert f"{row.prefix}…" in again


@pytest.mark.parametrize("days", ["0", "366", ""])
def test_each_has_an_end_within_a_year(ann_with_password: User, days: str):
    assert confirmed(client_of(ann_with_password)).post(PAGE, {"name": "x", "days": days}).status_code == 422
    late = NOW + tokens.MAX_LIFETIME + timedelta(seconds=1)
    with pytest.raises(tokens.TokenError, match="a year"):
        tokens.make_token(user=ann_with_password, name="x", may_write=False, expires_at=late, now=NOW)
    assert not ApiToken.objects.exists()


@pytest.mark.long(reason="at least three others run each of its lines")
def test_whoever_makes_one_gives_the_password_first_and_loses_nothing_of_the_form(ann_with_password: User):
    client = client_of(ann_with_password)
    assert client.get(PAGE).status_code == 200
    sent = client.post(PAGE, {"name": "export", "may_write": "on", "days": "30"})
    assert sent["Location"].startswith(reverse("account_reauthenticate"))
    assert not ApiToken.objects.exists()
    client.post(sent["Location"], {"password": "wrong", "next": PAGE})
    assert not ApiToken.objects.exists()
    shown = client.post(sent["Location"], {"password": PASSWORD, "next": PAGE})
    row = ApiToken.objects.get()
    assert (row.name, row.may_write, (row.expires_at - row.created_at).days) == ("export", True, 30)
    assert 'id="token"' in shown.content.decode()


def test_without_a_name_none_is_made(ann_with_password: User):
    assert confirmed(client_of(ann_with_password)).post(PAGE, {"days": "90"}).status_code == 422
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
    assert Client().get(PAGE).status_code == 302
    assert '<option value="90" selected>' in client_of(make_user()).get(PAGE).content.decode()
    make_token(make_user(), name="of somebody else")
    assert b"of somebody else" not in client_of(make_user()).get(PAGE).content
