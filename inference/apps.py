from django.apps import AppConfig


class InferenceConfig(AppConfig):
    name = "inference"

    def ready(self) -> None:
        from inference.selectors.data_export import data_export
        from inference.selectors.users import register_users
        from people import personal_data

        personal_data.register("inference", export=data_export)
        register_users()
