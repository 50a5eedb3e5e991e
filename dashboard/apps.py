from django.apps import AppConfig


class DashboardConfig(AppConfig):
    name = "dashboard"

    def ready(self) -> None:
        from dashboard.selectors import data_export
        from dashboard.services import choices
        from people import personal_data

        personal_data.register("dashboard", export=data_export.data_export, on_deletion=choices.forget)
