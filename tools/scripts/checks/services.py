"""The services of docker-compose.yml: what each is given, how it is confined, and who reaches it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from config.variables import OPTIONAL, REQUIRED
from research.inference.services.executor import SLICE_S
from research.inference.tasks import SHORT_SLICE_S
from tools.deploy.trial.installation import SERVICES
from tools.scripts.checks.sources import TextFinding, at, line_at, quoted, text_of, unless

COMPOSE = "docker-compose.yml"
OWN_SERVICES = ("web", "worker", "gpu-worker", "beat", "migrate", "manage")
SERVERS = ("proxy", "postgres", "redis")
ALL = (*OWN_SERVICES, *SERVERS)
NOT_OURS = {"HF_HOME", "GRANIAN_WORKERS"}
"""Where the hub keeps what it fetches, and how many processes the web server has."""
SET_ELSEWHERE = {
    "CROSSLENS_VAR",  # in the image
    "HTTPS",  # the proxy speaks nothing else
    "CSRF_TRUSTED_ORIGINS",  # those of ALLOWED_HOSTS
    "CAPTION_ENDPOINTS",  # in endpoints.env, beside their keys
    "SIGN_IN_PROVIDERS",  # with its mount, too
    "BREACHED_PASSWORDS",  # with its mount, in a file that docs/operators.md shows
}
CONFINE, FROM_ENV, PIN = (
    "begin it with <<: *confined",
    "take it from .env: ${NAME:?…}",
    "take it from tools/deploy/pin: ${NAME:?…}",
)
HIDE = "keep its password out of commands"
NO_RIGHTS, INSIDE = "give no right that it does not need", "let nobody else reach it"
BACKUPS = "let only commands by hand see the backups"
ONLY_THERE = "let it write only where it has to"
RULES: tuple[tuple[tuple[str, ...], str, str, str], ...] = (
    (ALL, "cap_drop", r"^\['ALL'\]$", CONFINE),
    (ALL, "security_opt", r"^\['no-new-privileges:true'\]$", CONFINE),
    (ALL, "read_only", "^True$", CONFINE),
    (ALL, "pids_limit", r"^(\d\d?|[1-4]\d\d|50\d|51[0-2])$", CONFINE),
    (ALL, "logging.options.max-size", r"\d", CONFINE),
    (ALL, "mem_limit", "^(?!None$)", "limit its memory"),
    (ALL, "privileged", "^None$", NO_RIGHTS),
    (("proxy",), "cap_add", r"^\['NET_BIND_SERVICE'\]$", NO_RIGHTS),
    ((*OWN_SERVICES, "postgres", "redis"), "cap_add", "^None$", NO_RIGHTS),
    (("postgres",), "user", "^postgres$", NO_RIGHTS),
    (("redis",), "user", "^redis$", NO_RIGHTS),
    (OWN_SERVICES, "init", "^True$", "let it take in the processes that others leave behind"),
    (("web", "postgres", "redis"), "healthcheck.test", "^(?!None$)", "say how to tell that it works"),
    (("proxy",), "depends_on.web.condition", "^service_healthy$", "let it wait for web"),
    *((("web",), f"environment.{name}", rf"^\${{{name}:\?", FROM_ENV)
      for name in ("SECRET_KEY", "ALLOWED_HOSTS", "EMAIL_URL", "DEFAULT_FROM_EMAIL")),
    (OWN_SERVICES, "environment.DATABASE_URL", r"^postgres://crosslens:\${POSTGRES_PASSWORD:\?", FROM_ENV),
    (OWN_SERVICES, "environment.CELERY_BROKER_URL", r"^redis://:\${REDIS_PASSWORD:\?", FROM_ENV),
    (OWN_SERVICES, "environment.CACHE_URL", r"^redis://:\${REDIS_PASSWORD:\?", FROM_ENV),
    (OWN_SERVICES, "", "^(?!.*SUPERUSER)", NO_RIGHTS),
    (("postgres",), "environment.POSTGRES_USER", "^postgres$", NO_RIGHTS),
    (("postgres",), "environment.POSTGRES_PASSWORD", r"^\${POSTGRES_SUPERUSER_PASSWORD:\?", FROM_ENV),
    (("postgres",), "environment.CROSSLENS_PASSWORD", r"^\${POSTGRES_PASSWORD:\?", FROM_ENV),
    (("postgres",), "volumes", "'./tools/deploy/database.sql:/docker-entrypoint-initdb.d/crosslens.sql:ro'", NO_RIGHTS),
    # Its password is read from the standard input; $$ is the shell's.
    (("redis",), "environment", r"^{'REDISCLI_AUTH': '\${REDIS_PASSWORD:\?[^']*'}$", FROM_ENV),
    (("redis",), "command", r"exec redis-server - .*requirepass \$\$REDISCLI_AUTH", HIDE),
    (("redis",), "command", "^(?!.*REDIS_PASSWORD)", HIDE),
    (("redis",), "healthcheck", "^(?!.*REDIS_PASSWORD)", HIDE),
    (("proxy",), "image", r"^\${CADDY_IMAGE:\?run tools/deploy/pin", PIN),
    (("postgres",), "image", r"^\${POSTGRES_IMAGE:\?run tools/deploy/pin", PIN),
    (("redis",), "image", r"^\${REDIS_IMAGE:\?run tools/deploy/pin", PIN),
    (OWN_SERVICES, "build.args.PYTHON_IMAGE", r"^\${PYTHON_IMAGE:\?run tools/deploy/pin", PIN),
    (("proxy",), "ports", r"\d", "let people reach it"),
    ((*OWN_SERVICES, "postgres", "redis"), "ports", "^None$", INSIDE),
    (("proxy",), "networks", r"^\['front'\]$", INSIDE),
    (("beat", "migrate", "postgres", "redis"), "networks", r"^\['back'\]$", INSIDE),
    (("manage",), "profiles", r"^\['manage'\]$", "start it by hand alone"),
    (("manage",), "restart", "^no$", "start it by hand alone"),
    (("manage",), "volumes", "backups", BACKUPS),
    (tuple(name for name in ALL if name != "manage"), "volumes", "^(?!.*backups)", BACKUPS),
    (("web",), "volumes", "'vectors:/srv/crosslens/vectors:ro'", ONLY_THERE),
    (("web", "worker"), "volumes", "'models:/srv/crosslens/models:ro'", ONLY_THERE),
    (("beat", "migrate"), "volumes", r"^\['metrics:/srv/crosslens/var/metrics'\]$", ONLY_THERE),
    (("web",), "volumes", "'web-tmp:/tmp'", "let uploads come in on a disk"),
)  # fmt: skip
"""Services, a path in each of them, what its value is like, and what to do where it is not."""


def check() -> Iterator[TextFinding]:
    described = compose()
    services = described["services"]
    yield from unless(
        {*services} == {*ALL}, COMPOSE, "services:", "other services than are known", "write rules for them"
    )
    for names, key, pattern, do in RULES:
        for name in names:
            if not re.search(pattern, str(value_of(services[name], key))):
                yield at(COMPOSE, line_of(name, key), f"{name}: {key or 'all of it'} is not like “{pattern}”", do)
    back = described["networks"]["back"]
    yield from unless(back["internal"] is True, COMPOSE, "networks:", "back is not internal", INSIDE)
    kept = {source for name in services for source in mounted(services[name]) if not source.startswith(".")}
    wrong = f"{quoted(kept ^ {*described['volumes']})} is in one list only"
    yield from unless(
        kept == {*described["volumes"]}, COMPOSE, "volumes:\n  media:", wrong, "name each volume that is used"
    )
    yield from environment(services)
    yield from lifetimes(services)
    started = {name for name, service in services.items() if "profiles" not in service}
    wrong = "other services than compose starts"
    do = "name all but migrate, so that the trial kills them"
    yield from unless(started == {*SERVICES, "migrate"}, "tools/deploy/trial/installation.py", "SERVICES =", wrong, do)


def compose() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(text_of(COMPOSE))
    return read


def value_of(service: dict[str, Any], key: str) -> Any:
    value: Any = service
    for part in filter(None, key.split(".")):
        value = (value or {}).get(part)
    return value


def line_of(service: str, key: str) -> int:
    """Where a service has a key, or those parts have it that services refer to, or where the service begins."""
    text = text_of(COMPOSE)
    shared, begin = text.index("\nservices:\n"), text.index(f"\n  {service}:\n") + 1
    block = re.compile(r".*\n(?: {4}.*\n| *#.*\n|\n)*").match(text, begin)
    wanted = re.compile(rf"^ +{re.escape(key.rpartition('.')[2] or service)}:", re.MULTILINE)
    found = wanted.search(text, begin, block.end() if block else begin) or wanted.search(text, 0, shared)
    return line_at(text, found.start() if found else begin)


def mounted(service: dict[str, Any]) -> dict[str, str]:
    """The folder of each volume of a service."""
    volumes = (re.sub(r"^\$\{\w+:-(\w+)\}", r"\1", volume) for volume in service.get("volumes", ()))
    return {source: folder for source, folder, *_how in (volume.split(":") for volume in volumes)}


def environment(services: dict[str, Any]) -> Iterator[TextFinding]:
    """Each process is given every variable that it needs, and .env can set whatever may be set."""
    for name in OWN_SERVICES:
        given, line = {*services[name]["environment"]}, line_of(name, "environment")
        missing, unknown = {*REQUIRED} - given, given - {*REQUIRED, *OPTIONAL} - NOT_OURS
        yield from unless(not missing, COMPOSE, line, f"{name} is not given {quoted(missing)}", "add it")
        yield from unless(
            not unknown, COMPOSE, line, f"{name} is given {quoted(unknown)}", "leave out what nobody reads"
        )
    differing = ({*OPTIONAL} - {*services["web"]["environment"]}) ^ SET_ELSEWHERE
    wrong = f"{quoted(differing)} cannot be set in .env, or is left out on purpose no longer"
    yield from unless(not differing, COMPOSE, "environment: &environment", wrong, "add it, or correct SET_ELSEWHERE")


def lifetimes(services: dict[str, Any]) -> Iterator[TextFinding]:
    """Compose kills a worker later than its slice ends, and the server later than the server its own processes."""
    server_s = re.search(r'"--workers-kill-timeout", "(\d+)s"', text_of("Dockerfile"))
    needed = {"worker": SHORT_SLICE_S, "gpu-worker": SLICE_S, "web": int(server_s[1]) if server_s else 10**9}
    for name, seconds in needed.items():
        grace_s = int(services[name]["stop_grace_period"].removesuffix("s"))
        line = line_of(name, "stop_grace_period")
        yield from unless(
            grace_s > seconds, COMPOSE, line, f"{name} has {grace_s} s to end", f"give it over {seconds} s"
        )
