"""Wiring only: settings, addresses, Celery, WSGI and ASGI entry points."""
