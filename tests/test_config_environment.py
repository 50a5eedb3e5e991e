"""Settings from the environment: strict in production, none needed for the embedded installation."""

from __future__ import annotations

import re
import subprocess
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.environment import Environment
from config.variables import REQUIRED
from tests.servers import ROOT, embedded_environment
from tests.tiers import some
from tools.scripts.checks.sources import PRODUCT, files_in

PRODUCTION = {
    "DATABASE_URL": "postgres://ann:p%40ss@db.example.org:5433/crosslens",
    "CELERY_BROKER_URL": "redis://queue.example.org:6379/0",
    "SECRET_KEY": "b4Jx0mQe9rTz7vLw2nKc5yHs8dPf1gUa6iXo3eRj0bMq4tVzWd",
    "ALLOWED_HOSTS": "crosslens.example.org, www.example.org",
    "STORAGE_URL": "s3://images?region=eu-central-1&endpoint=https://s3.example.org",
    "EMAIL_URL": "smtp+tls://mailer:secret@mail.example.org:587",
    "DEFAULT_FROM_EMAIL": "Crosslens <noreply@example.org>",
}
MALFORMED = [
    ("DATABASE_URL", "mysql://db.example.org/crosslens", "mysql"),
    ("DATABASE_URL", "postgres:///crosslens", "no host"),
    ("DATABASE_URL", "postgres://db.example.org", "no database"),
    ("DATABASE_URL", "postgres://db.example.org:port/crosslens", "not an address"),
    ("CELERY_BROKER_URL", "amqp://queue.example.org", "amqp"),
    ("CELERY_BROKER_URL", "queue.example.org", "redis"),
    ("SECRET_KEY", "short", "5 characters"),
    ("SECRET_KEY", "x" * 60, "easy to guess"),
    ("SECRET_KEY", "django-insecure-" + "b4Jx0mQe9rTz7vLw2nKc5yHs8dPf1gUa6iXo3eRj0b", "easy to guess"),
    ("ALLOWED_HOSTS", "*", "'*'"),
    ("ALLOWED_HOSTS", "https://crosslens.example.org", "not the name of a host"),
    ("ALLOWED_HOSTS", "crosslens.example.org,", "''"),
    ("STORAGE_URL", "/srv/media", "file or s3"),
    ("STORAGE_URL", "file://srv/media", "does not name an absolute folder"),
    ("STORAGE_URL", "s3://", "no bucket"),
    ("STORAGE_URL", "s3://images?regoin=eu", "settings other than region"),
    ("STORAGE_URL", "s3://images?region", "a setting without a value"),
    ("EMAIL_URL", "mail.example.org:25", "smtp"),
    ("DEFAULT_FROM_EMAIL", "Crosslens", "no address"),
    ("CSRF_TRUSTED_ORIGINS", "crosslens.example.org", "not an origin"),
    ("SITE_URL", "crosslens.example.org", "not the address of a site"),
    ("CACHE_URL", "memcached://cache.example.org", "memcached"),
    ("HTTPS", "perhaps", "perhaps"),
    ("HSTS", "forever", "'forever', which is not host, subdomains or preload"),
    ("WEBHOOKS_TO_PRIVATE_ADDRESSES", "sometimes", "sometimes"),
    ("SECOND_FACTOR_REQUIRED", "staff", "not on or off"),
    ("BREACHED_PASSWORDS", "pwned.txt", "not an absolute path"),
    ("BREACHED_PASSWORDS", "/nowhere/pwned.txt", "cannot be read (No such file or directory)"),
    ("BREACHED_PASSWORDS", "/", "cannot be read (Is a directory)"),
    ("BREACHED_PASSWORDS", "/dev/null", "is empty"),
    ("BREACHED_PASSWORDS", __file__, "do not begin with a SHA-1 digest"),
    ("PROXIES", "many", "many"),
    ("LOG_FORMAT", "xml", "not json or text"),
    ("METRICS_TOKEN", "short", "too short"),
    ("METRICS_TOKEN", "with blanks in between", "has spaces"),
    ("DATABASE_URL", "postgres://[bad/x", "not an address"),
    ("CSRF_TRUSTED_ORIGINS", "https://[x", "not an address"),
    ("ALLOWED_HOSTS", "x.org:8000", "not the name of a host"),
    ("ALLOWED_HOSTS", "x.org;y.org", "not the name of a host"),
    ("EMAIL_URL", "smtp://", "names no host"),
    ("CELERY_BROKER_URL", "redis://h/abc", "not a number"),
    ("STORAGE_URL", "s3://b?endpoint=foo", "not an http address"),
    ("STORAGE_URL", "s3://b?addressing=zz", "addressing"),
    ("STORAGE_URL", "s3://b/path?region=x", "has a path"),
    ("DEFAULT_FROM_EMAIL", "@", "contains no address"),
    ("CAPTION_ENDPOINTS", "http://gpu7:8000/v1", "without a name"),
    ("CAPTION_ENDPOINTS", "Lab=http://gpu7:8000/v1", "without a name"),
    ("CAPTION_ENDPOINTS", "lab=http://gpu7/v1,", "without a name"),
    ("CAPTION_ENDPOINTS", "lab=gpu7:8000", "lab, which is not an http address"),
    ("CAPTION_ENDPOINTS", "lab=http://", "not an http address"),
    ("CAPTION_ENDPOINTS", "lab=http://gpu7:port/v1", "not an http address"),
    ("CAPTION_ENDPOINTS", "lab=http://gpu7/v1 x", "not an http address"),
    ("CAPTION_ENDPOINTS", "lab=http://gpu7/v1,lab=http://gpu8/v1", "names lab twice"),
    ("CAPTION_ENDPOINTS", "lab=http://gpu7/v1/chat/completions", "ends in /completions"),
    ("CAPTION_ENDPOINTS", "my-lab=https://gpu7/v1?key=5", "a key belongs in CAPTION_ENDPOINT_KEY_MY_LAB"),
]


