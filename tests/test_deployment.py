"""What is shipped: the image, the services of the compose file, the proxy, and the packages they are made of."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from config.variables import OPTIONAL, REQUIRED
from inference.services.executor import SLICE_S
from inference.tasks import SHORT_SLICE_S
from tests.servers import ROOT, missing, postgres_programs

OURS = ("web", "worker", "gpu-worker", "beat", "migrate", "manage")
SERVERS = ("proxy", "postgres", "redis")
MOST_PROCESSES = 512


def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())


def images() -> dict[str, str]:
    lines = (ROOT / "deploy" / "images.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def mounted(service: str) -> dict[str, str]:
    """What is mounted where: the folder or volume, with ":ro" where it cannot be written to."""
    volumes = (
        re.sub(r"^\$\{\w+:-(\w+)\}", r"\1", volume) for volume in compose()["services"][service].get("volumes", ())
    )
    parts = (volume.split(":") for volume in volumes)
    return {folder: ":".join([source, *how]) for source, folder, *how in parts}


@pytest.mark.parametrize("service", OURS)
def test_compose_gives_each_process_every_variable_it_needs(service):
    given = compose()["services"][service]["environment"]

    assert set(REQUIRED) <= set(given)
    # The last two are not ours: where the hub keeps what it fetches, and how many processes the web server has.
    assert set(given) <= {*REQUIRED, *OPTIONAL, "HF_HOME", "GRANIAN_WORKERS"}


def test_whatever_may_be_set_can_be_set_in_the_file_of_settings():
    given = compose()["services"]["web"]["environment"]
    left_out = {
        "CROSSLENS_VAR",  # in the image
        "HTTPS",  # the proxy speaks nothing else
        "CSRF_TRUSTED_ORIGINS",  # those of ALLOWED_HOSTS
        "CAPTION_ENDPOINTS",  # in endpoints.env, beside their keys
        "SIGN_IN_PROVIDERS",  # with its mount, too
        "BREACHED_PASSWORDS",  # with its mount, in a file that docs/operators.md shows
    }

    assert OPTIONAL.keys() - given.keys() == left_out


def test_compose_has_no_secret_in_it_and_waits_for_health():
    services = compose()["services"]

    assert set(services) == {*OURS, *SERVERS}
    assert all("healthcheck" in services[name] for name in ("web", "postgres", "redis"))
    assert services["proxy"]["depends_on"]["web"]["condition"] == "service_healthy"
    for variable in ("SECRET_KEY", "ALLOWED_HOSTS", "EMAIL_URL", "DEFAULT_FROM_EMAIL"):
        assert services["web"]["environment"][variable].startswith(f"${{{variable}:?")
    for name in OURS:
        assert "${POSTGRES_PASSWORD:?" in services[name]["environment"]["DATABASE_URL"]
        for variable in ("CELERY_BROKER_URL", "CACHE_URL"):
            assert services[name]["environment"][variable].startswith("redis://:${REDIS_PASSWORD:?")


def test_every_service_is_confined():
    for name, service in compose()["services"].items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["read_only"] is True, name
        assert service["pids_limit"] <= MOST_PROCESSES, name
        assert service["mem_limit"], name
        assert "privileged" not in service
    assert {name: each["cap_add"] for name, each in compose()["services"].items() if "cap_add" in each} == {
        "proxy": ["NET_BIND_SERVICE"]
    }
    # The image of the platform names a user of its own.
    assert {name: compose()["services"][name]["user"] for name in ("postgres", "redis")} == {
        "postgres": "postgres",
        "redis": "redis",
    }


def test_backups_are_seen_by_commands_by_hand_alone():
    with_backups = [name for name in compose()["services"] if "backups" in mounted(name).values()]

    assert with_backups == ["manage"]
    assert compose()["services"]["manage"]["profiles"] == ["manage"]
    assert compose()["services"]["manage"]["restart"] == "no"


def test_services_write_only_where_they_have_to():
    web, worker = mounted("web"), mounted("worker")

    assert web["/srv/crosslens/vectors"] == "vectors:ro"
    assert web["/srv/crosslens/models"] == worker["/srv/crosslens/models"] == "models:ro"
    assert mounted("beat") == mounted("migrate") == {"/srv/crosslens/var/metrics": "metrics"}
    # Uploads come in there.
    assert web["/tmp"] == "web-tmp"


def test_who_asks_nobody_outside_cannot_reach_outside():
    for name in ("beat", "migrate", "postgres", "redis"):
        assert compose()["services"][name]["networks"] == ["back"]


def test_the_role_of_the_platform_is_no_superuser():
    given = compose()["services"]["postgres"]["environment"]
    made = (ROOT / "deploy" / "database.sql").read_text()

    assert given["POSTGRES_USER"] == "postgres"
    assert "${POSTGRES_SUPERUSER_PASSWORD:?" in given["POSTGRES_PASSWORD"]
    assert "${POSTGRES_PASSWORD:?" in given["CROSSLENS_PASSWORD"]
    assert "CREATE ROLE crosslens LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS" in made
    assert mounted("postgres")["/docker-entrypoint-initdb.d/crosslens.sql"] == "./deploy/database.sql:ro"
    assert "postgres://crosslens:" in compose()["services"]["web"]["environment"]["DATABASE_URL"]
    assert not any("SUPERUSER" in str(compose()["services"][name]) for name in OURS)


def test_the_database_made_by_the_script_belongs_to_a_role_without_rights(postgres_url):
    """Also that the platform's tables can be made by it, as `migrate` does."""
    script = (ROOT / "deploy" / "database.sql").read_text().replace("crosslens", "crosslens_shipped")
    server = postgres_url.rpartition("/")[0]
    asked = (
        "SELECT rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls, pg_get_userbyid(datdba) = rolname "
        "FROM pg_roles, pg_database WHERE rolname = 'crosslens_shipped' AND datname = rolname;"
    )
    try:
        run_sql(f"{server}/postgres", script, CROSSLENS_PASSWORD='it\'s "quoted"')
        told = run_sql(f"{server}/postgres", asked)
        assert told.strip() == "f|f|f|f|f|t"
        as_role = server.replace("postgres@", "crosslens_shipped@")
        run_sql(f"{as_role}/crosslens_shipped", "CREATE TABLE made (id int); ALTER SCHEMA public RENAME TO aside;")
        with pytest.raises(subprocess.CalledProcessError) as refused:
            run_sql(f"{as_role}/crosslens_shipped", "CREATE ROLE more;")
        assert "permission denied" in refused.value.stderr
    finally:
        run_sql(f"{server}/postgres", "DROP DATABASE IF EXISTS crosslens_shipped;")
        run_sql(f"{server}/postgres", "DROP ROLE IF EXISTS crosslens_shipped;")
        run_sql(f"{server}/postgres", "GRANT CONNECT, TEMPORARY ON DATABASE postgres TO PUBLIC;")


