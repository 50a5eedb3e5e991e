from django.apps import AppConfig


class PracticeConfig(AppConfig):
    name = "practice"

    def ready(self) -> None:
        from inference.selectors import assigned_work
        from people import personal_data
        from people.selectors import qualification
        from practice.selectors.data_export import data_export
        from practice.selectors.examples import images_kept_from, images_of_examples
        from practice.selectors.states import missing_practice
        from practice.services.attempts import forget_messages

        personal_data.register("practice", export=data_export, on_deletion=forget_messages)
        assigned_work.register_known(images_kept_from, images_of_examples)
        qualification.also_require(missing_practice)
