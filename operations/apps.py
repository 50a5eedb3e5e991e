from django.apps import AppConfig


class OperationsConfig(AppConfig):
    name = "operations"

    def ready(self) -> None:
        # What they connect to Celery and to the database is theirs from here on.
        from operations.signals import database_errors, tasks

        database_errors.connect()
        tasks.connect()
