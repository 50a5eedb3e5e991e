"""As tests/settings.py, but on PostgreSQL: the one at TEST_DATABASE_URL, or one from a wheel, started here."""

import os

import environ
import psycopg

from tests.servers import start_postgres
from tests.settings import *  # noqa: F403 - Django's own way to stand settings on settings

# Kept in the environment: the workers of pytest-xdist share the server of the process that started them.
if not os.environ.get("TEST_DATABASE_URL"):
    os.environ["TEST_DATABASE_URL"] = start_postgres()
    with psycopg.connect(os.environ["TEST_DATABASE_URL"]) as _server:
        os.environ["TEST_DATABASE_SOCKET"] = _server.execute("SHOW unix_socket_directories").fetchone()[0]
DATABASES = {
    "default": {
        **environ.Env.db_url_config(os.environ["TEST_DATABASE_URL"]),
        "CONN_MAX_AGE": 0,
        # At once, and not only after some times as in production: few tests ask for anything that often.
        "OPTIONS": {"prepare_threshold": 0},
    }
}
# A query and its answer cost a third less processor time than over an address.
if os.environ.get("TEST_DATABASE_SOCKET"):
    DATABASES["default"]["HOST"] = os.environ["TEST_DATABASE_SOCKET"]
