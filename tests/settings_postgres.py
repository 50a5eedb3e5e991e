"""As tests/settings.py, but on PostgreSQL: the one at TEST_DATABASE_URL, or one from a wheel, started here."""

import os

import environ

from tests.servers import start_postgres
from tests.settings import *  # noqa: F403 - Django's own way to stand settings on settings

# Kept in the environment: the workers of pytest-xdist share the server of the process that started them.
if not os.environ.get("TEST_DATABASE_URL"):
    os.environ["TEST_DATABASE_URL"] = start_postgres()
DATABASES = {"default": {**environ.Env.db_url_config(os.environ["TEST_DATABASE_URL"]), "CONN_MAX_AGE": 0}}
