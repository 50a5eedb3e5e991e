from django.apps import AppConfig


class ConversationConfig(AppConfig):
    name = "core.conversation"

    def ready(self) -> None:
        from core.conversation import selectors, services
        from core.people import personal_data

        personal_data.register("conversation", export=selectors.data_export, on_deletion=services.forget)
