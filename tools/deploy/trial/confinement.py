"""What somebody who got into a container would find: looked at from inside."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tools.deploy.trial.installation import BACKUPS, SERVICES, TrialInstallation
from tools.deploy.trial.log import FailedError, TrialLog, require

NET_BIND_SERVICE = 1 << 10
SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
PLATFORM = ("web", "worker", "beat")
ROLE = """
import os, psycopg, json
with psycopg.connect(os.environ["DATABASE_URL"]) as database:
    asked = "SELECT rolname, rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls FROM pg_roles "
    print(json.dumps(database.execute(asked + "WHERE rolname = current_user").fetchone()))
    try:
        database.execute("COPY (SELECT 1) TO PROGRAM 'true'")
    except psycopg.errors.InsufficientPrivilege:
        print(json.dumps("refused"))
"""
REDIS = """
import redis
try:
    redis.Redis("redis").ping()
    print("answered")
except redis.exceptions.AuthenticationError:
    print("refused")
"""
OUTSIDE = ("198.51.100.1", "198.51.100.2")
"""Two addresses for documentation: this machine's end of a cable, and the other's."""
NAMESPACE, LINK = "crosslens-trial", "crosslens-try"
LISTEN = """
import socket, sys
with socket.create_server((sys.argv[1], 0)) as server:
    print(server.getsockname()[1], flush=True)
    while True:
        server.accept()[0].close()
"""
REACH = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=3); print('reached')"
REACH_BY_SHELL = 'timeout 3 bash -c "exec 3<>/dev/tcp/$0/$1" && echo reached'


def check_rights(site: TrialInstallation) -> str:
    """No process has a right of root's, nor can get one."""
    for service in SERVICES:
        lines = site.execute(service, "cat", "/proc/1/status").splitlines()
        status = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
        allowed = NET_BIND_SERVICE if service == "proxy" else 0
        held = {name: int(status[name], 16) & ~allowed for name in SETS}
        require(not any(held.values()), f"{service} has capabilities: {held}")
        require(status["NoNewPrivs"] == "1", f"{service} may get new privileges")
        is_root = status["Uid"].split()[0] == "0"
        require(is_root == (service == "proxy"), f"{service} runs as {status['Uid']}")
    return "no capabilities (the proxy: low ports), no new privileges, nobody but the proxy is root"


def check_limits(site: TrialInstallation) -> str:
    """Each has a limit of memory and of processes, a root that cannot be written to, and an image named by digest."""
    for service in SERVICES:
        described = site.inspect(service)
        limits = described["HostConfig"]
        require(limits["Memory"] > 0, f"{service} has no limit of memory")
        require(0 < (limits["PidsLimit"] or 0) <= 512, f"{service} has no limit of processes")
        require(limits["ReadonlyRootfs"] and not limits["Privileged"], f"{service} can write to its root")
        require(not _done(site, service, "touch", "/etc/probe"), f"{service} wrote to /etc")
        if service not in PLATFORM:
            require("@sha256:" in described["Config"]["Image"], f"{service} runs {described['Config']['Image']}")
    return "limits of memory and processes, read-only roots, images by digest"


def check_role(site: TrialInstallation) -> str:
    told = [json.loads(line) for line in site.execute("web", "python", "-", given=ROLE).splitlines()]
    require(told == [["crosslens", False, False, False, False, False], "refused"], f"the role of web is {told}")
    return "the role of the database is no superuser, and makes no roles or databases"


def check_backups(site: TrialInstallation, name: str) -> str:
    there = site.compose("run", "--rm", "-T", "--entrypoint", "ls", "manage", BACKUPS)
    require(name in there.split(), f"the backup {name} is not where backups are")
    for service in PLATFORM:
        seen = site.execute(service, "find", BACKUPS, "-mindepth", "1", may_fail=True)
        require(not seen.strip(), f"{service} sees {seen[:80]}")
        require(not _done(site, service, "touch", f"{BACKUPS}/probe"), f"{service} wrote among the backups")
    return "web, worker and beat neither see backups nor write there"


def check_redis(site: TrialInstallation) -> str:
    require(site.execute("web", "python", "-", given=REDIS).strip() == "refused", "Redis answers without a password")
    processes = "".join(site.engine.docker("top", site.container(service), "-eo", "pid,args") for service in SERVICES)
    shown = [secret for secret in site.secrets if secret in processes]
    require(not shown, "a secret stands in a command line")
    return "Redis refuses without its password, which no command line shows"


def check_networks(site: TrialInstallation) -> str:
    """A network of this machine's own stands for what is outside; that web reaches it shows that it can be reached."""
    with _outside(site.engine.log) as (address, port):
        reached = {service: _done(site, service, "python", "-c", REACH, address, port) for service in PLATFORM} | {
            service: _done(site, service, "sh", "-c", REACH_BY_SHELL, address, port)
            for service in ("postgres", "redis")
        }
    wanted = {service: service in ("web", "worker") for service in reached}
    require(reached == wanted, f"who reaches outside: {reached}")
    return "postgres, redis and beat reach nothing outside; web and worker do"


@contextmanager
def _outside(log: TrialLog) -> Iterator[tuple[str, str]]:
    """Address and port of a listener that is reached by way of this machine alone."""
    here, there = OUTSIDE
    log.run(["ip", "netns", "delete", NAMESPACE], may_fail=True)
    log.run(["ip", "netns", "add", NAMESPACE])
    within = ["ip", "netns", "exec", NAMESPACE]
    try:
        log.run(["ip", "link", "add", LINK, "type", "veth", "peer", "name", "outside", "netns", NAMESPACE])
        log.run(["ip", "address", "add", f"{here}/30", "dev", LINK])
        log.run(["ip", "link", "set", LINK, "up"])
        log.run([*within, "ip", "address", "add", f"{there}/30", "dev", "outside"])
        log.run([*within, "ip", "link", "set", "outside", "up"])
        log.run([*within, "ip", "route", "add", "default", "via", here])
        listener = subprocess.Popen([*within, sys.executable, "-c", LISTEN, there], stdout=subprocess.PIPE, text=True)
        try:
            if listener.stdout is None or not (port := listener.stdout.readline().strip()):
                raise FailedError("nothing listens outside")
            yield there, port
        finally:
            listener.kill()
            listener.wait()
    finally:
        log.run(["ip", "netns", "delete", NAMESPACE], may_fail=True)


def _done(site: TrialInstallation, service: str, *command: str) -> bool:
    """Whether a command in a container succeeds."""
    full = [*site.command, "exec", "-T", service, *command]
    return site.engine.log.run(full, environment=site.environment, may_fail=True).returncode == 0
