from django.apps import AppConfig


class PracticeConfig(AppConfig):
    name = "office.practice"

    def ready(self) -> None:
        from core.people import personal_data
        from core.people.selectors import qualification
        from office.practice.selectors.managing import data_export
        from office.practice.selectors.practising import images_kept_from, images_of_examples, missing_practice
        from office.practice.services.attempts import forget_messages
        from research.inference.selectors import assigned_work

        personal_data.register("practice", export=data_export, on_deletion=forget_messages)
        assigned_work.register_known(images_kept_from, images_of_examples)
        qualification.also_require(missing_practice)
