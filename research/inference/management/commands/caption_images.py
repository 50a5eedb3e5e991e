"""Captioning a collection in the foreground, on this machine: a run like those that are started in the browser."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core.images.management.arguments import collection_named
from core.jobs.models import JobState
from core.people.management.arguments import PROJECT_HELP, language_of, named_object, project_of
from core.people.permissions import usable_in
from research.inference.backends.captioners import Decoding
from research.inference.models import CaptioningModel, Run, RunState
from research.inference.services import executor, runs, worker_status
from research.inference.services.steering import WorkRefusedError, cancel
from research.inference.services.worker_status import heartbeat

SLICE_S = 5.0
"""After which it says how far it is."""

LOOK_EVERY_S = 2.0


class Command(BaseCommand):
    help = "Caption the images of a collection with a registered model. Run it again to make what is missing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        usual = Decoding()
        parser.add_argument("collection", help="short name, as in addresses")
        parser.add_argument("--model", required=True, help="name of a registered model")
        parser.add_argument("--languages", required=True, nargs="+", metavar="TAG", help="for example de fr")
        parser.add_argument("--project", metavar="SLUG", help=PROJECT_HELP)
        parser.add_argument("--name", default="", help="name of the variant, if the decoding is new for the model")
        parser.add_argument("--beams", type=int, default=usual.beams)
        parser.add_argument("--max-tokens", type=int, default=usual.max_tokens)
        parser.add_argument("--min-tokens", type=int, default=usual.min_tokens)
        parser.add_argument("--length-penalty", type=float, default=usual.length_penalty)
        parser.add_argument(
            "--temperature", type=float, default=usual.temperature, help="0: always the most likely words"
        )
        parser.add_argument("--top-p", type=float, default=usual.top_p)
        parser.add_argument("--seed", type=int, default=usual.seed)
        parser.add_argument("--precision", default=usual.precision, choices=("auto", "float32", "float16", "bfloat16"))
        parser.add_argument(
            "--consistent", action="store_true", dest="is_consistent", help="use one stabiliser for all languages"
        )

    def handle(self, *, collection: str, model: str, languages: list[str], name: str, **options: Any) -> None:
        worker_status.prepare_process(processes=1)
        decoding = Decoding(**{field: options[field] for field in Decoding().stored()})
        project = project_of(options["project"])
        models = CaptioningModel.objects.filter(usable_in(project))
        try:
            run = runs.start(
                model=named_object(models, model, kind="model named", project=project),
                collection=collection_named(collection, project=project),
                languages=list(dict.fromkeys(map(language_of, languages))),
                decoding=decoding,
                name=name,
                project=project,
                is_shared=project is None,
                by=None,
                now=timezone.now(),
            )
        except WorkRefusedError as refused:
            raise CommandError(str(refused)) from refused
        heartbeat.start(queues=())
        try:
            self._work(run)
        except KeyboardInterrupt as interrupted:
            cancel(run, now=timezone.now())
            raise CommandError("Interrupted. What is stored is kept. Run it again for the rest.") from interrupted
        finally:
            heartbeat.stop()

    def _work(self, run: Run) -> None:
        last_event = self._print_progress(run, 0)
        while run.is_going:
            executor.execute_run(run_id=run.pk, worker=worker_status.worker_name(), clock=timezone.now, slice_s=SLICE_S)
            run.refresh_from_db()
            last_event = self._print_progress(run, last_event)
            if run.is_going and not run.chunks.filter(state=JobState.QUEUED).exists():
                # Other workers are at what is left of it.
                time.sleep(LOOK_EVERY_S)
        if run.state != RunState.DONE:
            raise CommandError(run.error or f"The run was {run.get_state_display().lower()} elsewhere.")

    def _print_progress(self, run: Run, last_event: int) -> int:
        """Print the new lines of the log, and the progress; return the last line printed."""
        for event in run.events.filter(pk__gt=last_event).order_by("pk"):
            self.stdout.write(event.message)
            last_event = event.pk
        self.stdout.write(f"{run.already + run.done + run.failed} of {run.total}")
        return last_event
