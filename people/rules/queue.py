"""Celery's decorator of tasks, imported together with the application that has the broker.

Only modules of tasks import it, as Celery takes a third of the time in which Django starts.
"""

from importlib import import_module

from celery import current_app, shared_task
from django.conf import settings

__all__ = ["current_app", "shared_task"]

# Otherwise what is sent goes to an application without a broker.
import_module(settings.QUEUE_APPLICATION)
