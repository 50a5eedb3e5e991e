from django.apps import AppConfig


class DashboardConfig(AppConfig):
    name = "dashboard"

    def ready(self) -> None:
        from people import personal_data
        from people.rules.lazy import LazyModule

        data_export = LazyModule("dashboard.selectors.data_export")
        choices = LazyModule("dashboard.services.choices")

        personal_data.register("dashboard", export=data_export.data_export, on_deletion=choices.forget)
