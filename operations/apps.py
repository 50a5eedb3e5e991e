from django.apps import AppConfig


class OperationsConfig(AppConfig):
    name = "operations"

    def ready(self) -> None:
        # Importing connects them to Celery and to the database.
        from operations.signals import database_errors, tasks

        database_errors.connect()
        tasks.connect()
