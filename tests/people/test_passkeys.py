"""Passkeys: a way in by itself, the second factor beside a password, and counted like passwords when they are wrong."""

from __future__ import annotations

import json
import logging
from datetime import timedelta
from typing import Any

import pytest
from allauth.core.context import request_context
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from axes.models import AccessAttempt
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from core.people import security_log
from core.people.allauth_adapter import FactorAdapter
from core.people.models import PersonalLink, Project, Role, User
from core.people.services.members import add_member
from core.people.services.personal_links import make_link, revoke_link
from core.people.services.sessions import save_password
from tests.clients import client_of
from tests.people.conftest import PASSWORD
from tests.people.passkeys import FLAG, HOST, Passkey, add, asked, sign_in_with
from tests.people.test_data_export import archive_of
from tests.people.test_notices import notices
from tests.people.test_sign_in import TRIES, check_clothes, is_signed_in

pytestmark = pytest.mark.django_db
UNKNOWN = "This passkey is not known here. Sign in another way."
LOGIN, INDEX, LIST = reverse("account_login"), reverse("mfa_index"), reverse("mfa_list_webauthn")


@pytest.fixture
def ann(ann_with_password: User) -> User:
    return ann_with_password


@pytest.fixture
def client(ann: User) -> Client:
    """Ann's, who gave her password twice."""
    client = Client(**HOST)
    client.post(LOGIN, {"login": "Ann", "password": PASSWORD})
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    return client


@pytest.fixture
def passkey(client: Client, ann: User) -> Passkey:
    return add(client, ann)


@pytest.fixture
def other() -> Client:
    """A browser in which nobody is signed in."""
    return Client(**HOST)


def of(ann: User) -> Any:
    return Authenticator.objects.filter(user=ann, type=Authenticator.Type.WEBAUTHN)


def test_a_passkey_signs_in_without_a_password_and_without_another_factor(
    passkey: Passkey, other: Client, ann: User, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, logger=security_log.log.name)
    response = sign_in_with(other, passkey, next=reverse("people:profile-show"))
    assert response["Location"] == reverse("people:profile-show")
    assert is_signed_in(other)
    assert of(ann).get().last_used_at is not None
    events = [(one.event, one.account) for one in caplog.records if one.name == security_log.log.name]  # type: ignore[attr-defined]
    assert events == [("factor-used", ann.pk), ("signed-in", ann.pk)]


def test_it_is_listed_renamed_and_removed_with_mails_and_then_signs_nobody_in(
    client: Client, passkey: Passkey, other: Client, ann: User
):
    row = of(ann).get()
    client.post(reverse("mfa_edit_webauthn", args=[row.pk]), {"name": "Blue phone"})
    page = client.get(LIST, follow=True)
    assert page.redirect_chain == [(INDEX, 302)]
    assert "Blue phone" in page.content.decode()
    assert "Security Keys" not in page.content.decode()
    address = reverse("mfa_remove_webauthn", args=[row.pk])
    assert "Blue phone" in client.get(address).content.decode()
    client.post(address)
    assert not Authenticator.objects.exists(), "its recovery codes go with it"
    assert [said for _to, said in notices()] == ["Passkey added.", "Passkey removed."]
    assert UNKNOWN in other.get(sign_in_with(other, passkey)["Location"]).content.decode()
    assert not is_signed_in(other)


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": b"another passkey", "owner": None},
        {"key": Passkey().key},
        {"flags": FLAG.UP},
        {"origin": "https://evil.example"},
        {"rp": "evil.example"},
    ],
    ids=["of-nobody", "another-key", "unverified", "another-page", "another-site"],
)
def test_a_wrong_answer_signs_nobody_in_and_says_so(passkey: Passkey, other: Client, wrong: dict[str, Any]):
    for name, value in wrong.items():
        setattr(passkey, name, value)
    response = sign_in_with(other, passkey)
    assert response["Location"] == LOGIN
    assert UNKNOWN in other.get(LOGIN).content.decode()
    assert not is_signed_in(other)


def test_an_answer_is_good_once(passkey: Passkey, other: Client):
    address = reverse("mfa_login_webauthn")
    options = other.get(address, headers={"accept": "application/json"}).json()["request_options"]
    answer = {"credential": passkey.answer(options)}
    other.post(address, answer)
    other.post(reverse("account_logout"))
    other.post(address, answer)
    assert not is_signed_in(other)


