"""Where accounts differ from allauth: its adapters, and its check of a password."""

from __future__ import annotations

import logging
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.auth_backends import AuthenticationBackend
from allauth.account.models import EmailAddress
from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialLogin
from allauth.socialaccount.providers.base import AuthProcess
from allauth.socialaccount.providers.saml.provider import SAMLProvider
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _

from core.compiled_query import CompiledQuery
from core.people.models import User
from core.people.requests import keep_language
from core.people.rules.devices import device_of
from core.people.rules.sign_in_providers import SignInProvider, given_roles, is_allowed
from core.people.selectors.accounts import account_named, owner_of
from core.people.services.lockout import know_browser
from core.people.services.members import follow_groups
from core.people.services.sessions import save_password

log = logging.getLogger(__name__)
# Both are kept for one person for ever. Where a service gives neither, it is its NameID.
_NAMES_OF_PEOPLE = [f"urn:oasis:names:tc:SAML:attribute:{name}" for name in ("subject-id", "pairwise-id")]
_TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"


class AccountAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return False: accounts are made on the page of an invitation, `people:invitation-accept`."""
        return False

    def clean_username(self, username: str, shallow: bool = False) -> str:
        cleaned: str = super().clean_username(username, shallow)
        if "@" in cleaned:
            raise ValidationError(_("A user name cannot contain @. Only e-mail addresses do."))
        return cleaned

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the address of a request; an IPv4 address mapped into IPv6 is returned as IPv4.

        Locks and limits count the first half of an IPv6 address, in which all of IPv4 would be one.
        """
        address = ip_address(super().get_client_ip(request))
        return str((address.version == 6 and address.ipv4_mapped) or address)

    def can_delete_email(self, email_address: EmailAddress) -> bool:
        """Keep the address in force while a new one waits: allauth would replace it with the unconfirmed one."""
        of_account = EmailAddress.objects.filter(user=email_address.user)
        return email_address.email != email_address.user.email or of_account.count() == 1

    def confirm_email(self, request: HttpRequest, email_address: EmailAddress) -> bool:
        """Make an address its account's own, unless another account has it by now."""
        owner = owner_of(email_address.email)
        if owner is not None and owner.pk != email_address.user_id:
            details = {"email": email_address.email}
            self.add_message(request, messages.ERROR, "account/messages/email_confirmation_failed.txt", details)
            return False
        confirmed: bool = super().confirm_email(request, email_address)
        return confirmed

    def set_password(self, user: User, password: str) -> None:
        """Store a new password, whether it is changed, set or reset, and end sessions from the old one."""
        user.set_password(password)  # slow on purpose, so before the transaction, which on SQLite blocks all writers
        save_password(user=user, this=self.request.session.session_key, now=timezone.now())

    def send_notification_mail(
        self, template_prefix: str, user: User, context: dict[str, Any] | None = None, email: str | None = None
    ) -> None:
        """Mail `user`, in their language, that the way they sign in has changed.

        The change is kept if no mail can be sent.
        """
        details = context or {}
        # Somebody whose only address was removed gets the mail there.
        to = email or EmailAddress.objects.get_primary_email(user) or details.get("deleted_email")
        by_another = self.request.user.is_authenticated and self.request.user.pk != user.pk
        details |= {
            "by_another": by_another,
            "device": device_of(self.get_http_user_agent(self.request)),
            "profile_url": self.request.build_absolute_uri(reverse("people:profile-show")),
        }
        language = user.interface_language or (settings.LANGUAGE_CODE if by_another else get_language())
        try:
            with override(language):
                super().send_notification_mail(template_prefix, user, details, to)
        except OSError:  # SMTPException is one
            log.warning("No mail could be sent about %s to account %s", template_prefix, user.pk)

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        passkey = {"description": _("Use a passkey")}
        methods = super().get_reauthentication_methods(user)
        return [one | (passkey if one["id"].endswith(":webauthn") else {}) for one in methods]

    def post_login(self, request: HttpRequest, user: Any, **about: Any) -> HttpResponse:
        if login := (about.get("signal_kwargs") or {}).get("sociallogin"):
            _follow(login.account)
        response: HttpResponse = super().post_login(request, user, **about)
        know_browser(response, user)
        if user.interface_language:
            keep_language(response, user.interface_language)
        return response


class FactorAdapter(DefaultMFAAdapter):
    """Second factors and passkeys: whom they are asked of, and what browsers store of us and of the person."""

    def is_mfa_enabled(self, user: Any, types: list[str] | None = None) -> bool:
        """Ask nobody for a passkey after their personal link: to them it is another way in, not a second factor."""
        match = getattr(context.request, "resolver_match", None)
        if types and match is not None and match.view_name == "people:link-open":
            types = [one for one in types if one != Authenticator.Type.WEBAUTHN]
        enabled: bool = super().is_mfa_enabled(user, types)
        return enabled

    def generate_authenticator_name(self, user: Any, type: Authenticator.Type) -> str:
        return device_of(context.request.headers.get("User-Agent", ""))

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        """Name the site, so that a passkey is good at all of its hosts; elsewhere, the host of the request."""
        host = urlsplit(f"//{context.request.get_host()}").hostname or ""
        site = urlsplit(settings.SITE_URL).hostname or ""
        is_of_site = host == site or host.endswith(f".{site}")
        return {"id": site if is_of_site else host, "name": self.get_totp_issuer()}


