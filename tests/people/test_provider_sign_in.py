"""Signing in with other services: OpenID Connect with a provider program, SAML with signed responses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.test import Client
from django.urls import reverse

from core.people.models import Membership, User
from core.people.rules.sign_in_providers import GivenRole, SignInProvider
from core.people.services.accounts import delete_account
from tests.factories import NOW, make_project, make_user
from tests.people.identity_provider import ENTITY_ID, SIGN_IN_URL, IdentityProvider, key_and_certificate
from tests.tiers import some

pytestmark = pytest.mark.django_db
HOST = "crosslens.example.org"
UMA = {"email": "uma@example.org", "email_verified": True, "preferred_username": "uma", "groups": ["captioners"]}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    from oidc_provider_mock import User as Claims
    from oidc_provider_mock import run_server_in_thread

    with run_server_in_thread(user_claims=[Claims(sub="uma", claims=UMA)]) as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture
def provider(server, settings) -> Any:
    def configured(**about: Any) -> SignInProvider:
        values: dict[str, Any] = {
            "id": "uni", "kind": "openid", "name": "Example University", "domains": ("example.org",),
            "trusts_addresses": False, "groups": "groups",
            "roles": {"captioners": (GivenRole("lab", "annotator"),)}, "links_by_address": False,
            "opens_accounts": True, "settings": {"server": server, "client_id": "crosslens", "secret": "s3cret"},
        }  # fmt: skip
        made = SignInProvider(**(values | about))
        settings.SIGN_IN_PROVIDERS = {made.id: made}
        return made

    configured()
    return configured


def become(server: str, sub: str = "uma", **claims: Any) -> None:
    """Say to the provider what it knows about somebody."""
    httpx.put(f"{server}/users/{sub}", json=UMA | claims).raise_for_status()


def leave(client: Client, *, process: str = "") -> str:
    """Go to the provider; returns the address that our form leads to."""
    address = reverse("openid_connect_login", args=["uni"]) + (f"?process={process}" if process else "")
    return client.post(address)["Location"]


def come_back(client: Client, leads_to: str, sub: str = "uma", **changes: str) -> Any:
    """Sign in at the provider, and follow it back."""
    answered = httpx.post(leads_to, data={"sub": sub, "action": "authorize"})
    query = {name: values[0] for name, values in parse_qs(urlsplit(answered.headers["Location"]).query).items()}
    return client.get(reverse("openid_connect_callback", args=["uni"]), query | changes, follow=True)


def sign_in(client: Client, sub: str = "uma") -> Any:
    return come_back(client, leave(client), sub)


class TestOpenIDConnect:
    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_the_way_in_uses_pkce_and_makes_an_account_with_its_roles(self, client, provider, server):
        project = make_project("lab")
        become(server)
        page = client.get(reverse("account_login"))
        assert "Continue with Example University" in page.content.decode()
        query = parse_qs(urlsplit(leads_to := leave(client)).query)
        assert query["code_challenge_method"] == ["S256"]
        come_back(client, leads_to)
        user = User.objects.get(username="uma")
        assert (user.email, user.has_usable_password()) == ("uma@example.org", False)
        assert int(client.session["_auth_user_id"]) == user.pk
        assert Membership.objects.get(user=user, project=project).role == "annotator"
        assert SocialAccount.objects.get().extra_data == {"groups": ["captioners"]}, "nothing else is kept"

        become(server, groups=[])
        client.logout()
        sign_in(client)
        assert not Membership.objects.filter(user=user).exists()
        assert User.objects.filter(username="uma").count() == 1

    @pytest.mark.parametrize(
        "claims",
        some(
            [{"email": "x@sub.example.org"}, {"email_verified": False}, {"email": None}, {"email": "uma@evil.org"}],
            short=3,
            reason="the first has another domain, too",
        ),
    )
    def test_without_a_confirmed_address_of_the_domain_nobody_comes_in(self, client, provider, server, claims):
        become(server, **claims)
        page = sign_in(client)
        assert "gave no e-mail address that may be used here" in page.content.decode()
        assert not User.objects.filter(username="uma").exists()

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_without_domains_an_unconfirmed_address_is_not_taken_over(self, client, provider, server):
        provider(domains=())
        become(server, email_verified=False)
        sign_in(client)
        assert User.objects.get(username="uma").email == ""

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_an_address_that_another_account_never_confirmed_is_in_nobodys_way(self, client, provider, server):
        squatter = make_user("squatter", email="squatter@example.org")
        EmailAddress.objects.create(user=squatter, email="uma@example.org", verified=False)
        become(server)
        sign_in(client)
        user = User.objects.get(username="uma")
        assert int(client.session["_auth_user_id"]) == user.pk
        assert EmailAddress.objects.get(user=user).verified

    def test_an_account_with_the_same_address_is_not_entered(self, client, provider, server):
        owner = make_user("owner", email="uma@example.org")
        become(server)
        page = sign_in(client)
        assert "You already have an account here" in page.content.decode()
        assert "_auth_user_id" not in client.session
        assert not SocialAccount.objects.filter(user=owner).exists()

    def test_it_is_entered_where_the_operator_asked_for_that(self, client, provider, server):
        provider(links_by_address=True)
        owner = make_user("owner", email="uma@example.org")
        become(server)
        sign_in(client)
        assert int(client.session["_auth_user_id"]) == owner.pk

    def test_somebody_connects_and_disconnects_it_on_a_page(self, client, provider, server):
        owner = make_user("owner", email="owner@example.org")
        owner.set_password("look-then-write")
        owner.save()
        client.post(reverse("account_login"), {"login": "owner", "password": "look-then-write"})
        become(server)
        page = client.get(reverse("people:profile-show")).content.decode()
        assert reverse("socialaccount_connections") in page
        come_back(client, leave(client, process="connect"))
        client.post(reverse("account_reauthenticate"), {"password": "look-then-write"}, follow=True)
        account = SocialAccount.objects.get(user=owner)
        shown = client.get(reverse("socialaccount_connections")).content.decode()
        assert "Disconnect Example University" in shown
        client.post(reverse("socialaccount_connections"), {"account": account.pk})
        assert not SocialAccount.objects.exists()

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_accounts_are_opened_only_where_that_is_allowed(self, client, provider, server):
        provider(opens_accounts=False)
        become(server)
        sign_in(client)
        assert not User.objects.filter(username="uma").exists()

    @pytest.mark.long(reason="at least three others run each of its lines")
    @pytest.mark.parametrize("changes", [{"state": "forged"}, {"code": "forged"}])
    def test_a_forged_return_signs_nobody_in(self, client, provider, server, changes):
        become(server)
        page = come_back(client, leave(client), **changes)
        assert "Something went wrong" in page.content.decode()
        assert "_auth_user_id" not in client.session

    def test_another_browser_cannot_finish_the_way_in(self, client, provider, server):
        become(server)
        come_back(Client(), leave(client))
        assert not User.objects.filter(username="uma").exists()

    def test_an_unknown_service_is_not_found_and_a_link_does_not_begin(self, client, provider):
        assert client.post(reverse("openid_connect_login", args=["other"])).status_code == 404
        begun = client.get(reverse("openid_connect_login", args=["uni"]))
        assert "Location" not in begun or "localhost" not in begun["Location"]

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_whoever_deletes_the_account_is_forgotten(self, client, provider, server):
        become(server)
        sign_in(client)
        delete_account(user=User.objects.get(username="uma"), now=NOW)
        assert not SocialAccount.objects.exists()
        assert not EmailAddress.objects.exists()


@pytest.mark.long(reason="at least three others run each of its lines")
def test_without_services_the_pages_say_nothing_of_them(client):
    assert "Continue with" not in client.get(reverse("account_login")).content.decode()
    client.force_login(make_user("anna"))
    assert reverse("socialaccount_connections") not in client.get(reverse("people:profile-show")).content.decode()


def test_forms_may_lead_to_the_services_alone(settings):
    from config import settings as ours

    assert re.search(r"form-action", str(ours.CONTENT_SECURITY_POLICY))
    assert ours.CONTENT_SECURITY_POLICY["DIRECTIVES"]["form-action"] == ["'self'"], "none are configured"


class TestSaml:
    ADDRESS = "urn:oid:0.9.2342.19200300.100.1.3"

    @pytest.fixture(autouse=True)
    def provider(self, settings) -> None:
        given = {"entity_id": ENTITY_ID, "sign_in_url": SIGN_IN_URL, "certificate": key_and_certificate()[1]}
        made = SignInProvider(
            id="fed", kind="saml", name="Federation", domains=("example.org",), trusts_addresses=True, groups="groups",
            roles={"captioners": (GivenRole("lab", "annotator"),)}, links_by_address=False, opens_accounts=True,
            settings=given,
        )  # fmt: skip
        settings.SIGN_IN_PROVIDERS = {"fed": made}
        settings.ALLOWED_HOSTS = [HOST]

    @pytest.fixture
    def client(self) -> Client:
        return Client(headers={"host": HOST})

    @pytest.fixture
    def idp(self) -> IdentityProvider:
        return IdentityProvider({self.ADDRESS: ["uma@example.org"], "groups": ["captioners"]})

    def come_back(self, client: Client, response: str) -> Any:
        return client.post(reverse("saml_acs", args=["fed"]), {"SAMLResponse": response}, follow=True)

    def leave(self, client: Client) -> str:
        return client.post(reverse("saml_login", args=["fed"]))["Location"]

    def test_a_signed_response_to_our_request_signs_in_with_its_roles(self, client, idp):
        project = make_project("lab")
        assert "Continue with Federation" in client.get(reverse("account_login")).content.decode()
        leads_to = self.leave(client)
        assert leads_to.startswith(SIGN_IN_URL)
        self.come_back(client, idp.answer(leads_to))
        user = User.objects.get(email="uma@example.org")
        assert int(client.session["_auth_user_id"]) == user.pk
        assert Membership.objects.get(user=user, project=project).role == "annotator"
        client.logout()
        self.come_back(client, idp.answer(self.leave(client)))
        assert SocialAccount.objects.count() == 1

    @pytest.mark.parametrize(
        "about", [{"signs": False}, {"audience": "https://other.example.org"}, {"late_by": timedelta(hours=2)}]
    )
    def test_what_is_not_signed_or_for_another_or_too_old_signs_nobody_in(self, client, idp, about):
        page = self.come_back(client, idp.answer(self.leave(client), **about))
        assert "Something went wrong" in page.content.decode()
        assert not User.objects.filter(email="uma@example.org").exists()

    @pytest.mark.long(reason="at least three others run each of its lines")
    def test_a_response_is_taken_once_and_only_where_it_was_asked_for(self, client, idp):
        response = idp.answer(self.leave(client))
        other = Client(headers={"host": HOST})
        self.come_back(other, response)
        assert "_auth_user_id" not in other.session
        self.come_back(client, response)
        client.logout()
        self.come_back(client, response)
        assert "_auth_user_id" not in client.session

    def test_other_domains_stay_out(self, client, idp):
        idp.attributes[self.ADDRESS] = ["uma@evil.org"]
        page = self.come_back(client, idp.answer(self.leave(client)))
        assert "gave no e-mail address that may be used here" in page.content.decode()

    def test_the_metadata_for_the_provider_are_there(self, client):
        metadata = client.get(reverse("saml_metadata", args=["fed"]))
        assert metadata.status_code == 200
        assert reverse("saml_acs", args=["fed"]) in metadata.content.decode()
