"""Whoever's way to sign in changes is told by mail, in their language, at the address that was theirs."""

from __future__ import annotations

import re
import smtplib
from typing import Any
from unittest.mock import Mock
from urllib.parse import urlsplit

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.core import mail
from django.core.mail import EmailMessage
from django.test import Client
from django.urls import reverse

from core.people.models import ApiToken, User
from tests.clients import client_of
from tests.factories import make_user
from tests.people.conftest import PASSWORD
from tests.people.test_sessions import FIREFOX
from tests.people.test_sign_in import code_now

NEW_PASSWORD = "four grey elephants"
GIVEN = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
OLD, NEW = "ann@example.org", "annabelle@example.org"
EMAIL = reverse("account_email")
pytestmark = pytest.mark.django_db


@pytest.fixture
def ann(ann_with_password: User) -> User:
    return ann_with_password


@pytest.fixture
def client(ann: User) -> Client:
    """Ann's, who gave her password twice."""
    client = Client(headers={"user-agent": FIREFOX}, REMOTE_ADDR="192.0.2.1")
    client.post(reverse("account_login"), {"login": "Ann", "password": PASSWORD})
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    return client


@pytest.fixture
def admin(installer: User) -> Client:
    return client_of(installer)


def notices() -> list[tuple[list[str], str]]:
    """To whom, and the sentence that says what has changed."""
    told = [message for message in mail.outbox if "way you sign in has changed" in str(message.body)]
    return [(message.to, str(message.body).split("\n\n")[1]) for message in told]


def enrol(client: Client) -> str:
    secret: str = client.get(reverse("mfa_activate_totp")).context["form"].secret
    client.post(reverse("mfa_activate_totp"), {"code": code_now(secret, 0)})
    return secret


def follow_link(client: Client, message: EmailMessage) -> Any:
    link = urlsplit(re.findall(r"https?://\S+", str(message.body))[0])
    return client.post(link.path)


def test_of_a_changed_password_with_when_from_where_and_by_what(client: Client):
    client.post(reverse("account_change_password"), {"oldpassword": PASSWORD, **GIVEN})
    ((to, said),) = notices()
    assert (to, said.startswith("Your password has been changed.")) == ([OLD], True)
    body = str(mail.outbox[0].body)
    assert "from the address 192.0.2.1, with Firefox on Linux." in body
    assert f"http://testserver{reverse('people:profile-show')}" in body
    assert PASSWORD not in body


def test_of_a_password_that_was_reset(client: Client):
    visitor = Client()
    visitor.post(reverse("account_reset_password"), {"email": OLD})
    link = urlsplit(re.findall(r"https?://\S+", str(mail.outbox[0].body))[0])
    visitor.post(visitor.get(link.path, follow=True).request["PATH_INFO"], GIVEN)
    ((to, said),) = notices()
    assert (to, said.startswith("Your password has been changed.")) == ([OLD], True)


def test_of_a_password_that_was_set_where_there_was_none(client: Client, ann: User):
    ann.set_unusable_password()
    ann.save()
    client.force_login(ann)
    client.post(reverse("account_set_password"), GIVEN)
    assert [to for to, _said in notices()] == [[OLD]]


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("is_confirmed", [True, False])
def test_of_another_address_at_the_old_one_and_not_before_it_counts(client: Client, ann: User, is_confirmed: bool):
    if is_confirmed:
        EmailAddress.objects.create(user=ann, email=OLD, verified=True, primary=True)
    client.get(EMAIL)
    page = client.post(EMAIL, {"action_add": "", "email": NEW}, follow=True).content.decode()
    ann.refresh_from_db()
    assert (ann.email, notices()) == (OLD, [])
    assert f"Your address is {OLD}" in page
    assert f"We sent a link to {NEW}" in page
    follow_link(client, mail.outbox[0])
    ann.refresh_from_db()
    assert ann.email == NEW
    assert notices() == [([OLD], f"Your email has been changed from {OLD} to {NEW}.")]


def test_asking_for_a_third_address_forgets_the_second_and_keeps_the_first(client: Client, ann: User):
    for address in (NEW, "third@example.org"):
        client.post(EMAIL, {"action_add": "", "email": address})
    assert set(EmailAddress.objects.values_list("email", flat=True)) == {OLD, "third@example.org"}
    client.post(EMAIL, {"action_remove": "", "email": "third@example.org"})
    ann.refresh_from_db()
    assert ann.email == OLD
    assert [to for to, _said in notices()] == [[OLD]]


def test_of_a_removed_address_at_that_address(client: Client, ann: User):
    client.get(EMAIL)
    client.post(EMAIL, {"action_remove": "", "email": OLD})
    ann.refresh_from_db()
    assert ann.email == ""
    assert notices() == [([OLD], f"Email address {OLD} has been removed from your account.")]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_the_second_factor_on_and_off_and_of_new_recovery_codes(client: Client):
    enrol(client)
    client.post(reverse("mfa_generate_recovery_codes"))
    client.post(reverse("mfa_deactivate_totp"))
    assert notices() == [
        ([OLD], "Authenticator app activated."),
        ([OLD], "A new set of Two-Factor Authentication recovery codes has been generated."),
        ([OLD], "Authenticator app deactivated."),
    ]


