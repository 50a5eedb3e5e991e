from django.apps import AppConfig


class DashboardConfig(AppConfig):
    name = "dashboard"

    def ready(self) -> None:
        from dashboard.selectors.data_export import data_export
        from dashboard.services.choices import forget
        from people import personal_data

        personal_data.register("dashboard", export=data_export, on_deletion=forget)
