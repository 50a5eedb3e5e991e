from django.apps import AppConfig


class PracticeConfig(AppConfig):
    name = "practice"

    def ready(self) -> None:
        from people import personal_data
        from people.selectors import qualification
        from practice.selectors.data_export import data_export
        from practice.selectors.states import missing_practice

        personal_data.register("practice", export=data_export)
        qualification.also_require(missing_practice)