def test_of_a_recovery_code_that_was_used_and_not_of_codes_of_the_app(client: Client):
    secret = enrol(client)
    mail.outbox.clear()
    code = Authenticator.objects.get(type=Authenticator.Type.RECOVERY_CODES).wrap().get_unused_codes()[0]
    for given in (code_now(secret, 1), code):
        client.post(reverse("account_logout"))
        client.post(reverse("account_login"), {"login": "Ann", "password": PASSWORD})
        client.post(reverse("mfa_authenticate"), {"code": given})
        assert "_auth_user_id" in client.session
    assert notices() == [([OLD], "A recovery code was used instead of your app. You have 9 codes left.")]
    assert code not in str(mail.outbox[-1].body)


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize(("may", "said"), [("on", "can read and change"), ("", "can read whatever")])
def test_of_a_token_without_the_token(client: Client, may: str, said: str):
    client.post(reverse("people:token-list"), {"name": "export", "days": "30"} | ({"may_write": may} if may else {}))
    ((to, sentence),) = notices()
    assert to == [OLD]
    assert "“export”" in sentence
    assert said in sentence
    assert ApiToken.objects.get().prefix not in str(mail.outbox[0].body)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_what_an_administrator_changes_without_saying_from_where(admin: Client, ann: User):
    page = reverse("admin:auth_user_password_change", args=[ann.pk])
    admin.post(page, {"usable_password": "true", **GIVEN})
    authenticator = Authenticator.objects.create(user=ann, type=Authenticator.Type.TOTP, data={})
    admin.post(reverse("admin:mfa_authenticator_delete", args=[authenticator.pk]), {"post": "yes"})
    passkey = Authenticator.objects.create(user=ann, type=Authenticator.Type.WEBAUTHN, data={"name": "My phone"})
    admin.post(reverse("admin:mfa_authenticator_delete", args=[passkey.pk]), {"post": "yes"})
    Authenticator.objects.create(user=ann, type=Authenticator.Type.TOTP, data={})
    chosen = {"action": "delete_selected", "_selected_action": Authenticator.objects.get().pk, "post": "yes"}
    admin.post(reverse("admin:mfa_authenticator_changelist"), chosen)
    assert not Authenticator.objects.exists()
    assert [to for to, _said in notices()] == [[OLD]] * 4
    for message in mail.outbox:
        assert "An administrator did this" in str(message.body)
        assert "127.0.0.1" not in str(message.body)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("after", "said"), [(NEW, f"from {OLD} to {NEW}"), ("", f"{OLD} has been removed")])
def test_of_an_address_that_an_administrator_replaces_which_then_lets_nobody_in(
    admin: Client, ann: User, after: str, said: str
):
    EmailAddress.objects.create(user=ann, email=OLD, verified=True, primary=True)
    page = reverse("admin:people_user_change", args=[ann.pk])
    form = admin.get(page).context["adminform"].form
    given = {name: value for name, value in form.initial.items() if value not in (None, False)} | {"email": after}
    given |= {"date_joined_0": "2026-01-01", "date_joined_1": "09:00:00", "is_active": "on"}
    for prefix in ("memberships", "language_skills"):
        given |= {f"{prefix}-TOTAL_FORMS": "0", f"{prefix}-INITIAL_FORMS": "0"}
    assert admin.post(page, given).status_code == 302
    ((to, sentence),) = notices()
    assert to == [OLD]
    assert said in sentence
    mail.outbox.clear()
    Client().post(reverse("account_reset_password"), {"email": OLD})
    assert mail.outbox == []


def test_whoever_reads_arabic_is_told_so_also_by_an_administrator(admin: Client, ann: User):
    User.objects.filter(pk=ann.pk).update(interface_language="ar")
    admin.post(reverse("admin:auth_user_password_change", args=[ann.pk]), {"usable_password": "true", **GIVEN})
    (message,) = mail.outbox
    assert re.search("[\u0600-\u06ff]", str(message.subject))


@pytest.mark.long(reason="at least three others run each of its lines")
def test_an_administrator_who_reads_arabic_tells_others_in_english(admin: Client, ann: User):
    page = reverse("admin:auth_user_password_change", args=[ann.pk])
    admin.post(page, {"usable_password": "true", **GIVEN}, headers={"accept-language": "ar"})
    assert mail.outbox[0].subject == "Password Changed"


def test_where_no_mail_can_be_sent_the_change_stands(client: Client, ann: User, monkeypatch: Any):
    monkeypatch.setattr(EmailMessage, "send", Mock(side_effect=smtplib.SMTPServerDisconnected))
    changed = client.post(reverse("account_change_password"), {"oldpassword": PASSWORD, **GIVEN})
    assert changed.status_code == 302
    ann.refresh_from_db()
    assert ann.check_password(NEW_PASSWORD)


def test_whose_link_to_a_new_address_cannot_be_sent_is_told_and_can_ask_again(client: Client, monkeypatch: Any):
    monkeypatch.setattr(EmailMessage, "send", Mock(side_effect=smtplib.SMTPServerDisconnected))
    page = client.post(EMAIL, {"action_add": "", "email": NEW}, follow=True).content.decode()
    assert "The e-mail could not be sent" in page
    assert "Send the link again" in page


def test_whoever_has_no_address_is_told_nothing():
    user = make_user("bob", email="")
    user.set_password(PASSWORD)
    user.save()
    client_of(user).post(reverse("account_change_password"), {"oldpassword": PASSWORD, **GIVEN})
    user.refresh_from_db()
    assert user.check_password(NEW_PASSWORD)
    assert mail.outbox == []
