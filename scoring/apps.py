from django.apps import AppConfig


class ScoringConfig(AppConfig):
    name = "scoring"

    def ready(self) -> None:
        from people import personal
        from scoring.selectors.own_data import own_data

        personal.register("scoring", export=own_data)