def run_sql(url: str, script: str, **environment: str) -> str:
    programs = postgres_programs()
    psql = shutil.which("psql", path=f"{programs}:{os.environ['PATH']}")
    if psql is None:
        missing("psql")
    return subprocess.run(
        [psql, url, "--no-psqlrc", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1", "--quiet"],
        input=script,
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_the_password_of_redis_is_in_no_command_line():
    redis = compose()["services"]["redis"]

    assert redis["environment"] == {"REDISCLI_AUTH": "${REDIS_PASSWORD:?set it in .env}"}
    # Read from the standard input; $$ is the shell's.
    assert "exec redis-server - " in redis["command"][-1]
    assert "requirepass $$REDISCLI_AUTH" in redis["command"][-1]
    assert "REDIS_PASSWORD" not in str(redis["command"]) + str(redis["healthcheck"])


def test_images_are_those_that_were_pinned():
    services = compose()["services"]

    for name, variable in (("proxy", "CADDY_IMAGE"), ("postgres", "POSTGRES_IMAGE"), ("redis", "REDIS_IMAGE")):
        assert services[name]["image"].startswith(f"${{{variable}:?run deploy/pin")
    for name in OURS:
        assert services[name]["build"]["args"]["PYTHON_IMAGE"].startswith("${PYTHON_IMAGE:?run deploy/pin")
    assert re.findall(r"^FROM (\S+)", dockerfile(), re.MULTILINE) == ["${PYTHON_IMAGE}"] * 2
    # Without a digest of its own, nothing is built.
    assert re.findall(r"^ARG PYTHON_IMAGE.*", dockerfile(), re.MULTILINE) == ["ARG PYTHON_IMAGE"]


def test_pin_writes_each_image_with_its_digest_beside_other_settings(tmp_path):
    settings = tmp_path / ".env"
    settings.write_text("SITE=example.org\nREDIS_IMAGE=redis:8@sha256:old\n")

    done = pin(settings, tmp_path, "mirror.example.org/library/")

    assert done.returncode == 0, done.stderr
    lines = settings.read_text().splitlines()
    digest = "0" * 64
    assert lines[0] == "SITE=example.org"
    assert lines[1:] == [
        f"{variable}=mirror.example.org/library/{image}@sha256:{digest}" for variable, image in images().items()
    ]
    assert settings.stat().st_mode & 0o077 == 0


def test_pin_changes_nothing_where_an_image_has_no_digest(tmp_path):
    settings = tmp_path / ".env"
    settings.write_text("SITE=example.org\n")

    done = pin(settings, tmp_path, "mirror.example.org/", of="elsewhere.example.org/")

    assert done.returncode == 1
    assert "No registry names a digest of mirror.example.org/python:" in done.stderr
    assert settings.read_text() == "SITE=example.org\n"


def pin(settings: Path, folder: Path, *registry: str, of: str | None = None) -> subprocess.CompletedProcess[str]:
    """deploy/pin with an engine that knows every image by two names."""
    engine = folder / "docker"
    of = of or registry[0]
    engine.write_text(
        "#!/bin/bash\n"
        'if [ "$1 $2" = "image inspect" ]; then\n'
        f"    name=${{5#{registry[0]}}}\n"
        f'    printf "%s@sha256:%064d\\n" "other.example.org/${{name%:*}}" 1 "{of}${{name%:*}}" 0\n'
        "fi\n"
    )
    engine.chmod(0o755)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "ENV_FILE": str(settings)}
    command = [str(ROOT / "deploy" / "pin"), *registry]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_only_the_proxy_can_be_reached_from_outside():
    described = compose()
    services = described["services"]

    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    assert described["networks"]["back"]["internal"] is True
    assert services["proxy"]["networks"] == ["front"]
    assert services["postgres"]["networks"] == services["redis"]["networks"] == ["back"]


def test_what_compose_keeps_is_in_volumes_that_it_names():
    described = compose()
    sources = {source.partition(":")[0] for name in described["services"] for source in mounted(name).values()}

    assert {name for name in sources if not name.startswith(".")} == set(described["volumes"])


def test_workers_are_given_the_time_to_come_to_an_end():
    services = compose()["services"]

    def grace_s(name: str) -> int:
        return int(services[name]["stop_grace_period"].removesuffix("s"))

    assert grace_s("worker") > SHORT_SLICE_S
    assert grace_s("gpu-worker") > SLICE_S
    # Compose kills the server later than the server its own processes.
    seconds = re.search(r'"--workers-kill-timeout", "(\d+)s"', dockerfile())
    assert seconds is not None
    assert grace_s("web") > int(seconds[1])


def test_every_service_ends_its_logs_somewhere():
    services = compose()["services"]

    assert all(service["logging"]["options"]["max-size"] for service in services.values())
    assert all(services[name]["init"] is True for name in OURS)


def dockerfile() -> str:
    return (ROOT / "Dockerfile").read_text()


def test_the_image_runs_as_nobody_special_and_has_no_tools_to_build_with():
    last = dockerfile().rpartition("\nFROM ")[2]

    assert re.search(r"^USER \d{4,}$", last, re.MULTILINE)
    assert "pip install" not in last
    assert not re.search(r"\b(gcc|g\+\+|build-essential|\w+-dev)\b", last)
    assert "HEALTHCHECK" in last


def test_the_image_has_the_programs_of_the_server_that_compose_starts():
    server = images()["POSTGRES_IMAGE"].partition(":")[2]

    assert f"postgresql-client-{server}" in dockerfile()


def test_every_folder_that_compose_mounts_is_the_users_own_in_the_image():
    folders = {folder for name in OURS for folder in mounted(name)} - {"/tmp"}

    made = dockerfile().replace("\\\n", " ")
    owned = re.search(r"chown -R 10001 ([^&\n]+)", made)
    assert owned is not None
    assert [folder for folder in folders if not any(folder.startswith(each) for each in owned[1].split())] == []
    # A volume takes over whose a folder is only where there is one.
    assert [folder for folder in folders if folder not in made] == []


LOCKS = {
    "requirements.txt": "requirements.lock",
    "requirements-java.txt": "requirements-java.lock",
    "requirements-gpu.txt": "requirements-gpu.lock",
}


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.lower())


