from django.apps import AppConfig


class RecruitmentConfig(AppConfig):
    name = "recruitment"

    def ready(self) -> None:
        from allocation.services.assigning import limit_batches
        from annotation.selectors.estimates import register_rate
        from people import personal_data
        from people.rules.lazy import LazyModule

        costs = LazyModule("recruitment.selectors.costs")
        data_export = LazyModule("recruitment.selectors.data_export")
        participants = LazyModule("recruitment.services.participants")

        limit_batches(participants.check_limit)
        register_rate(costs.rate_of)
        personal_data.register("recruitment", export=data_export.data_export, on_deletion=participants.forget)
