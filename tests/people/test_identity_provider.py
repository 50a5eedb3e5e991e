"""Signing in by SAML through SimpleSAMLphp, from its own page for passwords to our roles."""

from __future__ import annotations

import base64
import dataclasses
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from allauth.socialaccount.models import SocialAccount
from django.test import Client
from django.urls import reverse

from core.people.models import Membership, User
from core.people.rules.sign_in_providers import GivenRole, SignInProvider
from tests.factories import make_project, make_user
from tests.people.identity_provider import PASSWORD, Answer, SimpleSamlPhp, find_simplesamlphp, key_and_certificate
from tests.servers import missing
from tests.tiers import some

pytestmark = [pytest.mark.django_db, pytest.mark.process]
HOST = "crosslens.example.org"
UMA = {"mail": ["uma@example.org"], "eduPersonPrincipalName": ["uma@example.org"], "groups": ["captioners"]}


@pytest.fixture(scope="module")
def idp(tmp_path_factory) -> Iterator[SimpleSamlPhp]:
    php = find_simplesamlphp()
    if php is None:
        missing("SimpleSAMLphp")
    idp = SimpleSamlPhp(tmp_path_factory.mktemp("idp"), str(php))
    idp.trusts(b'<EntitiesDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata"/>')
    idp.knows(uma=UMA)
    process = idp.start()
    yield idp
    process.terminate()
    process.wait()


@pytest.fixture
def client() -> Client:
    return Client(headers={"host": HOST})


def configure(idp: SimpleSamlPhp, settings: Any) -> SignInProvider:
    idp.knows(uma=UMA)
    service = SignInProvider(
        id="fed", kind="saml", name="Federation", domains=("example.org",), trusts_addresses=True, groups="groups",
        roles={"captioners": (GivenRole("lab", "annotator"),)}, links_by_address=False, opens_accounts=True,
        settings=idp.settings(),
    )  # fmt: skip
    settings.SIGN_IN_PROVIDERS = {"fed": service}
    return service


@pytest.fixture
def service(idp, settings, client) -> SignInProvider:
    """Crosslens and the provider, each knowing the other by its metadata."""
    service = configure(idp, settings)
    settings.ALLOWED_HOSTS = [HOST]
    idp.trusts(client.get(reverse("saml_metadata", args=["fed"])).content)
    return service


def at_the_provider(client: Client, idp: SimpleSamlPhp, name: str = "uma") -> Answer:
    """Leave for the provider and sign in there; returns what it sends back."""
    return idp.sign_in(client.post(reverse("saml_login", args=["fed"]))["Location"], name)


def come_back(client: Client, answer: Answer, **changes: str) -> Any:
    return client.post(urlsplit(answer.action).path, answer.fields | changes, follow=True)


def test_somebody_signs_in_with_an_account_of_their_institution(client, idp, service):
    project = make_project("lab")
    answer = at_the_provider(client, idp)
    assert answer.action == f"http://{HOST}{reverse('saml_acs', args=['fed'])}"
    come_back(client, answer)
    user = User.objects.get(email="uma@example.org")
    assert int(client.session["_auth_user_id"]) == user.pk
    assert Membership.objects.get(user=user, project=project).role == "annotator"

    idp.knows(uma=UMA | {"groups": []})
    client.logout()
    come_back(client, at_the_provider(client, idp))
    assert int(client.session["_auth_user_id"]) == user.pk
    assert not Membership.objects.filter(user=user).exists()
    assert SocialAccount.objects.count() == 1


@pytest.mark.long(reason="at least three others run each of its lines")
def test_whoever_left_a_page_to_sign_in_comes_back_to_it(client, idp, service):
    to = reverse("people:profile-show")
    leads_to = client.post(f"{reverse('saml_login', args=['fed'])}?next={to}")["Location"]
    page = come_back(client, idp.sign_in(leads_to, "uma"))
    assert page.redirect_chain[-1][0] == to
    assert page.context["user"].email == "uma@example.org"


def test_an_account_from_before_is_connected_from_its_profile_alone(client, idp, service):
    user = make_user("uma", email="uma@example.org")
    page = come_back(client, at_the_provider(client, idp))
    assert "You already have an account here with this e-mail address" in page.content.decode()
    assert "_auth_user_id" not in client.session
    client.force_login(user)
    leads_to = client.post(f"{reverse('saml_login', args=['fed'])}?process=connect")["Location"]
    come_back(client, idp.sign_in(leads_to, "uma"))
    client.logout()
    come_back(client, at_the_provider(client, idp))
    assert int(client.session["_auth_user_id"]) == user.pk


def _changed(response: str, old: bytes, new: bytes) -> str:
    raw = base64.b64decode(response)
    assert old in raw
    return base64.b64encode(raw.replace(old, new)).decode()


def _unsigned(response: str) -> str:
    raw, count = re.subn(rb"<ds:Signature .*?</ds:Signature>", b"", base64.b64decode(response), flags=re.DOTALL)
    assert count
    return base64.b64encode(raw).decode()


