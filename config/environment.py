"""What the settings are told from outside, read strictly: a missing or malformed variable stops the start by name."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from inference.rules.endpoints import KEY_VARIABLE, key_variable
from people.rules.passwords import fault_of

SHORTEST_SECRET = 50
SHORTEST_TOKEN = 20

# All of these together make a production installation; none of them, the embedded one.
REQUIRED = {
    "DATABASE_URL": "postgres://USER:PASSWORD@HOST:5432/NAME",
    "CELERY_BROKER_URL": "redis://HOST:6379/0",
    "SECRET_KEY": "50 or more random characters",
    "ALLOWED_HOSTS": "crosslens.example.org,www.example.org",
    "STORAGE_URL": "s3://BUCKET?region=eu-central-1&endpoint=https://s3.example.org or file:///srv/crosslens/media",
    "EMAIL_URL": "smtp+tls://USER:PASSWORD@HOST:587 or consolemail://",
    "DEFAULT_FROM_EMAIL": "Crosslens <noreply@example.org>",
}
OPTIONAL = {
    "CROSSLENS_VAR": "folder of all local files; production keeps little there (default: var/ of the checkout)",
    "VECTORS_FOLDER": "/srv/crosslens/vectors, which all processes see (default: vectors/ in CROSSLENS_VAR)",
    "MODELS_FOLDER": "/srv/crosslens/models, which the workers of models see (default: models/ in CROSSLENS_VAR)",
    "CAPTION_ENDPOINTS": "lab=http://gpu7:8000/v1,openai=https://api.openai.com/v1 (default: none)",
    "CSRF_TRUSTED_ORIGINS": "https://crosslens.example.org (default: https:// before each of ALLOWED_HOSTS)",
    "CACHE_URL": "redis://HOST:6379/1 (default: the broker's server)",
    "PROXIES": "how many reverse proxies of yours add to X-Forwarded-For (default: 1 in production, 0 embedded)",
    "HTTPS": "on or off (default: on in production, off embedded); off only behind nothing but a test",
    "HSTS": "host, subdomains or preload (default: host): for what browsers are told to use nothing but HTTPS",
    "BREACHED_PASSWORDS": "/srv/pwned-passwords.txt, sorted SHA-1 digests of passwords to refuse (default: none)",
    "SECOND_FACTOR_REQUIRED": "on or off (default: off); on where staff and managers must have a second factor",
    "WEBHOOKS_TO_PRIVATE_ADDRESSES": "on or off (default: off); on where webhooks lead to servers of your own network",
    "LOG_FORMAT": "json or text (default: json in production, text embedded)",
    "METRICS_TOKEN": "20 or more random characters, which whoever asks for /metrics sends (default: none)",
    "AWS_ACCESS_KEY_ID": "for STORAGE_URL=s3://…, unless the machine has a role",
    "AWS_SECRET_ACCESS_KEY": "for STORAGE_URL=s3://…, unless the machine has a role",
}


class Environment:
    """The variables of one start.

    Raises
    ------
    ImproperlyConfigured
        With one sentence that names the variable, what is wrong with it and what it should look like.
    """

    def __init__(self, variables: Mapping[str, str], base: Path) -> None:
        self.variables = variables
        self.var = Path(variables.get("CROSSLENS_VAR") or base / "var")
        given = [name for name in REQUIRED if variables.get(name)]
        missing = [name for name in REQUIRED if not variables.get(name)]
        if given and missing:
            raise ImproperlyConfigured(
                f"{missing[0]} is not set, but {given[0]} is: a production installation needs all of "
                f"{', '.join(REQUIRED)}, the embedded one none of them. Set {missing[0]} to something like: "
                f"{REQUIRED[missing[0]]}"
            )
        self.is_embedded = not given

    def _malformed(self, name: str, why: str) -> ImproperlyConfigured:
        like = REQUIRED.get(name) or OPTIONAL[name]
        return ImproperlyConfigured(f"{name} {why}. It should look like: {like}")

    def https(self) -> bool:
        return self._is_on("HTTPS", default="off" if self.is_embedded else "on")

    def hsts(self) -> str:
        value = self.variables.get("HSTS", "").lower() or "host"
        if value not in ("host", "subdomains", "preload"):
            raise self._malformed("HSTS", f"is {value!r}, none of host, subdomains and preload")
        return value

    def second_factor_required(self) -> bool:
        return self._is_on("SECOND_FACTOR_REQUIRED", default="off")

    def webhooks_to_private_addresses(self) -> bool:
        return self._is_on("WEBHOOKS_TO_PRIVATE_ADDRESSES", default="off")

    def breached_passwords(self) -> str:
        """The file of their digests; empty where there is none."""
        value = self.variables.get("BREACHED_PASSWORDS", "")
        if value and not Path(value).is_absolute():
            raise self._malformed("BREACHED_PASSWORDS", f"is {value!r}, which is no absolute path")
        if value and (fault := fault_of(Path(value))):
            raise self._malformed("BREACHED_PASSWORDS", f"names {value}, which {fault}")
        return value

    def _is_on(self, name: str, *, default: str) -> bool:
        value = self.variables.get(name, "").lower() or default
        if value not in ("on", "off"):
            raise self._malformed(name, f"is {value!r}, neither on nor off")
        return value == "on"

    def proxies(self) -> int:
        value = self.variables.get("PROXIES") or ("0" if self.is_embedded else "1")
        if not value.isascii() or not value.isdecimal() or int(value) > 9:
            raise self._malformed("PROXIES", f"is {value!r}, not a number from 0 to 9")
        return int(value)

    def log_format(self) -> str:
        value = self.variables.get("LOG_FORMAT", "").lower() or ("text" if self.is_embedded else "json")
        if value not in ("json", "text"):
            raise self._malformed("LOG_FORMAT", f"is {value!r}, neither json nor text")
        return value

    def metrics_token(self) -> str:
        """Empty where private addresses need none."""
        token = self.variables.get("METRICS_TOKEN", "").strip()
        # Not repeated: it would stand in the log of the start.
        if token and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token):
            raise self._malformed("METRICS_TOKEN", "is too short, or has blanks or other characters than tokens have")
        return token

    def vectors(self) -> Path:
        return self._folder("VECTORS_FOLDER", "vectors")

    def models(self) -> Path:
        return self._folder("MODELS_FOLDER", "models")

    def _folder(self, variable: str, name: str) -> Path:
        value = self.variables.get(variable)
        if not value:
            return self.var / name
        if not Path(value).is_absolute():
            raise self._malformed(variable, f"is {value!r}, which is no absolute folder")
        return Path(value)

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
            # Without what is wrong with it: in place of a port, that may be a part of a password.
            parts = urlsplit("")
        wrong = None
        if parts.scheme not in ("http", "https") or not parts.hostname or not address.isprintable() or " " in address:
            wrong = "is not an http address"
        elif parts.username is not None or parts.password is not None or parts.query or parts.fragment:
            wrong = f"has more than host and path in its address; a key belongs in {key_variable(name)}"
        elif parts.path.rstrip("/").endswith("/completions"):
            wrong = "ends in /completions: name what stands before /chat/completions"
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
                    f"{variable} is no key: it has blanks, or other characters than keys have. It should look like: "
                    "sk-0123456789abcdef, or none where the endpoint asks for no key"
                )
            if key:
                keys[endpoints[variable]] = key
        return keys

    def secret_key(self) -> str:
        if self.is_embedded:
            return _kept_secret(self.var / "secret_key")
        key = self.variables["SECRET_KEY"]
        if len(key) < SHORTEST_SECRET or len(set(key)) < 5 or key.startswith("django-insecure-"):
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

    def database(self) -> dict[str, Any]:
        if self.is_embedded:
            return {
                "ENGINE": "django.db.backends.sqlite3",
                "NAME": self.var / "crosslens.sqlite3",
                # One writer at a time, who waits for the lock from the start: nobody fails half-way (docs/decisions).
                "OPTIONS": {
                    "timeout": 20,
                    "transaction_mode": "IMMEDIATE",
                    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
                },
                "CONN_MAX_AGE": None,
            }
        # A local server may be reached by its socket: postgres://USER@/NAME?host=/run/postgresql
        has_socket = "host" in parse_qs(self._split("DATABASE_URL", self.variables["DATABASE_URL"]).query)
        parts = self._url("DATABASE_URL", {"postgres", "postgresql"}, host=not has_socket)
        if len(parts.path) < 2:
            raise self._malformed("DATABASE_URL", "names no database")
        database: dict[str, Any] = environ.Env.db_url_config(self.variables["DATABASE_URL"])
        return {
            **database,
            # A server that is away is told of, instead of holding whoever asks for two minutes.
            "OPTIONS": {"connect_timeout": 10, **database.get("OPTIONS", {})},
            "CONN_MAX_AGE": None,
            "CONN_HEALTH_CHECKS": True,
        }

    def celery(self) -> dict[str, Any]:
        if self.is_embedded:
            folders = {name: str(self.var / "queue" / name) for name in ("messages", "processed", "control")}
            for folder in folders.values():
                Path(folder).mkdir(parents=True, exist_ok=True)
            return {
                "broker_url": "filesystem://localhost",
                "broker_transport_options": {
                    "data_folder_in": folders["messages"],
                    "data_folder_out": folders["messages"],
                    "processed_folder": folders["processed"],
                    "control_folder": folders["control"],
                    "polling_interval": 0.05,
                },
            }
        parts = self._url("CELERY_BROKER_URL", {"redis", "rediss"})
        if not re.fullmatch(r"/?\d*", parts.path):
            raise self._malformed("CELERY_BROKER_URL", f"names the database {parts.path[1:]!r}, which is not a number")
        # A task in flight when its worker dies comes back after this long; the sweeps do not wait for it.
        return {
            "broker_url": self.variables["CELERY_BROKER_URL"],
            "broker_transport_options": {
                "visibility_timeout": 600,
                # A connection that nobody answers ends and is made anew, instead of holding worker or beat for ever.
                "socket_connect_timeout": 10,
                "socket_timeout": 30,
                "socket_keepalive": True,
            },
        }

    def cache(self) -> dict[str, Any]:
        if self.is_embedded:
            # Files, not memory: the web processes must count failed attempts together.
            return {
                "BACKEND": "django.core.cache.backends.filebased.FileBasedCache",
                "LOCATION": self.var / "cache",
                # The default of 300 would let a flood of attempts push out the counters of others.
                "OPTIONS": {"MAX_ENTRIES": 10_000},
            }
        if self.variables.get("CACHE_URL"):
            self._url("CACHE_URL", {"redis", "rediss"})
        location = self.variables.get("CACHE_URL") or self.variables["CELERY_BROKER_URL"]
        return {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": location,
            "KEY_PREFIX": "crosslens",
        }

    def storage(self) -> dict[str, Any]:
        if self.is_embedded:
            return {
                "BACKEND": "django.core.files.storage.FileSystemStorage",
                "OPTIONS": {"location": self.var / "media"},
            }
        parts = self._url("STORAGE_URL", {"s3", "file"}, host=False)
        if parts.scheme == "file":
            if not parts.path.startswith("/") or parts.netloc:
                raise self._malformed("STORAGE_URL", "names no absolute folder")
            return {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": parts.path}}
        if not parts.hostname:
            raise self._malformed("STORAGE_URL", "names no bucket")
        if parts.path.strip("/"):
            raise self._malformed("STORAGE_URL", f"has a path ({parts.path}); a bucket is used as a whole")
        try:
            query = parse_qs(parts.query, strict_parsing=bool(parts.query))
        except ValueError as error:
            raise self._malformed("STORAGE_URL", f"is not an address ({error})") from error
        unknown = set(query) - {"region", "endpoint", "addressing"}
        if unknown:
            raise self._malformed("STORAGE_URL", f"has unknown settings ({', '.join(sorted(unknown))})")
        endpoint = query.get("endpoint", ["https://s3"])[0]
        if self._split("STORAGE_URL", endpoint).scheme not in ("http", "https"):
            raise self._malformed("STORAGE_URL", f"has the endpoint {endpoint!r}, which is not an http address")
        if query.get("addressing", ["auto"])[0] not in ("auto", "path", "virtual"):
            raise self._malformed("STORAGE_URL", "has an addressing other than auto, path or virtual")
        options: dict[str, Any] = {
            "bucket_name": parts.netloc,
            "default_acl": None,
            "querystring_auth": True,
            "file_overwrite": True,
        }
        for ours, theirs in (
            ("region", "region_name"),
            ("endpoint", "endpoint_url"),
            ("addressing", "addressing_style"),
        ):
            if ours in query:
                options[theirs] = query[ours][0]
        return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}

    def email(self) -> dict[str, Any]:
        if self.is_embedded:
            return {
                "EMAIL_BACKEND": "django.core.mail.backends.filebased.EmailBackend",
                "EMAIL_FILE_PATH": self.var / "mail",
            }
        self._url("EMAIL_URL", {"smtp", "smtps", "smtp+tls", "smtp+ssl", "consolemail"}, host=False)
        if (
            not self.variables["EMAIL_URL"].startswith("consolemail")
            and not urlsplit(self.variables["EMAIL_URL"]).hostname
        ):
            raise self._malformed("EMAIL_URL", "names no host")
        return environ.Env.email_url_config(self.variables["EMAIL_URL"])

    def from_email(self) -> str:
        if self.is_embedded:
            return "Crosslens <noreply@localhost>"
        address = self.variables["DEFAULT_FROM_EMAIL"]
        if not re.search(r"[^\s@<]+@[^\s@>]+", address):
            raise self._malformed("DEFAULT_FROM_EMAIL", f"is {address!r}, which holds no address")
        return address

    def _split(self, name: str, value: str) -> SplitResult:
        try:
            parts = urlsplit(value)
            _ = parts.port
        except ValueError as error:
            raise self._malformed(name, f"is not an address ({error})") from error
        return parts

    def _url(self, name: str, schemes: set[str], *, host: bool = True) -> Any:
        value = self.variables[name]
        parts = self._split(name, value)
        if parts.scheme not in schemes:
            raise self._malformed(
                name, f"begins with {parts.scheme or value[:20]!r}, not with {' or '.join(sorted(schemes))}"
            )
        if host and parts.scheme != "file" and not parts.hostname:
            raise self._malformed(name, "names no host")
        return parts


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
    if len(secret) < SHORTEST_SECRET:
        raise ImproperlyConfigured(f"{path} holds no secret any more. Remove it; the next start makes a new one.")
    return secret
