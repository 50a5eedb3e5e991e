from django.apps import AppConfig


class RecruitmentConfig(AppConfig):
    name = "recruitment"

    def ready(self) -> None:
        from allocation.services.assigning import limit_batches
        from annotation.selectors.estimates import register_rate
        from people import personal_data
        from recruitment.selectors import costs, data_export
        from recruitment.services import participants

        limit_batches(participants.check_limit)
        register_rate(costs.rate_of)
        personal_data.register("recruitment", export=data_export.data_export, on_deletion=participants.forget)
