from django.apps import AppConfig


class PeopleConfig(AppConfig):
    name = "people"

    def ready(self) -> None:
        # What it connects to the signals of others is its own from here on.
        from people import security_log

        security_log.connect()
