"""SimpleSAMLphp as a process of its own: an identity provider of SAML that universities run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import httpx
from lxml import etree

from tests.people.saml import key_and_certificate
from tests.servers import free_port, wait_for_port

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
