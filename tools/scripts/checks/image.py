"""The image, the proxy, the database's role and the rules for alerts."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from tools.scripts.checks.services import OWN_SERVICES, compose, mounted
from tools.scripts.checks.sources import TextFinding, at, line_at, quoted, text_of, unless

DOCKERFILE, IGNORED, IMAGES = "Dockerfile", ".dockerignore", "tools/deploy/images.env"
CADDYFILE, DATABASE, ALERTS = "tools/deploy/Caddyfile", "tools/deploy/database.sql", "tools/deploy/alerts.yml"
NEVER_IN_THE_IMAGE = {".git", ".env", "endpoints.env", "tests", "var", "tools/benchmarks", "tools/scripts"}
PASSED_ON = (
    *("flush_interval -1", "encode zstd gzip", "header_up X-Request-ID {http.request.uuid}", "max_size 1MB"),
    *("read_header 10s", "read_body_idle 20s 8000", "handle /readyz {\n\t\trespond 404"),
)
"""What the platform counts on."""
LEFT_OUT = ("_buffers", "Strict-Transport-Security")
"""Bodies that are half here would fill the proxy's memory, and Django says the other once."""
ROLE = "CREATE ROLE crosslens LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS"
METRICS = ("office/operations/services/metrics.py", "office/operations/selectors/waiting.py")


def check() -> Iterator[TextFinding]:
    yield from steps()
    yield from folders()
    missing = NEVER_IN_THE_IMAGE - {*text_of(IGNORED).split()}
    yield from unless(not missing, IGNORED, 1, f"{quoted(missing)} would be in the image", "add it")
    yield from unless(
        ROLE in text_of(DATABASE), DATABASE, "CREATE ROLE", "the platform's role has rights", f"say {ROLE}"
    )
    yield from proxy()
    yield from alerts()


def images() -> dict[str, str]:
    return dict(re.findall(r"^(\w+)=(.+)$", text_of(IMAGES), re.MULTILINE))


def version_of(name: str) -> str:
    """Of the image of CADDY, POSTGRES, PYTHON or REDIS, without what follows a hyphen."""
    return images()[f"{name}_IMAGE"].partition(":")[2].partition("-")[0]


def steps() -> Iterator[TextFinding]:
    """The Dockerfile begins with the pinned image, installs known hashes only, and leaves no tools and no root."""
    text = text_of(DOCKERFILE)
    for match in re.finditer(r"^(?:FROM (?!\$\{PYTHON_IMAGE\})|ARG PYTHON_IMAGE=).*", text, re.MULTILINE):
        # Without a digest of its own, nothing is built.
        yield at(DOCKERFILE, match, f"“{match[0]}”", "say ARG PYTHON_IMAGE and FROM ${PYTHON_IMAGE}")
    installs = re.findall(r"pip install [^&]+", re.sub(r"\s+", " ", text.replace("\\\n", " ")))
    for install in installs:
        is_known = "--require-hashes" in install and "--no-deps" in install
        yield from unless(is_known, DOCKERFILE, "pip install", f"“{install}”", "say --no-deps --require-hashes")
    yield from unless(
        len(installs) == 3, DOCKERFILE, "pip install", f"pip installs {len(installs)} times", "let it be 3"
    )
    yield from unless(
        "pip check" in text, DOCKERFILE, "pip install", "nothing checks what was installed", "run pip check"
    )
    last = text.rpartition("\nFROM ")[2]
    first = text.count("\n") - last.count("\n") + 1
    for wanted in (r"^USER \d{4,}$", "^HEALTHCHECK "):
        is_there = re.search(wanted, last, re.MULTILINE)
        yield from unless(is_there, DOCKERFILE, first, f"the image has no “{wanted}”", "add one after the last FROM")
    for match in re.finditer(r"pip install|\b(gcc|g\+\+|build-essential|\w+-dev)\b", last):
        yield at(
            DOCKERFILE,
            first + line_at(last, match.start()) - 1,
            f"the image has {match[0]}",
            "leave it to the first stage",
        )
    client = f"postgresql-client-{version_of('POSTGRES')}"
    yield from unless(
        client in last, DOCKERFILE, "postgresql-client", "other programs than compose's server", f"install {client}"
    )


def folders() -> Iterator[TextFinding]:
    """Every folder that compose mounts is the user's own in the image: a volume takes over whose a folder is."""
    made = text_of(DOCKERFILE).replace("\\\n", " ")
    owned = re.search(r"chown -R 10001 ([^&\n]+)", made)
    own = tuple(owned[1].split()) if owned else ()
    services = compose()["services"]
    for folder in {folder for name in OWN_SERVICES for folder in mounted(services[name]).values()} - {"/tmp"}:  # noqa: S108 - in a container
        is_own = folder.startswith(own) and folder in made
        yield from unless(is_own, DOCKERFILE, "chown -R", f"{folder} is not the user's", "make it with mkdir and chown")


def proxy() -> Iterator[TextFinding]:
    text = text_of(CADDYFILE)
    for line in PASSED_ON:
        yield from unless(line in text, CADDYFILE, 1, f"“{line}” is missing", "add it, as the platform counts on it")
    for word in LEFT_OUT:
        yield from unless(word not in text, CADDYFILE, word, f"“{word}”", "leave it out")
    yield from unless(text.count("{") == text.count("}"), CADDYFILE, 1, "a brace has no other", "close it")
    differing = ({*re.findall(r"\{\$(\w+)", text)} - {"WEB"}) ^ {*compose()["services"]["proxy"]["environment"]}
    yield from unless(
        not differing, CADDYFILE, 1, f"{quoted(differing)} is read or given, not both", "give it in docker-compose.yml"
    )


def alerts() -> Iterator[TextFinding]:
    """The rules for alerts ask for figures that there are."""
    known = metrics()
    for group in yaml.safe_load(text_of(ALERTS))["groups"]:
        for rule in group["rules"]:
            for name in re.findall(r"crosslens_\w+", rule["expr"]):
                is_there = re.sub(r"_(total|bucket|sum|count)$", "", name) in known
                yield from unless(is_there, ALERTS, name, f"there is no figure {name}", f"ask for one of {METRICS[0]}")


def metrics() -> set[str]:
    return {name for path in METRICS for name in re.findall(r'"(crosslens_\w+)"', text_of(path))}
