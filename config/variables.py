"""The environment variables of an installation, and how each is read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.core.exceptions import ImproperlyConfigured

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
    "PICKLED_WEIGHTS": "on or off (default: off); on if researchers may load models whose weights are Python pickles",
    "TRAININGS_FOLDER": "/srv/crosslens/trainings, shared by workers of models (default: trainings/ in CROSSLENS_VAR)",
    "CAPTION_ENDPOINTS": "lab=http://gpu7:8000/v1,openai=https://api.openai.com/v1 (default: none)",
    "CSRF_TRUSTED_ORIGINS": "https://crosslens.example.org (default: https:// before each of ALLOWED_HOSTS)",
    "SITE_URL": "https://crosslens.example.org, where links in e-mails begin (default: the first trusted origin)",
    "CACHE_URL": "redis://HOST:6379/1 (default: the broker's server)",
    "PROXIES": "how many of your reverse proxies add to X-Forwarded-For (default: 1 in production, 0 embedded)",
    "HTTPS": "on or off (default: on in production, off embedded); off only for tests",
    "HSTS": "host, subdomains or preload (default: host): where browsers are told to use only HTTPS",
    "BREACHED_PASSWORDS": "/srv/pwned-passwords.txt, sorted SHA-1 digests of passwords to refuse (default: none)",
    "SECOND_FACTOR_REQUIRED": "on or off (default: off); on if staff and managers must have a second factor",
    "SIGN_IN_PROVIDERS": "/srv/sign-in.json, other services that people sign in with (default: none)",
    "WEBHOOKS_TO_PRIVATE_ADDRESSES": "on or off (default: off); on if webhooks may lead to servers on your own network",
    "LOG_FORMAT": "json or text (default: json in production, text embedded)",
    "METRICS_TOKEN": "20 or more random characters, needed to read /metrics (default: none)",
    "AWS_ACCESS_KEY_ID": "for STORAGE_URL=s3://…, unless the machine has a role",
    "AWS_SECRET_ACCESS_KEY": "for STORAGE_URL=s3://…, unless the machine has a role",
}


class Variables:
    """The variables of one start.

    Raises ImproperlyConfigured with one sentence that names the variable, what is wrong with it and what it should look
    like.
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

    def _choice(self, name: str, *choices: str, default: str) -> str:
        value = self.variables.get(name, "").lower() or default
        if value not in choices:
            raise self._malformed(name, f"is {value!r}, which is not {', '.join(choices[:-1])} or {choices[-1]}")
        return value

    def _is_on(self, name: str, *, default: str) -> bool:
        return self._choice(name, "on", "off", default=default) == "on"

    def _folder(self, variable: str, name: str) -> Path:
        value = self.variables.get(variable)
        if not value:
            return self.var / name
        if not Path(value).is_absolute():
            raise self._malformed(variable, f"is {value!r}, which is not an absolute folder")
        return Path(value)

    def _split(self, name: str, value: str) -> SplitResult:
        """Split an address. An error repeats no part of it, since any part may be one of a password."""
        parts: SplitResult | None
        try:
            parts = urlsplit(value)
            _ = parts.port
        except ValueError:
            parts = None
        # After such a character in a password, the rest, with the host, would be read as something else.
        if parts is None or parts.fragment or (parts.netloc and "@" in parts.path + parts.query):
            raise self._malformed(
                name,
                "is not an address, or its password has a character that must be escaped: "
                "write # as %23, / as %2F, ? as %3F, @ as %40, : as %3A, [ as %5B and ] as %5D",
            )
        return parts

    def _url(self, name: str, schemes: set[str], *, host: bool = True) -> Any:
        value = self.variables[name]
        parts = self._split(name, value)
        if parts.scheme not in schemes:
            # Without "//", what is before the colon may be a user name, or part of a password.
            is_scheme = value.lower().startswith(f"{parts.scheme}://")
            begins = f"begins with {parts.scheme!r}, not" if is_scheme else "does not begin"
            raise self._malformed(name, f"{begins} with {' or '.join(sorted(schemes))}")
        if host and parts.scheme != "file" and not parts.hostname:
            raise self._malformed(name, "names no host")
        return parts