class ProviderAdapter(DefaultSocialAccountAdapter):
    """Signing in with another service: those of SIGN_IN_PROVIDERS alone, by confirmed addresses of their domains."""

    def list_apps(
        self, request: HttpRequest, provider: str | None = None, client_id: str | None = None
    ) -> list[SocialApp]:
        apps = [_app(one) for one in settings.SIGN_IN_PROVIDERS.values()]
        apps = [app for app in apps if provider in (None, app.provider, app.provider_id)]
        return [app for app in apps if client_id in (None, app.client_id)]

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Keep groups and confirmed addresses of what the service said, and refuse who may not come in by it."""
        provider = _provider_of(sociallogin.account)
        said = sociallogin.account.extra_data
        groups = {**said.get("id_token", {}), **said.get("userinfo", {}), **said}.get(provider.groups) or []
        sociallogin.account.extra_data = {"groups": [groups] if isinstance(groups, str) else list(map(str, groups))}
        if sociallogin.is_existing:
            sociallogin.account.save(update_fields=["extra_data"])
        confirmed = [one.email.lower() for one in sociallogin.email_addresses if one.verified]
        addresses = [address for address in confirmed if is_allowed(address, provider.domains)]
        if provider.domains and not addresses:
            text = _(
                "%(name)s gave no e-mail address that may be used here. Use another account, or sign in with your "
                "password."
            )
            raise _refused(request, text % {"name": provider.name})
        sociallogin.email_addresses = [one for one in sociallogin.email_addresses if one.email.lower() in addresses]
        if sociallogin.is_existing or sociallogin.state.get("process") == AuthProcess.CONNECT:
            return
        sociallogin.user.email = addresses[0] if addresses else ""
        owner = owner_of(addresses[0]) if addresses else None
        if owner is not None and not provider.links_by_address:
            text = _(
                "You already have an account here with this e-mail address. Sign in to it, then connect %(name)s "
                "in your profile."
            )
            raise _refused(request, text % {"name": provider.name})
        if owner is not None:
            sociallogin.connect(request, owner)
        else:
            # allauth would stop at an address that another account gave without confirming it.
            sociallogin.email_addresses = []

    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> User:
        user: User = super().save_user(request, sociallogin, form)
        if user.email:
            confirmed = {"verified": True, "primary": True}
            EmailAddress.objects.update_or_create(user=user, email=user.email, defaults=confirmed)
        return user

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        return _provider_of(sociallogin.account).opens_accounts

    def on_authentication_error(self, request: HttpRequest, provider: Any, *about: Any, **more: Any) -> None:
        log.warning("Nobody could be signed in with %s: %s", provider.name, more.get("exception") or more.get("error"))
        raise _refused(request, _("Something went wrong"))

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: SocialAccount) -> str:
        return reverse("socialaccount_connections")


class SamlProvider(SAMLProvider):
    # allauth looks for addresses beside this class otherwise.
    package = "allauth.socialaccount.providers.saml"

    def extract_uid(self, data: Any) -> str:
        """Return the service's name of a person; refuse a name that is another each time."""
        named = self._extract(data).get("uid")
        if named is None and data.get_nameid_format() != _TRANSIENT:
            named = data.get_nameid()
        if not named:
            log.warning(
                "Nobody could be signed in with %s: it gave no lasting name of the person. It must give subject-id, "
                "pairwise-id or a persistent NameID, or name the attribute in “attributes” as “uid”.",
                self.name,
            )
            raise _refused(self.request, _("Something went wrong"))
        return str(named)


def _app(provider: SignInProvider) -> SocialApp:
    given = provider.settings
    if provider.kind == "openid":
        about = {"server_url": given["server"], "oauth_pkce_enabled": True}
        app = SocialApp(provider="openid_connect", provider_id=provider.id, client_id=given["client_id"])
        app.secret = given["secret"]
    else:
        idp = {"entity_id": given["entity_id"], "sso_url": given["sign_in_url"], "x509cert": given["certificate"]}
        usual = SAMLProvider.default_attribute_mapping | {"uid": _NAMES_OF_PEOPLE}
        about = {"idp": idp, "attribute_mapping": usual | given.get("attributes", {})}
        app = SocialApp(provider="saml", provider_id=given["entity_id"], client_id=provider.id)
    app.name = provider.name
    app.settings = {**about, "verified_email": provider.trusts_addresses}
    return app


def _provider_of(account: SocialAccount) -> SignInProvider:
    for one in settings.SIGN_IN_PROVIDERS.values():
        if account.provider in (one.id, one.settings.get("entity_id")):
            found: SignInProvider = one
            return found
    raise SocialApp.DoesNotExist


def _follow(account: SocialAccount) -> None:
    provider = _provider_of(account)
    wanted = given_roles(provider, account.extra_data.get("groups", []))
    follow_groups(user=account.user, provider=provider.id, wanted=wanted, now=timezone.now())


def _refused(request: HttpRequest, why: str) -> ImmediateHttpResponse:
    messages.error(request, why)
    return ImmediateHttpResponse(redirect("account_login"))


# Every request of somebody who is signed in asks it: saves 0.2 ms.
ACCOUNT = CompiledQuery(lambda account: User.objects.filter(pk=account), account=int)


class AccountBackend(AuthenticationBackend):
    """Checks a password once.

    allauth would check twice for an address's owner, and sign in somebody who only gave an address if it has no owner:
    both the response time and the response would reveal to a stranger whether there is an account.
    """

    def get_user(self, user_id: int) -> User | None:
        """Do what Django's does, with SQL that is made once."""
        account = ACCOUNT.first(account=user_id)
        return account if account is not None and self.user_can_authenticate(account) else None

    def _authenticate(self, request: HttpRequest | None, **credentials: Any) -> User | None:
        account = account_named(credentials.get("username") or credentials.get("email") or "")
        checked: User | None = self._check_password(account, credentials["password"])
        return checked