JUNK = ["", "1", "[]", "{}", "null", '"x"', '{"id": "a", "rawId": "b"}', '{"rawId": "", "response": 7}', "x" * 20_000]


@pytest.mark.parametrize("address", ["mfa_login_webauthn", "mfa_add_webauthn", "mfa_reauthenticate_webauthn"])
def test_what_no_browser_sends_is_refused(client: Client, passkey: Passkey, other: Client, address: str):
    sender = other if address == "mfa_login_webauthn" else client
    half = json.loads(passkey.make({"publicKey": {"challenge": "eA"}}))
    half["response"] |= {"attestationObject": "oA", "authenticatorData": "eA", "signature": "eA", "userHandle": "!"}
    for junk in (*JUNK, json.dumps(half)):
        AccessAttempt.objects.all().delete()
        sender.get(reverse(address), headers={"accept": "application/json"})
        assert sender.post(reverse(address), {"credential": junk}).status_code in (200, 302), junk
    assert Authenticator.objects.filter(type=Authenticator.Type.WEBAUTHN).count() == 1
    assert not is_signed_in(other)


def test_unknown_passkeys_lock_passkeys_at_their_address_and_no_account(passkey: Passkey, other: Client, ann: User):
    forged = Passkey(owner=ann)
    answers = [sign_in_with(other, forged).status_code for _ in range(TRIES)]
    assert answers[-1] == 429
    assert sign_in_with(other, passkey).status_code == 429
    assert not AccessAttempt.objects.filter(username=ann.username.lower()).exists()
    assert "clientDataJSON" not in AccessAttempt.objects.get().post_data
    assert Client(**HOST).post(LOGIN, {"login": "Ann", "password": PASSWORD})["Location"] != LOGIN
    elsewhere = Client(**HOST, REMOTE_ADDR="198.51.100.9")
    sign_in_with(elsewhere, passkey)
    assert is_signed_in(elsewhere)


def test_an_account_that_is_locked_here_is_not_entered_by_its_passkey(passkey: Passkey, other: Client):
    for _ in range(TRIES):
        Client().post(LOGIN, {"login": "Ann", "password": "wrong"})
    assert sign_in_with(other, passkey).status_code == 429
    assert not is_signed_in(other)


def test_the_password_alone_no_longer_signs_in_and_wrong_passkeys_count(passkey: Passkey, other: Client, ann: User):
    second = reverse("mfa_authenticate")
    assert other.post(LOGIN, {"login": "Ann", "password": PASSWORD})["Location"].startswith(second)
    forged = Passkey(owner=ann)
    page = other.post(second, {"credential": forged.answer(asked(other, "mfa_authenticate"))})
    assert UNKNOWN in page.content.decode()
    assert AccessAttempt.objects.get().username == "ann"
    other.post(second, {"credential": passkey.answer(asked(other, "mfa_authenticate"))})
    assert is_signed_in(other)


def test_it_confirms_who_one_is_and_asks_again_after_a_wrong_one(passkey: Passkey, other: Client, ann: User):
    sign_in_with(other, passkey)
    address, tokens = reverse("mfa_reauthenticate_webauthn"), reverse("people:token-list")
    for key, leads_to in ((Passkey(owner=ann), f"{address}?next=%2Fprofile%2Ftokens%2F"), (passkey, tokens)):
        answer = key.answer(asked(other, "mfa_reauthenticate_webauthn"))
        assert other.post(address, {"credential": answer, "next": tokens})["Location"] == leads_to
    assert other.get(tokens).status_code == 200
    check_clothes(other, "mfa_index", "mfa_reauthenticate_webauthn")


def test_without_scripts_pages_say_that_a_passkey_needs_them(client: Client, other: Client):
    for page in (other.get(LOGIN), client.get(reverse("mfa_add_webauthn"))):
        assert '<noscript><p class="notice">A passkey needs JavaScript.</p></noscript>' in page.content.decode()
        assert 'type="submit" hidden>' in page.content.decode()


def test_a_manager_who_must_have_a_second_factor_may_have_a_passkey(
    client: Client, ann: User, project: Project, settings: Any
):
    settings.SECOND_FACTOR_REQUIRED = True
    add_member(project=project, user=ann, role=Role.MANAGER)
    profile, setup = reverse("people:profile-show"), reverse("mfa_activate_totp")
    assert reverse("mfa_add_webauthn") in client.get(profile, follow=True).content.decode()
    add(client, ann)
    assert client.get(profile).status_code == 200
    client.post(reverse("mfa_remove_webauthn", args=[of(ann).get().pk]))
    assert client.get(profile)["Location"] == setup


