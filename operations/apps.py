from django.apps import AppConfig


class OperationsConfig(AppConfig):
    name = "operations"

    def ready(self) -> None:
        # What they connect to Celery and to the database is theirs from here on.
        from operations import database_errors, tasks_told

        database_errors.connect()
        tasks_told.connect()
