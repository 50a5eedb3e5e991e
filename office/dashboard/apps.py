from django.apps import AppConfig


class DashboardConfig(AppConfig):
    name = "office.dashboard"

    def ready(self) -> None:
        from core.people import personal_data
        from office.dashboard.selectors.choices import data_export
        from office.dashboard.services import choices

        personal_data.register("dashboard", export=data_export, on_deletion=choices.forget)
