from django.apps import AppConfig


class InferenceConfig(AppConfig):
    name = "inference"

    def ready(self) -> None:
        from inference.selectors.own_data import own_data
        from inference.selectors.users import register_users
        from people import personal

        personal.register("inference", export=own_data)
        register_users()