def _wrapped(response: str) -> str:
    """Put a forged person before the one whom the provider signed."""
    raw = base64.b64decode(response)
    (signed,) = re.findall(rb"<saml:Assertion .*</saml:Assertion>", raw, flags=re.DOTALL)
    forged = re.sub(rb' ID="[^"]+"', b' ID="_forged"', signed, count=1).replace(b"uma@", b"eve@")
    return base64.b64encode(raw.replace(signed, forged + signed)).decode()


@pytest.mark.parametrize(
    "forge",
    some(
        [
            lambda response: _changed(response, b"uma@example.org", b"eve@example.org"),
            _unsigned,
            _wrapped,
            lambda response: response[:-401],
            lambda response: base64.b64encode(b"<!DOCTYPE x>" + base64.b64decode(response)).decode(),
            lambda response: "é",
            lambda response: _changed(response, b">captioners<", b">managers<"),
            lambda response: _changed(_unsigned(response), b"uma@example.org", b"eve@example.org"),
            lambda response: response[:-400],
            lambda response: "",
        ],
        short=6,
        reason="each way to forge is among the first",
    ),
)
def test_a_forged_response_signs_nobody_in(client, idp, service, forge):
    answer = at_the_provider(client, idp)
    page = come_back(client, answer, SAMLResponse=forge(answer.fields["SAMLResponse"]))
    assert "Something went wrong" in page.content.decode()
    assert "_auth_user_id" not in client.session
    assert not User.objects.filter(email__endswith="@example.org", username="uma").exists()


@pytest.mark.long(reason="at least three others run each of its lines")
def test_a_response_of_another_provider_signs_nobody_in(client, idp, service, settings):
    answer = at_the_provider(client, idp)
    other = key_and_certificate.__wrapped__()[1]
    trusted = dataclasses.replace(service, settings=service.settings | {"certificate": other})
    settings.SIGN_IN_PROVIDERS = {"fed": trusted}
    page = come_back(client, answer)
    assert "Something went wrong" in page.content.decode()


class TestNamesOfPeople:
    def test_a_name_that_is_another_each_time_signs_nobody_in(self, client, idp, service, caplog):
        idp.knows(uma={"mail": UMA["mail"]})
        page = come_back(client, at_the_provider(client, idp))
        assert "Something went wrong" in page.content.decode()
        assert "it gave no lasting name of the person" in caplog.text
        assert not User.objects.filter(email="uma@example.org").exists()

    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.parametrize("name", some(["subject-id", "pairwise-id"], short=1, reason="both stand in one list"))
    def test_an_attribute_made_for_it_is_enough(self, client, idp, service, name):
        idp.knows(uma={"mail": UMA["mail"], f"urn:oasis:names:tc:SAML:attribute:{name}": ["u1@example.org"]})
        for _twice in range(2):
            client.logout()
            come_back(client, at_the_provider(client, idp))
            assert "_auth_user_id" in client.session
        assert SocialAccount.objects.get().uid == "u1@example.org"

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_the_operator_can_name_another_and_the_address_is_still_found(self, client, idp, service, settings):
        named = service.settings | {"attributes": {"uid": "urn:oid:0.9.2342.19200300.100.1.1"}}
        settings.SIGN_IN_PROVIDERS = {"fed": dataclasses.replace(service, settings=named)}
        idp.knows(uma={"mail": UMA["mail"], "uid": ["u1"]})
        come_back(client, at_the_provider(client, idp))
        assert SocialAccount.objects.get().uid == "u1"
        assert User.objects.get(email="uma@example.org")


@pytest.mark.long(reason="at least three others run each of its lines")
def test_the_metadata_do_not_end_and_announce_no_single_logout(client, service):
    metadata = client.get(reverse("saml_metadata", args=["fed"])).content.decode()
    assert "AssertionConsumerService" in metadata
    assert "validUntil" not in metadata
    assert "SingleLogoutService" not in metadata
    client.force_login(make_user("uma"))
    page = client.get(reverse("saml_sls", args=["fed"]), {"SAMLRequest": "PHgvPg=="})
    assert page["Location"] == reverse("account_logout")
    assert "_auth_user_id" in client.session


def test_a_browser_leaves_for_the_provider_and_comes_back_signed_in(page, live_server, idp, settings):
    """Other tests do not see cookies that browsers keep back between sites, nor forms that our policy stops."""
    service = configure(idp, settings)
    policy = settings.CONTENT_SECURITY_POLICY
    forms = [*policy["DIRECTIVES"]["form-action"], *service.origins]
    settings.CONTENT_SECURITY_POLICY = policy | {"DIRECTIVES": policy["DIRECTIVES"] | {"form-action": forms}}
    idp.trusts(httpx.get(live_server.url + reverse("saml_metadata", args=["fed"])).content)
    to = reverse("people:profile-show")
    page.goto(live_server.url + to)
    page.get_by_role("button", name="Continue with Federation").click()
    page.wait_for_url(f"{idp.address}/**")
    page.locator("#username").fill("uma")
    page.locator("#password").fill(PASSWORD)
    page.locator("#password").press("Enter")
    page.wait_for_url(live_server.url + to)
    assert User.objects.get(email="uma@example.org")
