"""The settings of a worker that a test starts: the database and the broker of that test."""

import json
import os

from config.settings import *  # noqa: F403 - Django's own way to stand settings on settings
from config.settings import CELERY_BROKER_TRANSPORT_OPTIONS as FILES
from config.settings import CELERY_BROKER_URL as IN_FILES

DATABASES = {"default": json.loads(os.environ["TEST_WORKER_DATABASE"])}
CELERY_BROKER_URL = os.environ.get("TEST_WORKER_BROKER") or IN_FILES
CELERY_BROKER_TRANSPORT_OPTIONS = FILES if CELERY_BROKER_URL == IN_FILES else {"socket_connect_timeout": 2}
