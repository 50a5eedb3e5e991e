"""Being locked out of signing in: who guesses is, whose account it is goes on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from axes.models import AccessAttempt
from django.core.cache import cache
from django.db.models import F
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from core.people.models import User
from tests.people.conftest import PASSWORD
from tests.people.test_sign_in import (
    MANY,
    NEW_PASSWORD,
    TRIES,
    ask_to_reset,
    code_now,
    enrol,
    fail,
    is_signed_in,
    sign_in,
)

pytestmark = pytest.mark.django_db
HERE, ELSEWHERE = "192.0.2.1", "198.51.100.9"


def guess(name: str, address: str, **about: Any) -> int:
    return int(sign_in(Client(), name, "wrong", REMOTE_ADDR=address, **about).status_code)


def guess_from_everywhere(name: str) -> list[int]:
    """As many times as it takes to lock the name; each address stays below what would lock it."""
    fail(name, "198.51.100.1", times=MANY - 2)
    return [guess(name, f"198.51.100.{number}") for number in (2, 3)]


def send_code(client: Client, code: str, address: str) -> HttpResponse:
    response: Any = client.post(reverse("mfa_authenticate"), {"code": code}, REMOTE_ADDR=address)
    return response


@pytest.fixture
def secret(ann_with_password: User) -> str:
    """That of the second factor of Ann."""
    client = Client()
    sign_in(client, "ann", REMOTE_ADDR=HERE)
    return enrol(client)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_whoever_guesses_elsewhere_does_not_lock_the_owner_out(client: Client, ann_with_password: User):
    answers = [guess("ann", ELSEWHERE) for _ in range(3 * TRIES)]

    assert answers[TRIES - 1 :] == [429] * (2 * TRIES + 1)
    sign_in(client, "ann", REMOTE_ADDR=HERE)
    assert is_signed_in(client)


def test_wrong_codes_from_elsewhere_do_not_lock_the_owner_out(secret: str):
    thief, owner = Client(), Client()
    sign_in(thief, "ann", REMOTE_ADDR=ELSEWHERE)
    answers = [send_code(thief, "000000", ELSEWHERE).status_code for _ in range(TRIES + 1)]
    sign_in(owner, "ann", REMOTE_ADDR=HERE)
    send_code(owner, code_now(secret, 1), HERE)

    assert answers == [200] * (TRIES - 1) + [429] * 2
    assert is_signed_in(owner)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_no_code_is_kept_with_the_attempts(secret: str):
    client = Client()
    sign_in(client, "ann")
    send_code(client, "314159", HERE)

    attempt = AccessAttempt.objects.get()
    assert "314159" not in f"{attempt.post_data}{attempt.get_data}"


def test_wrong_recovery_codes_lock_who_tries_them(secret: str):
    thief = Client()
    sign_in(thief, "ann", REMOTE_ADDR=ELSEWHERE)
    for number in range(TRIES):
        send_code(thief, f"guess{number}", ELSEWHERE)
    right = Authenticator.objects.get(type=Authenticator.Type.RECOVERY_CODES).wrap().get_unused_codes()[0]

    assert send_code(thief, right, ELSEWHERE).status_code == 429
    assert not is_signed_in(thief)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_password_between_wrong_codes_gives_no_new_tries(secret: str):
    thief = Client()
    for _ in range(TRIES):
        sign_in(thief, "ann", REMOTE_ADDR=ELSEWHERE)
        send_code(thief, "000000", ELSEWHERE)

    assert sign_in(thief, "ann", REMOTE_ADDR=ELSEWHERE).status_code == 429


def test_a_code_is_good_once_also_when_its_first_half_minute_is_over(secret: str):
    code = code_now(secret, 2)
    assert send_code(signed_in_by_password(), code, HERE).status_code == 302

    for typed in (code, f"{code[:3]} {code[3:]}"):
        # What allauth remembers of it for half a minute.
        cache.delete(f"allauth.mfa.totp.used?user={User.objects.get().pk}&code={code}")
        assert send_code(signed_in_by_password(), typed, HERE).status_code == 200


def signed_in_by_password() -> Client:
    client = Client()
    sign_in(client, "ann", REMOTE_ADDR=HERE)
    return client


@pytest.mark.long(reason="at least three others run each of its lines")
def test_wrong_codes_of_many_names_lock_the_address(secret: str):
    fail("somebody", ELSEWHERE, times=MANY - 1)
    thief = Client()
    sign_in(thief, "ann", REMOTE_ADDR=ELSEWHERE)

    assert send_code(thief, "000000", ELSEWHERE).status_code == 429
    assert guess("another", ELSEWHERE) == 429


def test_codes_at_confirming_who_one_is_are_counted_too(client: Client, ann_with_password: User):
    sign_in(client, "ann")
    secret = enrol(client)
    answers = [client.post(reverse("mfa_reauthenticate"), {"code": "000000"}).status_code for _ in range(TRIES)]

    assert answers == [200] * (TRIES - 1) + [429]
    assert client.post(reverse("mfa_reauthenticate"), {"code": code_now(secret, 1)}).status_code == 429


def test_many_addresses_that_guess_for_one_name_lock_it_for_browsers_it_never_signed_in_with(
    client: Client, ann_with_password: User
):
    sign_in(client, "ann", REMOTE_ADDR=HERE)
    client.post(reverse("account_logout"))
    answers = guess_from_everywhere("ann")

    assert (answers, guess("ann", "203.0.113.77")) == ([200, 429], 429)
    assert sign_in(Client(), "ann", REMOTE_ADDR="203.0.113.77").status_code == 429
    assert sign_in(Client(), "bob", "wrong", REMOTE_ADDR="203.0.113.77").status_code == 200
    sign_in(client, "ann", REMOTE_ADDR=HERE)
    assert is_signed_in(client)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_browser_is_known_for_whoever_signed_in_with_it_alone(client: Client, ann_with_password: User):
    sign_in(client, "ann")
    cookie = client.cookies["known_browser"]
    thief = Client()
    thief.cookies["known_browser"] = f"{cookie.value}x"
    guess_from_everywhere("ann")
    guess_from_everywhere("bob")

    assert sign_in(thief, "ann", REMOTE_ADDR="203.0.113.77").status_code == 429
    assert sign_in(client, "bob", REMOTE_ADDR="203.0.113.77").status_code == 429
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_browser_that_is_known_may_not_guess_without_end(client: Client, ann_with_password: User):
    sign_in(client, "ann")
    client.post(reverse("account_logout"))

    assert [sign_in(client, "ann", "wrong").status_code for _ in range(TRIES)][-1] == 429


def test_a_password_that_is_reset_makes_the_browser_known(client: Client, ann_with_password: User):
    guess_from_everywhere("ann")
    path = ask_to_reset(client, "ann@example.org")
    form = client.get(path, follow=True)
    client.post(form.request["PATH_INFO"], {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD})

    sign_in(client, "ann", NEW_PASSWORD, REMOTE_ADDR=HERE)
    assert is_signed_in(client)


def test_a_new_password_leaves_only_the_browser_known_that_it_was_chosen_in(ann_with_password: User):
    here, elsewhere = Client(), Client()
    for browser in (here, elsewhere):
        sign_in(browser, "ann")
    new = {"oldpassword": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    assert here.post(reverse("account_change_password"), new).status_code == 302
    here.post(reverse("account_logout"))
    guess_from_everywhere("ann")

    assert sign_in(elsewhere, "ann", NEW_PASSWORD, REMOTE_ADDR="203.0.113.77").status_code == 429
    sign_in(here, "ann", NEW_PASSWORD, REMOTE_ADDR=HERE)
    assert is_signed_in(here)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_addresses_of_one_network_of_version_6_count_as_one(client: Client, ann_with_password: User):
    answers = [guess("ann", f"2001:db8:1:2::{number:x}") for number in range(TRIES)]

    assert answers[-1] == 429
    assert guess("ann", "2001:db8:1:3::1") == 200


@pytest.mark.long(reason="at least three others run each of its lines")
def test_addresses_of_version_4_that_come_in_the_form_of_version_6_count_by_themselves(ann_with_password: User):
    answers = [guess("ann", f"::ffff:192.0.2.{number}") for number in range(TRIES + 1)]

    assert answers == [200] * (TRIES + 1)
    assert AccessAttempt.objects.first().ip_address == "192.0.2.0"


def test_pages_go_on_where_a_request_came_through_fewer_proxies_than_the_settings_say(client: Client, settings: Any):
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 2

    assert client.get("/healthz", headers={"X-Forwarded-For": HERE}).status_code == 200


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_lock_says_how_long_it_lasts_by_the_failures_that_lock(client: Client, ann_with_password: User):
    for _ in range(TRIES):
        guess("ann", ELSEWHERE)
    AccessAttempt.objects.update(attempt_time=F("attempt_time") - timedelta(minutes=10))
    guess("ann", HERE)
    guess("bob", ELSEWHERE)

    assert "5 more minutes" in sign_in(client, "ann", REMOTE_ADDR=ELSEWHERE).content.decode()


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_class_that_signs_in_from_one_address_is_not_slowed(ann_with_password: User):
    fail("others", HERE, times=MANY - 2)
    for number in range(3):
        User.objects.create_user(f"pupil{number}", password=PASSWORD)
        pupil = Client()
        guess(f"pupil{number}", HERE)
        sign_in(pupil, f"pupil{number}", REMOTE_ADDR=HERE)
        assert is_signed_in(pupil)