def locked(name: str) -> dict[str, tuple[str, list[str]]]:
    """Version and hashes of each package."""
    found = re.findall(
        r"^([\w.-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$",
        (ROOT / "deploy" / name).read_text(),
        re.MULTILINE,
    )
    return {package: (version, re.findall(r"[0-9a-f]{64}", hashes)) for package, version, hashes in found}


@pytest.mark.parametrize("requirements", LOCKS)
def test_the_locks_have_the_versions_of_the_requirements(requirements):
    wanted = re.findall(r"^([\w.-]+)(?:\[[\w,]+\])?==(\S+)", (ROOT / requirements).read_text(), re.MULTILINE)
    known = locked("requirements.lock") | locked(LOCKS[requirements])

    assert wanted
    differing = [name for name, version in wanted if known.get(plain(name), ("", []))[0] != version]
    assert differing == [], "Run: python -m scripts.lock"


@pytest.mark.parametrize("name", LOCKS.values())
def test_every_line_of_a_lock_has_a_hash_and_only_one_lock_names_a_package(name):
    lines = (ROOT / "deploy" / name).read_text().splitlines()
    packages = locked(name)

    assert len([line for line in lines if "==" in line]) == len(packages)
    assert all(hashes for _version, hashes in packages.values())
    if name != "requirements.lock":
        assert not packages.keys() & locked("requirements.lock").keys()


