"""Identity providers of SAML: SimpleSAMLphp as a process of its own, and one that answers with signed responses."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import zlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from lxml import etree
from onelogin.saml2.utils import OneLogin_Saml2_Utils

from tests.servers import free_port, wait_for_port

ENTITY_ID = "urn:idp.example.org"
SIGN_IN_URL = "https://idp.example.org/sso"
RESPONSE = """<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol"
  xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"
  ID="_r{number}" Version="2.0" IssueInstant="{now}" Destination="{acs}" InResponseTo="{request}">
<saml:Issuer>{issuer}</saml:Issuer>
<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>
<saml:Assertion ID="_a{number}" Version="2.0" IssueInstant="{now}"><saml:Issuer>{issuer}</saml:Issuer>
<saml:Subject><saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent">{subject}</saml:NameID>
<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData
  NotOnOrAfter="{later}" Recipient="{acs}" InResponseTo="{request}"/></saml:SubjectConfirmation></saml:Subject>
<saml:Conditions NotBefore="{earlier}" NotOnOrAfter="{later}"><saml:AudienceRestriction>
<saml:Audience>{audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions>
<saml:AuthnStatement AuthnInstant="{now}" SessionIndex="_s"><saml:AuthnContext><saml:AuthnContextClassRef
  >urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>
<saml:AttributeStatement>{attributes}</saml:AttributeStatement></saml:Assertion></samlp:Response>"""


@cache
def key_and_certificate() -> tuple[str, str]:
    """As PEM; made once, for making a key takes a while."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "idp.example.org")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
    certificate = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private.decode(), certificate


@dataclass
class IdentityProvider:
    attributes: dict[str, list[str]] = field(default_factory=dict)
    subject: str = "uma"

    def answer(self, leads_to: str, *, signs: bool = True, audience: str = "", late_by: timedelta = timedelta()) -> str:
        """Return the form field SAMLResponse for the request that `leads_to` has."""
        packed = parse_qs(urlsplit(leads_to).query)["SAMLRequest"][0]
        # Ours: nothing that somebody else may have written is parsed here.
        request = etree.fromstring(zlib.decompress(base64.b64decode(packed), -15))
        acs = request.get("AssertionConsumerServiceURL")
        now = datetime.now(UTC) - late_by
        response = RESPONSE.format(
            number=request.get("ID")[-8:], request=request.get("ID"), acs=acs, issuer=ENTITY_ID, subject=self.subject,
            now=_time(now), earlier=_time(now - timedelta(minutes=5)), later=_time(now + timedelta(minutes=5)),
            audience=audience or request.find("{*}Issuer").text,
            attributes="".join(_attribute(name, values) for name, values in self.attributes.items()),
        )  # fmt: skip
        if signs:
            key, certificate = key_and_certificate()
            response = OneLogin_Saml2_Utils.add_sign(
                response, key, certificate, "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
                "http://www.w3.org/2001/04/xmlenc#sha256",
            )  # fmt: skip
        raw = response if isinstance(response, bytes) else response.encode()
        return base64.b64encode(raw).decode()


def _attribute(name: str, values: list[str]) -> str:
    inside = "".join(f"<saml:AttributeValue>{value}</saml:AttributeValue>" for value in values)
    return f'<saml:Attribute Name="{name}">{inside}</saml:Attribute>'


def _time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


CONFIGURATION = Path(__file__).parent / "simplesamlphp"
PAGES = Path("/usr/share/simplesamlphp/www")
PASSWORD = "correct horse"
NAMES = {"ds": "http://www.w3.org/2000/09/xmldsig#", "md": "urn:oasis:names:tc:SAML:2.0:metadata"}


def find_simplesamlphp() -> str | None:
    """Return the PHP that runs it."""
    return shutil.which("php") if PAGES.is_dir() else None


@dataclass(frozen=True)
class Answer:
    """The form with which the provider sends a browser back."""

    action: str
    fields: dict[str, str]


@dataclass
class SimpleSamlPhp:
    folder: Path
    php: str

    def start(self) -> subprocess.Popen[bytes]:
        key, certificate = key_and_certificate()
        (self.folder / "idp.pem").write_text(key)
        (self.folder / "idp.crt").write_text(certificate)
        port = free_port()
        self.address = f"http://127.0.0.1:{port}"
        about = {
            "IDP_ADDRESS": self.address, "IDP_FOLDER": str(self.folder), "SIMPLESAMLPHP_CONFIG_DIR": str(CONFIGURATION)
        }  # fmt: skip
        with (self.folder / "server.log").open("wb") as log:
            process = subprocess.Popen(
                [self.php, "-S", f"127.0.0.1:{port}", "-t", str(PAGES)],
                env=os.environ | about, stdout=log, stderr=log,
            )  # fmt: skip
        wait_for_port(port, process)
        return process

    def knows(self, **people: dict[str, list[str]]) -> None:
        """Set who can sign in there, and what is known about them."""
        given = {f"{name}:{PASSWORD}": attributes for name, attributes in people.items()}
        (self.folder / "people.json").write_text(json.dumps(given))

    def trusts(self, metadata: bytes) -> None:
        """Register a service by its own metadata, the only one that the provider answers."""
        (self.folder / "services.xml").write_bytes(metadata)

    def settings(self) -> dict[str, str]:
        """Return what an operator copies from the provider's metadata into the file of SIGN_IN_PROVIDERS."""
        # Ours: nothing that somebody else may have written is parsed here.
        root = etree.fromstring(httpx.get(f"{self.address}/saml2/idp/metadata.php").raise_for_status().content)
        return {
            "entity_id": root.get("entityID"),
            "sign_in_url": root.find(".//md:SingleSignOnService", NAMES).get("Location"),
            "certificate": root.find(".//ds:X509Certificate", NAMES).text,
        }

    def sign_in(self, leads_to: str, name: str) -> Answer:
        """Fill in the provider's own page as somebody who was sent to `leads_to`."""
        with httpx.Client(follow_redirects=True) as browser:
            page = browser.get(leads_to).raise_for_status()
            given = _fields(page.text) | {"username": name, "password": PASSWORD}
            page = browser.post(page.url.copy_with(query=None), data=given).raise_for_status()
        (action,) = re.findall(r'<form method="post"\s+action="([^"]+)"', page.text)
        return Answer(unescape(action), _fields(page.text))


def _fields(page: str) -> dict[str, str]:
    found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page)
    return {unescape(name): unescape(value) for name, value in found}