def read_everything(variables: Mapping[str, str], base: Path) -> Environment:
    environment = Environment(variables, base)
    for name in dir(Environment):
        if not name.startswith("_"):
            getattr(environment, name)()
    return environment


def test_without_variables_everything_is_embedded_under_var(tmp_path):
    environment = read_everything({}, tmp_path)

    assert environment.is_embedded
    assert environment.database()["ENGINE"] == "config.sqlite"
    assert environment.database()["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    assert "journal_mode=WAL" in environment.database()["OPTIONS"]["init_command"]
    assert environment.celery()["broker_url"].startswith("filesystem://")
    assert environment.allowed_hosts() == ["127.0.0.1", "localhost", "[::1]"]
    assert environment.site_url() == "http://127.0.0.1:8000/"
    assert environment.https() is False
    for place in (
        environment.database()["NAME"],
        environment.storage()["OPTIONS"]["location"],
        environment.email()["EMAIL_FILE_PATH"],
        environment.cache()["LOCATION"],
    ):
        assert Path(place).is_relative_to(tmp_path / "var")


def test_the_embedded_secret_is_made_once_and_kept_for_its_owner(tmp_path):
    first = Environment({}, tmp_path).secret_key()

    assert Environment({}, tmp_path).secret_key() == first
    assert len(first) >= 50
    assert (tmp_path / "var" / "secret_key").stat().st_mode & 0o077 == 0


def test_crosslens_var_moves_the_embedded_installation(tmp_path):
    assert Environment({"CROSSLENS_VAR": str(tmp_path / "elsewhere")}, tmp_path).var == tmp_path / "elsewhere"


FOLDERS = [("vectors", "VECTORS_FOLDER"), ("models", "MODELS_FOLDER"), ("trainings", "TRAININGS_FOLDER")]


@pytest.mark.parametrize(("name", "variable"), FOLDERS)
def test_vectors_models_and_trainings_lie_with_the_other_files_or_in_a_folder_of_their_own(tmp_path, name, variable):
    def folder(**variables):
        return getattr(Environment(variables, tmp_path), name)()

    assert folder(CROSSLENS_VAR=str(tmp_path)) == tmp_path / name
    assert folder(**{variable: f"/srv/{name}"}) == Path(f"/srv/{name}")
    with pytest.raises(ImproperlyConfigured, match=f"{variable} is '{name}', which is not an absolute folder"):
        folder(**{variable: name})


def test_production_values_reach_the_settings(tmp_path):
    environment = read_everything(PRODUCTION, tmp_path)

    database = environment.database()
    assert not environment.is_embedded
    assert database["ENGINE"] == "django.db.backends.postgresql"
    assert (database["HOST"], database["PORT"], database["NAME"]) == ("db.example.org", 5433, "crosslens")
    assert (database["USER"], database["PASSWORD"]) == ("ann", "p@ss")
    assert environment.celery()["broker_url"] == "redis://queue.example.org:6379/0"
    assert environment.allowed_hosts() == ["crosslens.example.org", "www.example.org"]
    assert environment.csrf_trusted_origins() == ["https://crosslens.example.org", "https://www.example.org"]
    assert environment.cache()["LOCATION"] == "redis://queue.example.org:6379/0"
    assert environment.storage()["BACKEND"] == "storages.backends.s3.S3Storage"
    assert environment.storage()["OPTIONS"]["bucket_name"] == "images"
    assert environment.storage()["OPTIONS"]["endpoint_url"] == "https://s3.example.org"
    assert environment.email()["EMAIL_HOST"] == "mail.example.org"
    assert environment.email()["EMAIL_USE_TLS"] is True
    assert environment.https() is True


def test_a_folder_can_be_the_storage_in_production(tmp_path):
    storage = Environment(PRODUCTION | {"STORAGE_URL": "file:///srv/media"}, tmp_path).storage()

    assert storage["OPTIONS"]["location"] == "/srv/media"


@pytest.mark.parametrize("name", REQUIRED)
def test_a_missing_variable_is_named(name: str, tmp_path: Path):
    with pytest.raises(ImproperlyConfigured, match=rf"^{name} is not set, but .* Set {name} to something like"):
        Environment({key: value for key, value in PRODUCTION.items() if key != name}, tmp_path)


def test_an_empty_variable_is_a_missing_one(tmp_path: Path):
    with pytest.raises(ImproperlyConfigured, match=r"^SECRET_KEY is not set"):
        Environment(PRODUCTION | {"SECRET_KEY": ""}, tmp_path)


@pytest.mark.parametrize("name", REQUIRED)
def test_one_variable_alone_does_not_make_a_half_production_installation(name: str, tmp_path: Path):
    with pytest.raises(ImproperlyConfigured, match=f"but {name} is"):
        Environment({name: PRODUCTION[name]}, tmp_path)


@pytest.mark.parametrize(("name", "value", "why"), MALFORMED)
def test_a_malformed_variable_is_named_with_what_is_wrong(name: str, value: str, why: str, tmp_path: Path):
    with pytest.raises(ImproperlyConfigured) as refusal:
        read_everything(PRODUCTION | {name: value}, tmp_path)

    sentence = str(refusal.value)
    assert sentence.startswith(f"{name} ")
    assert why in sentence
    assert "It should look like: " in sentence


ADDRESSES = {
    "DATABASE_URL": "postgres://ann:{}@db.example.org/crosslens",
    "CELERY_BROKER_URL": "redis://:{}@queue.example.org:6379/0",
    "CACHE_URL": "redis://:{}@cache.example.org:6379/1",
    "STORAGE_URL": "s3://key:{}@images?region=eu-central-1",
    "EMAIL_URL": "smtp+tls://mailer:{}@mail.example.org:587",
}
"""What a password can stand in."""


@pytest.mark.parametrize("name", ADDRESSES)
@pytest.mark.parametrize("between", "#/?[]")
def test_a_password_with_an_unescaped_character_is_never_repeated_in_a_refusal(name, between, tmp_path):
    for password in (f"hunter{between}2tail", f"4431{between}7702", f"{between}hunter"):
        address = ADDRESSES[name].format(password)
        with pytest.raises(ImproperlyConfigured) as refusal:
            read_everything(PRODUCTION | {name: address}, tmp_path)
        assert str(refusal.value).startswith(f"{name} is not an address, or its password has")
        # What stands in the log of a start is the whole chain of errors.
        told = "".join(traceback.format_exception(refusal.value))
        assert not re.search("hunter|2tail|4431|7702", told), told


@pytest.mark.parametrize("name", ADDRESSES)
@pytest.mark.parametrize("cut", ["ftp://ann:hunter2@example.org/x", ":hunter2@example.org", "hunter2:x@example.org"])
def test_a_password_is_never_repeated_in_a_refusal(name, cut, tmp_path):
    with pytest.raises(ImproperlyConfigured, match=f"^{name} ") as refusal:
        read_everything(PRODUCTION | {name: cut}, tmp_path)
    assert "hunter2" not in "".join(traceback.format_exception(refusal.value))


def test_keys_of_the_storage_have_settings_of_their_own(tmp_path):
    with pytest.raises(ImproperlyConfigured, match="Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY") as refusal:
        read_everything(PRODUCTION | {"STORAGE_URL": "s3://ann:hunter2@images"}, tmp_path)
    assert "hunter2" not in str(refusal.value)


def test_endpoints_have_an_address_each_and_a_key_of_their_own(tmp_path):
    environment = Environment(
        {
            "CAPTION_ENDPOINTS": "lab=http://gpu7:8000/v1/ , open-ai=https://api.openai.com/v1",
            "CAPTION_ENDPOINT_KEY_OPEN_AI": " sk-0123 ",
            "CAPTION_ENDPOINT_KEY_LAB": "",
        },
        tmp_path,
    )

    assert environment.caption_endpoints() == {"lab": "http://gpu7:8000/v1", "open-ai": "https://api.openai.com/v1"}
    assert environment.caption_endpoint_keys() == {"open-ai": "sk-0123"}
    assert Environment({}, tmp_path).caption_endpoints() == Environment({}, tmp_path).caption_endpoint_keys() == {}


def test_a_key_of_an_endpoint_that_is_not_there_is_told_by_its_variable(tmp_path):
    with pytest.raises(
        ImproperlyConfigured, match=r"^CAPTION_ENDPOINT_KEY_LBA is the key of an endpoint that"
    ) as refusal:
        Environment(
            {"CAPTION_ENDPOINTS": "lab=http://gpu7/v1", "CAPTION_ENDPOINT_KEY_LBA": "hunter2"}, tmp_path
        ).caption_endpoint_keys()

    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize("key", ["hunter2 and more", "hunter2\nX-Other: header", "hunter2é"])
def test_a_key_that_could_not_stand_in_a_header_is_refused_and_not_repeated(key: str, tmp_path: Path):
    variables = {"CAPTION_ENDPOINTS": "lab=http://gpu7/v1", "CAPTION_ENDPOINT_KEY_LAB": key}

    with pytest.raises(ImproperlyConfigured, match=r"^CAPTION_ENDPOINT_KEY_LAB is not a key") as refusal:
        Environment(variables, tmp_path).caption_endpoint_keys()

    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize("address", ["http://ann:hunter2@gpu7/v1", "http://ann:hunter2/x@gpu7/v1"])
def test_a_password_in_the_address_of_an_endpoint_is_refused_and_not_repeated(address: str, tmp_path: Path):
    with pytest.raises(ImproperlyConfigured, match="CAPTION_ENDPOINTS has the endpoint lab") as refusal:
        Environment({"CAPTION_ENDPOINTS": f"lab={address}"}, tmp_path).caption_endpoints()

    assert "hunter2" not in str(refusal.value)


def manage(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**embedded_environment(Path(variables.pop("CROSSLENS_VAR"))), **variables}
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.process
def test_the_start_stops_with_the_sentence(tmp_path):
    variables = {name: value for name, value in PRODUCTION.items() if name != "EMAIL_URL"}

    outcome = manage("check", CROSSLENS_VAR=str(tmp_path), **variables)

    assert outcome.returncode != 0
    assert "EMAIL_URL is not set, but DATABASE_URL is" in outcome.stderr


@pytest.mark.process
@pytest.mark.long(reason="the platform is started once more")
def test_check_deploy_is_clean_in_production(tmp_path):
    outcome = manage("check", "--deploy", "--fail-level", "INFO", CROSSLENS_VAR=str(tmp_path), **PRODUCTION)

    assert outcome.returncode == 0, outcome.stderr
    # That other hosts of the domain speak TLS too is for the operator to say, by HSTS.
    assert "no issues (2 silenced)" in outcome.stdout


ASK = """
from django.conf import settings
from django.test import Client

answer = Client(headers={"host": settings.ALLOWED_HOSTS[0], "x-forwarded-proto": "https"}).get("/healthz")
print(answer.headers.get("Strict-Transport-Security"))
for cookie in ("SESSION", "CSRF", "LANGUAGE"):
    print(*(getattr(settings, f"{cookie}_COOKIE_{name}") for name in ("NAME", "PATH", "DOMAIN", "SECURE")))
print(settings.KNOWN_BROWSER_COOKIE_NAME)
"""


@pytest.mark.process
@pytest.mark.parametrize(
    ("hsts", "header"),
    some(
        [
            ({}, "max-age=31536000"),
            ({"HSTS": "subdomains"}, "max-age=31536000; includeSubDomains"),
            ({"HSTS": "preload"}, "max-age=31536000; includeSubDomains; preload"),
        ],
        short=1,
        reason="the platform is started for each",
    ),
)
def test_over_tls_cookies_are_of_this_host_alone_and_nothing_is_said_of_others_unasked(tmp_path, hsts, header):
    outcome = manage("shell", "--no-imports", "--command", ASK, CROSSLENS_VAR=str(tmp_path), **PRODUCTION, **hsts)

    assert outcome.stdout.splitlines() == [
        header,
        "__Host-sessionid / None True",
        "__Host-csrftoken / None True",
        "__Host-django_language / None True",
        "__Host-known_browser",
    ]


@pytest.mark.process
def test_without_tls_cookies_have_names_that_browsers_take_and_the_check_is_clean(tmp_path):
    checked = 'from django.core.management import call_command\ncall_command("check", fail_level="INFO")' + ASK
    outcome = manage("shell", "--no-imports", "--command", checked, CROSSLENS_VAR=str(tmp_path))

    assert outcome.stdout.splitlines() == [
        "System check identified no issues (0 silenced).",
        "None",
        "sessionid / None False",
        "csrftoken / None False",
        "django_language / None False",
        "known_browser",
    ]


STARTED_BY_THEMSELVES = ("libs/crosslens_metrics", "tools/demo")
"""The library, and what starts the platform with settings of its own."""


def test_no_other_file_reads_the_environment_for_settings():
    """What differs between installations has one door: config/environment.py."""
    strays = [
        str(path.relative_to(ROOT))
        for path in files_in(*(app for app in PRODUCT if app not in STARTED_BY_THEMSELVES))
        # To set what a library reads when it is imported is not to read a setting.
        if re.search(r"os\.(environ(?!\.(setdefault|update)\()|getenv)", path.read_text())
    ]

    hides_keys_of_libraries = "research/inference/services/tracebacks.py"
    # An aligner is found in the same way without the platform, where there are no settings.
    allowed = ["config/environment.py", "config/probe.py", hides_keys_of_libraries, "libs/parallel_text/align.py"]
    assert sorted(strays) == sorted(allowed)


def test_a_lost_secret_is_said_to_be_lost(tmp_path: Path):
    (tmp_path / "secret_key").touch()
    with pytest.raises(ImproperlyConfigured, match="no longer holds a secret"):
        Environment({"CROSSLENS_VAR": str(tmp_path)}, tmp_path).secret_key()


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path):
    (tmp_path / "var").touch()
    with pytest.raises(ImproperlyConfigured, match="CROSSLENS_VAR"):
        Environment({"CROSSLENS_VAR": str(tmp_path / "var")}, tmp_path).secret_key()
