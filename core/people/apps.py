from django.apps import AppConfig


class PeopleConfig(AppConfig):
    name = "core.people"

    def ready(self) -> None:
        # Importing connects them to the signals of others.
        from core.people import security_log
        from core.people.selectors.email_texts import register_emails
        from core.people.services import sessions

        register_emails()
        security_log.connect()
        sessions.connect()
