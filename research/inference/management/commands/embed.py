"""`manage.py embed COLLECTION`: vectors of a collection's images, or of captions of them, made here and now."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core.images.management.arguments import collection_named
from core.people.management.arguments import PROJECT_HELP, language_of, named_object, project_of
from core.people.models import Project
from core.people.permissions import usable_in
from research.inference.backends.encoders import EncoderSettingsError
from research.inference.backends.mobilenet import NAME as MOBILENET
from research.inference.models import CaptioningModel, EmbeddingSet, Encoder, Run, RunState, WeightPrecision
from research.inference.services import encoders, worker_status
from research.inference.services.executor import execute_run
from research.inference.services.runs import start_embeddings
from research.inference.services.steering import WorkRefusedError

REPORTED_EVERY_S = 5.0
FAILURES_SHOWN = 10


class Command(BaseCommand):
    help = "Compute vectors of a collection's images, or of a model's captions of them, as an embedding set."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("collection", help="name or slug")
        parser.add_argument(
            "--encoder", default=MOBILENET, metavar="NAME", help="a registered encoder; default %(default)s"
        )
        parser.add_argument(
            "--backend", help="backend with which to register the encoder, if there is none of that name"
        )
        parser.add_argument("--source", default="", help="source of the encoder to register")
        parser.add_argument("--captions-of", metavar="MODEL", help="model whose captions to use, instead of the images")
        parser.add_argument("--language", metavar="TAG", help="language of the captions")
        parser.add_argument("--project", metavar="SLUG", help=PROJECT_HELP)
        parser.add_argument("--precision", choices=WeightPrecision.values, default=WeightPrecision.FLOAT16)

    def handle(self, *, collection: str, **options: Any) -> None:
        worker_status.prepare_process(processes=1)
        project = project_of(options["project"])
        of, captions_of = collection_named(collection, project=project), None
        if options["captions_of"] is not None:
            models = CaptioningModel.objects.filter(usable_in(project))
            captions_of = named_object(models, options["captions_of"], kind="captioning model", project=project)
        try:
            run = start_embeddings(
                encoder=_encoder(options["encoder"], options["backend"], options["source"], project),
                collection=of,
                captions_of=captions_of,
                language=None if options["language"] is None else language_of(options["language"]),
                precision=options["precision"],
                project=project,
                is_shared=project is None,
                by=None,
                now=timezone.now(),
            )
        except (EncoderSettingsError, WorkRefusedError) as refused:
            raise CommandError(str(refused)) from refused
        self._work(run)

    def _work(self, run: Run) -> None:
        worker = worker_status.worker_name()
        while True:
            has_more = execute_run(run_id=run.pk, worker=worker, clock=timezone.now, slice_s=REPORTED_EVERY_S)
            run.refresh_from_db()
            self.stdout.write(f"{run.done + run.failed:,} of {run.total:,}")
            if not has_more:
                break
        for failure in run.failures.select_related("image")[:FAILURES_SHOWN]:
            self.stdout.write(f"{failure.image.sha256[:16]}: {failure.reason}")
        if run.state != RunState.DONE:
            # Workers that took chunks of it too may still be at them.
            raise CommandError(run.error or f"Run {run.pk} continues in the background: {run.get_state_display()}.")
        made = EmbeddingSet.objects.select_related("encoder").get(run=run)
        self.stdout.write(
            f"Embedding set {made.pk}: {made.rows:,} × {made.dimensions}, {made.precision}; {run.failed:,} failed.\n"
            f"Encoder: {made.encoder.signature}"
        )


def _encoder(name: str, backend: str | None, source: str, project: Project | None) -> Encoder:
    usable = Encoder.objects.filter(usable_in(project))
    if usable.filter(name=name).exists():
        return named_object(usable, name, kind="encoder", project=project)
    if backend is None and name != MOBILENET:
        names = ", ".join(usable.values_list("name", flat=True)) or "none"
        raise CommandError(f"There is no encoder {name} (available: {names}). Register it with --backend and --source.")
    return encoders.register(
        name=name,
        backend=backend or MOBILENET,
        source=source,
        project=project,
        is_shared=project is None,
        by=None,
    )
