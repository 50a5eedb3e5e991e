"""Handlers of Django's and Celery's signals."""
