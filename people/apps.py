from django.apps import AppConfig


class PeopleConfig(AppConfig):
    name = "people"

    def ready(self) -> None:
        # Importing connects them to the signals of others.
        from people import security_log
        from people.services import session_store

        security_log.connect()
        session_store.connect()
