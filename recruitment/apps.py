from django.apps import AppConfig


class RecruitmentConfig(AppConfig):
    name = "recruitment"

    def ready(self) -> None:
        from annotation.selectors.estimates import register_rate
        from people import personal_data
        from recruitment.selectors.costs import rate_of
        from recruitment.selectors.data_export import data_export
        from recruitment.services.participants import forget

        register_rate(rate_of)
        personal_data.register("recruitment", export=data_export, on_deletion=forget)
