from django.apps import AppConfig


class RecruitmentConfig(AppConfig):
    name = "office.recruitment"

    def ready(self) -> None:
        from core.allocation.services.assigning import limit_batches
        from core.people import personal_data
        from core.people.selectors.rates import register_rates
        from office.recruitment.selectors import costs, work
        from office.recruitment.services import participants

        limit_batches(participants.check_limit)
        register_rates(costs.rate_of, costs.promises_to)
        personal_data.register("recruitment", export=work.data_export, on_deletion=participants.forget)
