"""The Celery application: `celery -A config worker`."""

import os

from celery import Celery
from django.apps import apps
from kombu.transport import TRANSPORT_ALIASES

from office.operations.signals import tasks

TRANSPORT_ALIASES["filesystem"] = "config.file_queue:Transport"
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")


class Application(Celery):
    def gen_task_name(self, name: str, module: str) -> str:
        """Name a task after its app's label, so that messages and figures keep their names when the app moves."""
        owner = apps.get_containing_app_config(module)
        return super().gen_task_name(name, f"{owner.label}{module.removeprefix(owner.name)}" if owner else module)


app = Application("crosslens")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
tasks.connect()
