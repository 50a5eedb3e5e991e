"""Signing in, being locked out, resetting a password, and the second factor."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth
from axes.models import AccessAttempt
from celery import current_app
from django.conf import settings
from django.core import mail
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.people.api.authentication import viewer_of
from core.people.models import Project, Role, Session, User
from core.people.services import tokens
from core.people.services.members import add_member
from tests.clients import client_of
from tests.factories import make_user
from tests.people.conftest import PASSWORD

pytestmark = pytest.mark.django_db
NEW_PASSWORD = "four grey elephants"
TRIES = 5
MANY = 10 * TRIES


def sign_in(client: Client, login: str, password: str = PASSWORD, **about: Any):
    return client.post(reverse("account_login"), {"login": login, "password": password}, **about)


def fail(name: str, address: str, *, times: int) -> None:
    """Leave the rows of so many wrong passwords, each counted as one by other tests."""
    AccessAttempt.objects.create(username=name, ip_address=address, failures_since_start=times)


def is_signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("login", ["Ann", "ann", "ann@example.org", "ANN@Example.org", " ann "])
def test_one_signs_in_by_user_name_or_e_mail_in_any_case(client: Client, ann_with_password: User, login: str):
    response = sign_in(client, login)
    assert (response.status_code, response["Location"]) == (302, reverse("people:home-show"))
    assert is_signed_in(client)


def test_signing_in_leads_to_where_one_wanted_to_go_but_never_to_another_host(client: Client, ann_with_password: User):
    wanted = reverse("people:profile-show")
    response = client.post(reverse("account_login"), {"login": "ann", "password": PASSWORD, "next": wanted})
    assert response["Location"] == wanted
    client.post(reverse("account_logout"))
    elsewhere = {"login": "ann", "password": PASSWORD, "next": "https://evil.example/"}
    assert client.post(reverse("account_login"), elsewhere)["Location"] == reverse("people:home-show")


def test_a_wrong_password_and_an_unknown_name_are_told_the_same(client: Client, ann_with_password: User):
    wrong, unknown = (sign_in(client, name, "nope").content for name in ("ann", "nobody"))
    csrf_and_name = re.compile(rb'value="[^"]*"')
    assert csrf_and_name.sub(b"", wrong) == csrf_and_name.sub(b"", unknown)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_repeated_failures_lock_out_even_the_right_password_and_say_for_how_long(
    client: Client, ann_with_password: User
):
    answers = [sign_in(client, "ann", "wrong").status_code for _ in range(TRIES)]
    assert answers == [200] * (TRIES - 1) + [429]
    response = sign_in(client, "ann")
    assert response.status_code == 429
    assert "15 more minutes" in response.content.decode()
    assert reverse("account_reset_password") in response.content.decode()
    assert response["Retry-After"] == "900"
    assert not is_signed_in(client)


@pytest.mark.long(reason="at least three others run each of its lines")
def test_name_and_address_in_any_case_and_browser_count_as_one_account(client: Client, ann_with_password: User):
    for number, login in enumerate(["ann", "Ann", "ann@example.org", "ANN@example.org", " ann"]):
        response = sign_in(client, login, "wrong", headers={"user-agent": f"browser {number}"})
    assert response.status_code == 429


@pytest.mark.long(reason="at least three others run each of its lines")
def test_attempts_while_locked_do_not_make_it_longer_and_it_ends(client: Client, ann_with_password: User):
    for _ in range(TRIES):
        sign_in(client, "ann", "wrong")
    AccessAttempt.objects.update(attempt_time=F("attempt_time") - timedelta(minutes=10))
    assert "5 more minutes" in sign_in(client, "ann").content.decode()
    AccessAttempt.objects.update(attempt_time=F("attempt_time") - timedelta(minutes=5))
    sign_in(client, "ann")
    assert is_signed_in(client)


def test_an_address_that_tries_many_names_is_locked_out_whole(client: Client, ann_with_password: User):
    fail("somebody", "127.0.0.1", times=MANY - 2)
    assert [sign_in(client, name, "wrong").status_code for name in ("bob", "cem")] == [200, 429]
    assert sign_in(client, "ann").status_code == 429


@pytest.mark.long(reason="at least three others run each of its lines")
def test_signing_in_forgets_ones_own_failures_but_not_those_of_others(client: Client, ann_with_password: User):
    for login in ("ann", "bob", "cem"):
        sign_in(client, login, "wrong")
    sign_in(client, "ann")
    assert set(AccessAttempt.objects.values_list("username", flat=True)) == {"bob", "cem"}


def test_no_password_is_kept_with_the_attempts(client: Client, ann_with_password: User):
    sign_in(client, "ann", "my secret")
    attempt = AccessAttempt.objects.get()
    assert "my secret" not in f"{attempt.post_data}{attempt.get_data}"


def test_behind_a_proxy_the_address_is_the_one_that_the_proxy_saw(
    client: Client, ann_with_password: User, settings: Any
):
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    forged_and_real = {"x-forwarded-for": "198.51.100.7, 192.0.2.1"}
    sign_in(client, "ann", "wrong", headers=forged_and_real)
    assert AccessAttempt.objects.get().ip_address == "192.0.2.1"


def ask_to_reset(client: Client, address: str) -> str:
    """The address of the page that the mail leads to."""
    client.post(reverse("account_reset_password"), {"email": address})
    (message,) = mail.outbox
    assert message.to == [address.lower()]
    return urlsplit(re.findall(r"https?://\S+", str(message.body))[0]).path


def test_asking_to_reset_an_unknown_address_looks_the_same_and_sends_nothing(client: Client):
    response = client.post(reverse("account_reset_password"), {"email": "nobody@example.org"})
    assert response["Location"] == reverse("account_reset_password_done")
    assert mail.outbox == []


def code_now(secret: str, number: int) -> str:
    """One of the codes that are good now; each is good once."""
    return auth.format_hotp_value(auth.hotp_value(secret, list(auth.yield_hotp_counters_from_time())[number]))


def enrol(client: Client) -> str:
    """Turn the second factor on, which asks for the password once more; returns its secret."""
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    page = client.get(reverse("mfa_activate_totp"))
    secret: str = page.context["form"].secret
    response = client.post(reverse("mfa_activate_totp"), {"code": code_now(secret, 0)})
    assert response["Location"] == reverse("mfa_view_recovery_codes")
    return secret


@pytest.mark.long(reason="at least three others run each of its lines")
def test_with_a_second_factor_the_password_alone_does_not_sign_in(client: Client, ann_with_password: User):
    sign_in(client, "ann")
    secret = enrol(client)
    client.post(reverse("account_logout"))
    assert sign_in(client, "ann")["Location"].startswith(reverse("mfa_authenticate"))
    assert not is_signed_in(client)
    client.post(reverse("mfa_authenticate"), {"code": "000000"})
    assert not is_signed_in(client)
    client.post(reverse("mfa_authenticate"), {"code": code_now(secret, 1)})
    assert is_signed_in(client)


def test_a_recovery_code_stands_in_for_the_second_factor_once(client: Client, ann_with_password: User):
    sign_in(client, "ann")
    enrol(client)
    code = Authenticator.objects.get(type=Authenticator.Type.RECOVERY_CODES).wrap().get_unused_codes()[0]
    for works in (True, False):
        client.post(reverse("account_logout"))
        sign_in(client, "ann")
        client.post(reverse("mfa_authenticate"), {"code": code})
        assert is_signed_in(client) is works


def test_the_secret_is_named_after_the_platform():
    assert "issuer=Crosslens" in get_adapter().build_totp_url(make_user("ann"), "SECRET")


def test_nobody_signs_up_without_an_invitation(client: Client):
    account = {"username": "eve", "password": PASSWORD}
    for response in (client.get(reverse("account_signup")), client.post(reverse("account_signup"), account)):
        assert "You need an invitation" in response.content.decode()
    assert not User.objects.filter(username="eve").exists()
    assert reverse("account_signup") not in client.get(reverse("account_login")).content.decode()


BEFORE = (
    *("account_login", "account_signup", "account_reset_password", "account_reset_password_done"),
    *("account_reset_password_from_key_done", "account_inactive", "account_email_verification_sent"),
)
WITHOUT_SECOND_FACTOR = ("account_reauthenticate", "mfa_activate_totp", "mfa_add_webauthn")
WITH_IT = (
    *("account_change_password", "account_email", "mfa_index", "mfa_view_recovery_codes"),
    *("mfa_generate_recovery_codes", "mfa_deactivate_totp", "mfa_reauthenticate", "account_logout"),
)


def test_account_pages_are_in_our_clothes_and_hold_nothing_inline(client: Client, ann_with_password: User):
    check_clothes(client, *BEFORE)
    sign_in(client, "ann")
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    check_clothes(client, *WITHOUT_SECOND_FACTOR)
    enrol(client)
    check_clothes(client, *WITH_IT)


def check_clothes(client: Client, *names: str) -> None:
    for name in names:
        response = client.get(reverse(name))
        page = response.content.decode()
        assert response.status_code == 200, name
        assert 'class="site-header"' in page
        assert "default-src 'self'" in response["Content-Security-Policy"]
        assert " style=" not in page
        assert not re.search(r"<script(?![^>]*src=)|\son\w+=", page)


def test_sessions_that_ran_out_are_swept(client: Client, ann_with_password: User):
    sign_in(Client(), "ann")
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    sign_in(client, "ann")
    assert Session.objects.count() == 2
    current_app.tasks[str(settings.CELERY_BEAT_SCHEDULE["sweep-hourly"]["task"])]()
    assert Session.objects.count() == 1
    assert is_signed_in(client)


def test_the_administration_is_entered_by_the_same_sign_in(client: Client, ann_with_password: User):
    response = client.get("/admin/login/?next=/admin/")
    assert response.status_code == 302
    assert response["Location"].startswith(reverse("account_login"))
    response = client.post("/admin/login/", {"username": "ann", "password": PASSWORD})
    assert response["Location"].startswith(reverse("account_login"))


def test_an_e_mail_address_is_added_by_confirming_it(client: Client):
    user = make_user("bob", email="")
    user.set_password(PASSWORD)
    user.save()
    sign_in(client, "bob")
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    client.post(reverse("account_email"), {"action_add": "", "email": "Bob@example.org"})
    user.refresh_from_db()
    assert user.email == ""
    link = urlsplit(re.findall(r"https?://\S+", str(mail.outbox[-1].body))[0])
    client.post(link.path)
    user.refresh_from_db()
    assert user.email == "bob@example.org"


SETUP, ME = reverse("mfa_activate_totp"), reverse("api:me")
HOME, PROFILE = reverse("people:home-show"), reverse("people:profile-show")


@pytest.fixture
def required(settings: Any) -> None:
    settings.SECOND_FACTOR_REQUIRED = True


@pytest.fixture
def ann(ann_with_password: User, project: Project) -> User:
    add_member(project=project, user=ann_with_password, role=Role.MANAGER)
    return ann_with_password


def give_factor(user: User) -> None:
    Authenticator.objects.create(user=user, type=Authenticator.Type.TOTP, data={"secret": "x"})


def token_of(user: User, *, may_write: bool = True) -> dict[str, str]:
    now = timezone.now()
    made = tokens.make_token(user=user, name="x", may_write=may_write, expires_at=now + timedelta(days=1), now=now)
    return {"Authorization": f"Bearer {made.token}"}


def leads_to_setup(response: Any) -> bool:
    return (response.status_code, response.get("Location")) == (302, SETUP)


def test_from_sign_in_on_one_is_led_to_set_it_up_and_then_goes_on(required: None, ann: User):
    client = Client()
    landed = client.post(reverse("account_login"), {"login": "Ann", "password": PASSWORD}, follow=True)
    addresses = [address for address, _status in landed.redirect_chain]
    assert addresses == [
        HOME,
        SETUP,
        f"{reverse('account_reauthenticate')}?next=%2Faccounts%2F2fa%2Ftotp%2Factivate%2F",
    ]
    assert "Your role requires a second factor" in landed.content.decode()
    assert reverse("annotation:project-list") not in landed.content.decode()
    page = client.post(reverse("account_reauthenticate"), {"password": PASSWORD, "next": SETUP}, follow=True)
    assert page.redirect_chain == [(SETUP, 302)]
    assert "Your role requires a second factor" in page.content.decode()
    done = client.post(SETUP, {"code": code_now(page.context["form"].secret, 0)}, follow=True)
    assert done.redirect_chain == [(reverse("mfa_view_recovery_codes"), 302)]
    assert "Your role needs" not in done.content.decode()
    assert client.get(PROFILE).status_code == 200
    assert client.get(HOME)["Location"] == reverse("annotation:project-list")


def test_parts_of_pages_and_the_api_refuse_sessions_also_with_recovery_codes_alone(required: None, ann: User):
    response = client_of(ann).get(PROFILE, headers={"hx-request": "true"})
    assert (response.status_code, response["HX-Redirect"]) == (200, SETUP)
    refused = client_of(ann).get(ME)
    assert (refused.status_code, refused.json()["code"]) == (403, "second-factor-missing")
    Authenticator.objects.create(user=ann, type=Authenticator.Type.RECOVERY_CODES, data={"seed": "x", "used_mask": 0})
    assert leads_to_setup(client_of(ann).get(PROFILE))


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("about", [{"is_staff": True}, {"is_staff": True, "is_superuser": True}])
def test_the_administration_is_no_way_around(required: None, about: Any):
    user = make_user(**about)
    client = client_of(user)
    for address in ("/admin/", "/admin/login/", "/admin/people/user/", f"/admin/people/user/{user.pk}/password/"):
        assert leads_to_setup(client.get(address)), address
        assert leads_to_setup(client.post(address)), address
    give_factor(user)
    assert client.get("/admin/").status_code == 200


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("may_write", [True, False])
def test_the_api_refuses_tokens_from_before(required: None, ann: User, method: str, may_write: bool):
    headers = token_of(ann, may_write=may_write)
    refused = getattr(Client(), method)(ME, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (403, "second-factor-missing")
    give_factor(ann)
    assert Client().get(ME, headers=headers).status_code == 200


def test_images_are_not_to_be_had_by_a_token(required: None, ann: User, rf: Any):
    request = rf.get("/", headers=token_of(ann))
    assert viewer_of(request).is_anonymous
    give_factor(ann)
    assert viewer_of(request) == ann


@pytest.mark.parametrize("address", [SETUP, reverse("account_reauthenticate")])
def test_there_is_no_loop(required: None, ann: User, address: str):
    assert client_of(ann).get(address, follow=True).status_code == 200


def test_one_can_still_sign_out_and_choose_a_language(required: None, ann: User):
    client = client_of(ann)
    assert client.post(reverse("set_language"), {"language": "ar", "next": SETUP})["Location"] == SETUP
    client.post(reverse("account_logout"))
    assert "_auth_user_id" not in client.session


@pytest.mark.long(reason="at least three others run each of its lines")
def test_turning_it_off_leads_back_to_setting_it_up(required: None, ann: User):
    client = client_of(ann)
    give_factor(ann)
    assert client.get(PROFILE).status_code == 200
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    client.post(reverse("mfa_deactivate_totp"))
    assert not Authenticator.objects.exists()
    assert leads_to_setup(client.get(PROFILE))


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.RATER, Role.PLAYER, Role.RESEARCHER])
def test_nobody_else_is_asked(required: None, project: Project, role: Role):
    user = make_user()
    add_member(project=project, user=user, role=role)
    assert client_of(user).get(PROFILE).status_code == 200
    assert Client().get(ME, headers=token_of(user)).status_code == 200


def test_whoever_becomes_a_manager_is_asked_from_then_on(required: None, project: Project, outsider: User):
    user = make_user()
    client = client_of(user)
    assert client.get(PROFILE).status_code == 200
    add_member(project=project, user=user, role=Role.MANAGER)
    assert leads_to_setup(client.get(PROFILE))


@pytest.mark.long(reason="at least three others run each of its lines")
def test_unless_it_is_required_nobody_is_asked(ann: User):
    assert client_of(ann).get(PROFILE).status_code == 200
    assert client_of(make_user(is_staff=True, is_superuser=True)).get("/admin/").status_code == 200
    assert Client().get(ME, headers=token_of(ann)).status_code == 200


def test_strangers_see_no_difference(required: None, client: Client):
    for name in ("account_login", "account_reset_password", "people:home-show", "health-show"):
        assert client.get(reverse(name)).status_code == 200
