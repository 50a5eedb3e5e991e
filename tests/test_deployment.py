"""What is shipped, tried: the script that makes the database, and tools/deploy/pin.

tools/scripts/checks reads the other files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.servers import ROOT, missing, postgres_programs
from tools.scripts.checks.image import images

pytestmark = pytest.mark.process


def test_the_database_made_by_the_script_belongs_to_a_role_without_rights(postgres_url):
    """Also that the platform's tables can be made by it, as `migrate` does."""
    script = (ROOT / "tools" / "deploy" / "database.sql").read_text().replace("crosslens", "crosslens_shipped")
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
    """tools/deploy/pin with an engine that knows every image by two names."""
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
    command = [str(ROOT / "tools" / "deploy" / "pin"), *registry]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
