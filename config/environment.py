"""Environment variables, read strictly: a missing or malformed variable stops the start and is named."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from config.connections import Connections
from config.variables import OPTIONAL
from core.people.rules.passwords import fault_of
from core.people.rules.sign_in_providers import ProvidersFileError, SignInProvider, read_providers
from research.inference.rules.endpoints import KEY_VARIABLE, key_variable

MIN_SECRET_CHARACTERS = 50
MIN_TOKEN_CHARACTERS = 20


class Environment(Connections):
    """All that the settings ask of the variables of one start."""

    def https(self) -> bool:
        return self._is_on("HTTPS", default="off" if self.is_embedded else "on")

    def hsts(self) -> str:
        return self._choice("HSTS", "host", "subdomains", "preload", default="host")

    def second_factor_required(self) -> bool:
        return self._is_on("SECOND_FACTOR_REQUIRED", default="off")

    def webhooks_to_private_addresses(self) -> bool:
        return self._is_on("WEBHOOKS_TO_PRIVATE_ADDRESSES", default="off")

    def breached_passwords(self) -> str:
        """The file of their digests; empty where there is none."""
        value = self.variables.get("BREACHED_PASSWORDS", "")
        if value and not Path(value).is_absolute():
            raise self._malformed("BREACHED_PASSWORDS", f"is {value!r}, which is not an absolute path")
        if value and (fault := fault_of(Path(value))):
            raise self._malformed("BREACHED_PASSWORDS", f"names {value}, which {fault}")
        return value

    def sign_in_providers(self) -> list[SignInProvider]:
        value = self.variables.get("SIGN_IN_PROVIDERS", "")
        if not value:
            return []
        if not Path(value).is_absolute():
            raise self._malformed("SIGN_IN_PROVIDERS", f"is {value!r}, which is not an absolute path")
        try:
            return read_providers(Path(value))
        except ProvidersFileError as wrong:
            raise self._malformed("SIGN_IN_PROVIDERS", f"names {value}, which {wrong}") from wrong

    def proxies(self) -> int:
        value = self.variables.get("PROXIES") or ("0" if self.is_embedded else "1")
        if not value.isascii() or not value.isdecimal() or int(value) > 9:
            raise self._malformed("PROXIES", f"is {value!r}, which is not a number from 0 to 9")
        return int(value)

    def log_format(self) -> str:
        return self._choice("LOG_FORMAT", "json", "text", default="text" if self.is_embedded else "json")

    def metrics_token(self) -> str:
        """Empty where private addresses need none."""
        token = self.variables.get("METRICS_TOKEN", "").strip()
        # Not repeated: it would stand in the log of the start.
        if token and (
            len(token) < MIN_TOKEN_CHARACTERS or not token.isascii() or not token.isprintable() or " " in token
        ):
            raise self._malformed(
                "METRICS_TOKEN", "is too short, or has spaces or other characters that a token cannot have"
            )
        return token

    def vectors(self) -> Path:
        return self._folder("VECTORS_FOLDER", "vectors")

    def models(self) -> Path:
        return self._folder("MODELS_FOLDER", "models")

    def pickled_weights(self) -> bool:
        return self._is_on("PICKLED_WEIGHTS", default="off")

    def cuda_visible_devices(self) -> str | None:
        """Which GPUs PyTorch may use in this process; None: all."""
        return os.environ.get("CUDA_VISIBLE_DEVICES")

    def trainings(self) -> Path:
        return self._folder("TRAININGS_FOLDER", "trainings")

    def caption_endpoints(self) -> dict[str, str]:
        """The address of each endpoint, by its name."""
        value = self.variables.get("CAPTION_ENDPOINTS", "").strip()
        endpoints: dict[str, str] = {}
        for entry in value.split(",") if value else []:
            name, _equals, address = (part.strip() for part in entry.partition("="))
            if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
                raise self._malformed("CAPTION_ENDPOINTS", "has an endpoint without a name in a-z, 0-9 and hyphens")
            if name in endpoints:
                raise self._malformed("CAPTION_ENDPOINTS", f"names {name} twice")
            endpoints[name] = self._endpoint_address(name, address)
        return endpoints

    def _endpoint_address(self, name: str, address: str) -> str:
        try:
            parts = self._split("CAPTION_ENDPOINTS", address)
        except ImproperlyConfigured:
            parts = urlsplit("")
        wrong = None
        if parts.scheme not in ("http", "https") or not parts.hostname or not address.isprintable() or " " in address:
            wrong = "is not an http address"
        elif parts.username is not None or parts.password is not None or parts.query or parts.fragment:
            wrong = f"has more than host and path in its address; a key belongs in {key_variable(name)}"
        elif parts.path.rstrip("/").endswith("/completions"):
            wrong = "ends in /completions: give only the part before /chat/completions"
        if wrong:
            raise self._malformed("CAPTION_ENDPOINTS", f"has the endpoint {name}, which {wrong}")
        return address.rstrip("/")

    def caption_endpoint_keys(self) -> dict[str, str]:
        """The key of each endpoint that has one."""
        endpoints = {key_variable(name): name for name in self.caption_endpoints()}
        keys = {}
        for variable in sorted(name for name in self.variables if name.startswith(KEY_VARIABLE)):
            if variable not in endpoints:
                raise ImproperlyConfigured(
                    f"{variable} is the key of an endpoint that CAPTION_ENDPOINTS does not name. It should look like: "
                    f"{OPTIONAL['CAPTION_ENDPOINTS']}"
                )
            key = self.variables[variable].strip()
            # Not repeated: it would stand in the log of the start.
            if not key.isascii() or not key.isprintable() or " " in key:
                raise ImproperlyConfigured(
                    f"{variable} is not a key: it has spaces or other characters that a key cannot have. "
                    "It should look like: sk-0123456789abcdef, or none where the endpoint needs no key"
                )
            if key:
                keys[endpoints[variable]] = key
        return keys

    def secret_key(self) -> str:
        if self.is_embedded:
            return _kept_secret(self.var / "secret_key")
        key = self.variables["SECRET_KEY"]
        if len(key) < MIN_SECRET_CHARACTERS or len(set(key)) < 5 or key.startswith("django-insecure-"):
            raise self._malformed("SECRET_KEY", f"is too easy to guess ({len(key)} characters)")
        return key

    def allowed_hosts(self) -> list[str]:
        if self.is_embedded:
            return ["127.0.0.1", "localhost", "[::1]"]
        hosts = [host.strip() for host in self.variables["ALLOWED_HOSTS"].split(",")]
        for host in hosts:
            is_address_6 = host.startswith("[") and host.endswith("]")
            if not is_address_6 and not re.fullmatch(r"\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", host):
                raise self._malformed("ALLOWED_HOSTS", f"has {host!r}, which is not the name of a host")
        return hosts

    def csrf_trusted_origins(self) -> list[str]:
        value = self.variables.get("CSRF_TRUSTED_ORIGINS", "")
        if not value:
            return [] if self.is_embedded else [f"https://{host.lstrip('.')}" for host in self.allowed_hosts()]
        origins = [origin.strip() for origin in value.split(",")]
        for origin in origins:
            parts = self._split("CSRF_TRUSTED_ORIGINS", origin)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise self._malformed("CSRF_TRUSTED_ORIGINS", f"has {origin!r}, which is not an origin")
        return origins

    def site_url(self) -> str:
        """Return where links in e-mails begin, with a slash at the end."""
        value = self.variables.get("SITE_URL", "")
        if not value:
            return "http://127.0.0.1:8000/" if self.is_embedded else f"{self.csrf_trusted_origins()[0]}/"
        parts = self._split("SITE_URL", value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise self._malformed("SITE_URL", f"is {value!r}, which is not the address of a site")
        return value.rstrip("/") + "/"

    def from_email(self) -> str:
        if self.is_embedded:
            return "Crosslens <noreply@localhost>"
        address = self.variables["DEFAULT_FROM_EMAIL"]
        if not re.search(r"[^\s@<]+@[^\s@>]+", address):
            raise self._malformed("DEFAULT_FROM_EMAIL", f"is {address!r}, which contains no address")
        return address


def from_process(base: Path) -> Environment:
    return Environment(os.environ, base)


def _kept_secret(path: Path) -> str:
    """Make a secret on the first start and find it again on the next, so that people stay signed in."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise ImproperlyConfigured(f"CROSSLENS_VAR names {path.parent}, which is a file. Name a folder.") from error
    if not path.exists():
        # Written apart and then linked: two first starts at once agree, and a killed one leaves no half of it.
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix="secret_") as file:
            file.write(secrets.token_urlsafe(64))
            file.flush()
            with contextlib.suppress(FileExistsError):
                os.link(file.name, path)
    secret = path.read_text()
    if len(secret) < MIN_SECRET_CHARACTERS:
        raise ImproperlyConfigured(f"{path} no longer holds a secret. Remove it, and the next start makes a new one.")
    return secret