def test_nobody_reaches_the_passkey_of_another(passkey: Passkey, ann: User, outsider: User):
    for name in ("mfa_edit_webauthn", "mfa_remove_webauthn"):
        address = reverse(name, args=[of(ann).get().pk])
        for answer in (client_of(outsider).get(address), client_of(outsider).post(address, {"name": "mine"})):
            assert answer.status_code == 404
    assert of(ann).get().data["name"] == "My phone"


def test_the_file_of_ones_data_has_its_name_and_no_key(passkey: Passkey, ann: User):
    factors = archive_of(ann)["account/second-factors.json"]
    assert [row["name"] for row in factors] == ["My phone", None]
    assert all(set(row) == {"type", "name", "created_at", "last_used_at"} for row in factors)


@pytest.fixture
def guest(project: Project, annotator: User) -> User:
    """An annotator without a password."""
    annotator.set_unusable_password()
    annotator.save()
    return annotator


def test_whoever_has_a_personal_link_comes_in_by_either(guest: User, other: Client):
    link = reverse("people:link-open", args=[make_link(user=guest, now=timezone.now())])
    first = Client(**HOST)
    first.post(link)
    assert reverse("mfa_add_webauthn") in first.get(link).content.decode()
    passkey = add(first, guest)
    second = Client(**HOST)
    second.post(link)
    assert is_signed_in(second), "the link asks for no passkey"
    PersonalLink.objects.update(expires_at=timezone.now() - timedelta(days=1))
    sign_in_with(other, passkey)
    assert is_signed_in(other), "the passkey needs no link"


@pytest.mark.parametrize("by", ["the manager", "the manager, after its last day", "the owner", "a password"])
def test_what_ends_the_link_ends_passkeys_and_services_that_were_added_with_it(
    guest: User, project: Project, other: Client, by: str
):
    first = Client(**HOST)
    first.post(reverse("people:link-open", args=[make_link(user=guest, now=timezone.now())]))
    passkey = add(first, guest)
    SocialAccount.objects.create(user=guest, provider="university", uid="1")
    if by == "a password":
        assert "It removes your passkeys" in first.get(reverse("account_set_password")).content.decode()
        first.post(reverse("account_set_password"), {"password1": "seven tall giraffes"})
    elif by == "the owner":
        assert "It removes your passkeys" in first.get(reverse("people:profile-show")).content.decode()
        first.post(reverse("people:link-renew"))
    else:
        if by != "the manager":
            PersonalLink.objects.update(expires_at=timezone.now())
        revoke_link(person=guest, by=project.created_by, now=timezone.now())
    assert not Authenticator.objects.filter(user=guest).exists()
    assert not SocialAccount.objects.filter(user=guest).exists()
    sign_in_with(other, passkey)
    assert not is_signed_in(other)


def test_who_has_a_password_and_no_link_keeps_passkeys_with_a_new_one(passkey: Passkey, ann: User):
    ann.set_password("seven tall giraffes")
    save_password(user=ann, now=timezone.now())
    assert of(ann).filter(type=Authenticator.Type.WEBAUTHN).exists()


def test_who_has_a_link_and_a_passkey_reads_that_the_deletion_of_the_account_asks_for_it(guest: User):
    client = client_of(guest)
    assert "You will be asked for" not in client.get(reverse("people:account-delete")).content.decode()
    Authenticator.objects.create(user=guest, type=Authenticator.Type.WEBAUTHN, data={"name": "My phone"})
    assert "You will be asked for" in client.get(reverse("people:account-delete")).content.decode()


@pytest.mark.parametrize(
    ("host", "named"),
    [
        ("crosslens.example", "crosslens.example"),
        ("www.crosslens.example:8443", "crosslens.example"),
        ("localhost:8000", "localhost"),
        ("notcrosslens.example", "notcrosslens.example"),
    ],
)
def test_browsers_keep_it_for_the_site_and_where_that_is_not_the_host_for_the_host(
    settings: Any, rf: RequestFactory, host: str, named: str
):
    settings.SITE_URL, settings.ALLOWED_HOSTS = "https://crosslens.example/", ["*"]
    with request_context(rf.get("/", headers={"host": host})):
        assert FactorAdapter().get_public_key_credential_rp_entity() == {"id": named, "name": "Crosslens"}
