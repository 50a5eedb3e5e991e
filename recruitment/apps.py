from django.apps import AppConfig


class RecruitmentConfig(AppConfig):
    name = "recruitment"

    def ready(self) -> None:
        from people import personal_data
        from recruitment.selectors.data_export import data_export
        from recruitment.services.participants import forget

        personal_data.register("recruitment", export=data_export, on_deletion=forget)
