"""The Celery application: `celery -A config worker`."""

import os

from celery import Celery
from kombu.transport import TRANSPORT_ALIASES

from operations.signals import tasks

TRANSPORT_ALIASES["filesystem"] = "config.file_queue:Transport"
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
app = Celery("crosslens")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
tasks.connect()