def test_the_locks_are_for_the_python_of_the_image():
    python = re.match(r"python:(\d+\.\d+)-", images()["PYTHON_IMAGE"])
    assert python is not None

    for name in LOCKS.values():
        assert f" for Python {python[1]};" in (ROOT / "deploy" / name).read_text().splitlines()[0]
    assert f"are for Python {python[1]}" in (ROOT / "docs" / "operators.md").read_text()


def test_the_image_installs_nothing_without_a_known_hash():
    made = re.sub(r"\s+", " ", dockerfile().replace("\\\n", " "))
    installs = re.findall(r"pip install [^&]+", made)

    assert len(installs) == 3
    assert all("--require-hashes" in install and "--no-deps" in install for install in installs)
    assert "pip check" in made


def test_the_documents_name_the_proxy_and_the_web_command_of_the_image():
    version = images()["CADDY_IMAGE"].removeprefix("caddy:")
    settings = (ROOT / "docs" / "settings.md").read_text()
    dockerfile = (ROOT / "Dockerfile").read_text().replace("\\\n", "")
    command = json.loads(dockerfile.rpartition("\nCMD ")[2])
    command = command[: command.index("--log-config")] + command[command.index("--log-config") + 2 :]

    assert f"Caddy ({version} or newer)" in (ROOT / "docs" / "operators.md").read_text()
    assert f"| web | `{' '.join(command)}` |" in settings.replace(" --workers 2", "")
