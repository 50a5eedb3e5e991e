"""Other services that people sign in with, as an operator describes them in a file, read strictly."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

Kind = Literal["openid", "saml"]
ROLES = ("manager", "annotator", "rater", "player", "researcher")
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_BOTH = {"id", "kind", "name", "domains", "trusts_addresses", "groups", "roles", "links_by_address", "opens_accounts"}
_OF_KIND: dict[str, set[str]] = {
    "openid": {"server", "client_id", "secret", "redirects_to"},
    "saml": {"entity_id", "sign_in_url", "certificate", "attributes"},
}
_NEEDED: dict[str, tuple[str, ...]] = {
    "openid": ("server", "client_id", "secret"),
    "saml": ("entity_id", "sign_in_url", "certificate"),
}


class ProvidersFileError(ValueError):
    """The file cannot be used; `str` says where and why."""


@dataclass(frozen=True)
class GivenRole:
    project: str
    role: str


@dataclass(frozen=True)
class SignInProvider:
    """One service.

    `domains` limits whose accounts it may open and enter, by confirmed e-mail addresses; all where it is empty. `roles`
    has for each group of the service what its members may do. `settings` are those of its kind.
    """

    id: str
    kind: Kind
    name: str
    domains: tuple[str, ...]
    trusts_addresses: bool
    groups: str
    roles: dict[str, tuple[GivenRole, ...]]
    links_by_address: bool
    opens_accounts: bool
    settings: dict[str, Any]

    @property
    def origins(self) -> list[str]:
        """Where a browser is sent to sign in, for the policy of our pages."""
        given = self.settings.get("redirects_to") or self.settings.get("server") or self.settings["sign_in_url"]
        return [_origin(given)]


def read_providers(path: Path) -> list[SignInProvider]:
    """Raises ProvidersFileError."""
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ProvidersFileError(f"cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise ProvidersFileError(f"is not JSON: {error}") from error
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise ProvidersFileError("must be a list of objects, one for each service")
    providers = [_provider(number, one) for number, one in enumerate(listed, start=1)]
    ids = [one.id for one in providers]
    if twice := sorted({one for one in ids if ids.count(one) > 1}):
        raise ProvidersFileError(f"has two services with the id {twice[0]!r}")
    return providers


def is_allowed(address: str, domains: tuple[str, ...]) -> bool:
    """Whether a confirmed address is of one of `domains`; subdomains are domains of their own."""
    return not domains or address.lower().rpartition("@")[2] in domains


def given_roles(provider: SignInProvider, groups: list[str]) -> set[GivenRole]:
    return {role for group in groups for role in provider.roles.get(group, ())}


def _provider(number: int, given: dict[str, Any]) -> SignInProvider:
    where = f"service {number}"
    kind = given.get("kind")
    if kind not in _OF_KIND:
        raise ProvidersFileError(f"{where}: “kind” must be openid or saml, not {kind!r}")
    if unknown := sorted(given.keys() - _BOTH - _OF_KIND[kind]):
        raise ProvidersFileError(f"{where}: “{unknown[0]}” is not known for the kind {kind}")
    for key in ("id", "name", *_NEEDED[kind]):
        if not isinstance(given.get(key), str) or not given[key].strip():
            raise ProvidersFileError(f"{where}: “{key}” is missing or not a text")
    if not _ID.fullmatch(given["id"]):
        raise ProvidersFileError(f"{where}: the id {given['id']!r} may only have a to z, 0 to 9 and -")
    for key in ("trusts_addresses", "links_by_address", "opens_accounts"):
        if not isinstance(given.get(key, False), bool):
            raise ProvidersFileError(f"{where}: “{key}” must be true or false")
    for key in {"server", "sign_in_url", "redirects_to"} & given.keys():
        if not _origin(given[key]):
            raise ProvidersFileError(f"{where}: “{key}” must be an address that begins with https://")
    return SignInProvider(
        id=given["id"],
        kind=kind,
        name=given["name"],
        domains=_domains(where, given.get("domains", [])),
        trusts_addresses=given.get("trusts_addresses", False),
        groups=str(given.get("groups", "groups")),
        roles=_roles(where, given.get("roles", {})),
        links_by_address=given.get("links_by_address", False),
        opens_accounts=given.get("opens_accounts", False),
        settings={key: given[key] for key in _OF_KIND[kind] & given.keys()},
    )


def _domains(where: str, given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(one, str) and "." in one and "@" not in one for one in given):
        raise ProvidersFileError(f'{where}: “domains” must be a list such as ["example.org"]')
    return tuple(one.lower() for one in given)


def _roles(where: str, given: Any) -> dict[str, tuple[GivenRole, ...]]:
    wrong = f'{where}: “roles” must be like {{"captioners": [{{"project": "my-project", "role": "annotator"}}]}}'
    if not isinstance(given, dict):
        raise ProvidersFileError(wrong)
    roles: dict[str, tuple[GivenRole, ...]] = {}
    for group, listed in given.items():
        try:
            roles[group] = tuple(GivenRole(one["project"], one["role"]) for one in listed)
        except (KeyError, TypeError) as error:
            raise ProvidersFileError(wrong) from error
        if unknown := [one.role for one in roles[group] if one.role not in ROLES]:
            raise ProvidersFileError(f"{where}: {unknown[0]!r} is no role; roles are {', '.join(ROLES)}")
    return roles


def _origin(address: Any) -> str:
    """Return scheme and host; empty for what is no address of a server. HTTP is for servers on this machine alone."""
    parts = urlsplit(address if isinstance(address, str) else "")
    is_here = parts.hostname in {"localhost", "127.0.0.1"}
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme == "https" or (is_here and parts.scheme) else ""
