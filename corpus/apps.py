from django.apps import AppConfig


class CorpusConfig(AppConfig):
    name = "corpus"

    def ready(self) -> None:
        from corpus.selectors import own_data
        from people import personal

        personal.register("corpus", export=own_data)
