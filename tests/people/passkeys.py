"""A passkey of the tests: what a browser and its device answer to the questions of a page."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from typing import Any

from allauth.account.utils import user_pk_to_url_str
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from fido2.cose import ES256
from fido2.utils import sha256, websafe_encode
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData, CollectedClientData

from core.people.models import User

FLAG = AuthenticatorData.FLAG
HOST: dict[str, Any] = {"SERVER_NAME": "localhost"}
"""Of a client: browsers give passkeys only to pages over TLS, and to those of this host."""


@dataclass
class Passkey:
    origin: str = "http://localhost"
    rp: str = "localhost"
    flags: FLAG = FLAG.UP | FLAG.UV
    """Somebody was there, and was asked for a fingerprint or a PIN."""
    owner: User | None = None
    id: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def make(self, options: dict[str, Any]) -> str:
        public = ES256.from_cryptography_key(self.key.public_key())
        made = AttestedCredentialData.create(bytes(16), self.id, public)
        data = AuthenticatorData.create(sha256(self.rp.encode()), self.flags | FLAG.AT, 0, made)
        attestation = AttestationObject.create("none", data, {})
        return self._answer("webauthn.create", options, {"attestationObject": websafe_encode(attestation)})

    def answer(self, options: dict[str, Any]) -> str:
        data = AuthenticatorData.create(sha256(self.rp.encode()), self.flags, 1)
        client_data = self._client_data("webauthn.get", options)
        signature = self.key.sign(data + client_data.hash, ec.ECDSA(SHA256()))
        about = {"authenticatorData": websafe_encode(data), "signature": websafe_encode(signature)}
        if self.owner is not None:
            about["userHandle"] = websafe_encode(user_pk_to_url_str(self.owner).encode())
        return self._answer("webauthn.get", options, about)

    def _client_data(self, kind: str, options: dict[str, Any]) -> CollectedClientData:
        return CollectedClientData.create(kind, options["publicKey"]["challenge"], self.origin)

    def _answer(self, kind: str, options: dict[str, Any], about: dict[str, str]) -> str:
        name = websafe_encode(self.id)
        response = {"clientDataJSON": websafe_encode(self._client_data(kind, options)), **about}
        told = {"id": name, "rawId": name, "type": "public-key", "response": response, "clientExtensionResults": {}}
        return json.dumps(told)


def asked(client: Client, address: str) -> dict[str, Any]:
    """What the page asks a browser."""
    options: dict[str, Any] = json.loads(client.get(reverse(address)).context["options"])
    return options


def add(client: Client, owner: User, name: str = "My phone", **about: Any) -> Passkey:
    """Add a passkey to an account that has just confirmed who it is."""
    passkey = Passkey(owner=owner, **about)
    answer = passkey.make(asked(client, "mfa_add_webauthn"))
    client.post(reverse("mfa_add_webauthn"), {"name": name, "credential": answer})
    return passkey


def sign_in_with(client: Client, passkey: Passkey, **about: Any) -> HttpResponse:
    address = reverse("mfa_login_webauthn")
    options = client.get(address, headers={"accept": "application/json"}).json()["request_options"]
    response: Any = client.post(address, {"credential": passkey.answer(options)} | about)
    return response
