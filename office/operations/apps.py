from django.apps import AppConfig


class OperationsConfig(AppConfig):
    name = "office.operations"

    def ready(self) -> None:
        from office.operations.signals import database_errors

        database_errors.connect()
