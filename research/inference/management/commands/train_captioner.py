"""`manage.py train_captioner CAPTIONS.jsonl --images FOLDER --model SOURCE --out FOLDER`: train in the foreground."""

from __future__ import annotations

import json
import signal
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from PIL import Image

from crosslens_metrics.commands.running import language_tag
from crosslens_metrics.formats.names import ImageNames
from crosslens_metrics.formats.problems import FileProblemsError
from research.inference.backends import registry
from research.inference.backends.captioners import BackendSettingsError, ModelSpec
from research.inference.backends.encoders import ExtraMissingError
from research.inference.backends.feature_decoder import FEATURES
from research.inference.backends.transformer_captioner import TrainableCaptioner
from research.inference.backends.transformer_files import folder_of, read_json
from research.inference.formats.images import ImageFileError, images_in, read_folder
from research.inference.management.arguments import make_folder_to_write
from research.inference.services import worker_status
from research.inference.training.bases import model_options, small_base, small_name
from research.inference.training.card import CARD, Provenance, model_card, provenance
from research.inference.training.checkpoints import StepRecord, ValidationRecord
from research.inference.training.examples import TrainingExample, as_targets, check_split, read_examples, split_by_image
from research.inference.training.options import CHOICES, TrainingError, TrainingOptions, TrainingTargets
from research.inference.training.trainer import MODEL, TrainingOutcome, train_captioner

NEW, BASE = "new", "base"
SAY_EVERY = 10
"""Steps."""


class Command(BaseCommand):
    help = (
        "Train a captioning model of transformers on captions of images. Run the same command again to resume after an "
        "interruption."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("captions", type=Path, help='JSON lines: {"image": …, "caption": …, "language": …}')
        parser.add_argument("--images", type=Path, required=True, help="folder of the images that the captions name")
        parser.add_argument(
            "--model", required=True, help=f"folder, or owner/name@COMMIT of the hub; {NEW}: a new small one"
        )
        parser.add_argument("--model-options", type=json.loads, default={}, metavar="JSON", help="of docs/models.md")
        parser.add_argument(
            "--features",
            metavar="ENCODER",
            help=f"with --model {NEW}: encoder whose features it captions, such as mobilenet",
        )
        parser.add_argument("--out", type=Path, required=True, help="folder for checkpoints, curve and model")
        parser.add_argument("--language", type=language_tag, help="of captions that name none")
        parser.add_argument("--validation", type=Path, help="captions to validate with, in the same form")
        parser.add_argument("--validation-share", type=float, default=0.1, help="of the images, without --validation")
        parser.add_argument("--evaluated", type=Path, help="file with a line for each image that must not be used")
        parser.add_argument("--json", action="store_true", help="print a JSON object a line")
        usual = TrainingOptions()
        for option in fields(TrainingOptions):
            value = getattr(usual, option.name)
            kind = (
                {"choices": [str(one) for one in CHOICES[option.name]]}
                if option.name in CHOICES
                else {"type": type(value)}
            )
            parser.add_argument(f"--{option.name.replace('_', '-')}", default=value, help=f"default: {value}", **kind)

    def handle(self, *, captions: Path, images: Path, model: str, out: Path, **given: Any) -> None:
        worker_status.prepare_process(processes=1)
        self._is_json = given["json"]
        make_folder_to_write(out)
        try:
            options = TrainingOptions.from_dict({one.name: given[one.name] for one in fields(TrainingOptions)})
            training, validation = _split(captions, options, given)
            names = _names_of_files(images, [*training, *validation])
            about = dict(given["model_options"])
            if given["features"]:
                about[FEATURES] = _features(model, given["features"])
            folder = _folder(model, out, training, options, about)
            family = str(read_json(folder, "config.json").get("model_type", ""))
            backend = registry.trainable_backend(family)
            names_languages = registry.names_languages(backend, family, about)
            chosen = model_options(about, training, options.targets, names_languages=names_languages)
            small = small_name(chosen.get(FEATURES))
            name, source = (small, str(folder)) if model == NEW else (model, model)
            spec = ModelSpec(name, source, chosen, is_pivot=options.targets != TrainingTargets.PLAIN)
            captioner = backend.load_folder(spec, folder)
            self._train(captioner, spec, training, validation, lambda name: _read(images, names[name]), options, out)
        except (
            BackendSettingsError,
            ExtraMissingError,
            FileProblemsError,
            ImageFileError,
            TrainingError,
        ) as error:
            raise CommandError(str(error)) from error

    def _train(
        self,
        captioner: TrainableCaptioner,
        spec: ModelSpec,
        training: list[TrainingExample],
        validation: list[TrainingExample],
        read_image: Callable[[str], Image.Image],
        options: TrainingOptions,
        out: Path,
    ) -> None:
        made = provenance(
            spec.name,
            captioner.describe(),
            training=training,
            validation=validation,
            options=options,
            code=str(settings.CODE_VERSION),
        )
        watcher = _PrintingWatcher(self)
        outcome = train_captioner(
            captioner,
            run=made.run,
            training=training,
            validation=validation,
            read_image=read_image,
            options=options,
            folder=out,
            watcher=watcher,
        )
        self._finish(outcome, made, spec, out)

    def _finish(self, outcome: TrainingOutcome, made: Provenance, spec: ModelSpec, out: Path) -> None:
        best = outcome.best
        if best is not None:
            (out / MODEL / CARD).write_text(model_card(out.name, made, best), encoding="utf-8")
            content = {**made.as_dict(), "model_options": spec.options, "best": asdict(best)}
            (out / MODEL / "training.json").write_text(
                json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
            )
        if outcome.has_failed:
            kept = f" The best model, of step {best.step}, is in {out / MODEL}." if best else ""
            raise CommandError(f"{outcome.reason}{kept}")
        if best is None:
            raise CommandError(f"Stopped after step {outcome.step}. Run the same command again to resume.")
        if outcome.reason:
            self.say(outcome.reason, note=outcome.reason)
        self.say(
            f"The best model is that of step {best.step}, with CIDEr {best.cider:.1f}. It is in {out / MODEL}.",
            model=str(out / MODEL),
            step=best.step,
            cider=best.cider,
        )

    def say(self, text: str, **values: Any) -> None:
        self.stdout.write(json.dumps(values, ensure_ascii=False) if self._is_json else text)
        self.stdout.flush()


class _PrintingWatcher:
    """Prints what happens, and stops at the first signal."""

    def __init__(self, command: Command) -> None:
        self._command, self._is_stopped = command, False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)

    def resumed(self, step: int) -> None:
        self._command.say(f"Resumed after step {step}.", resumed_after=step)

    def stepped(self, record: StepRecord) -> None:
        if record.step % SAY_EVERY == 0:
            text = f"Step {record.step}: loss {record.loss:.4f}, {record.images_per_s:.1f} images/s"
            self._command.say(text, **asdict(record))

    def validated(self, record: ValidationRecord) -> None:
        text = f"Validation after step {record.step}: CIDEr {record.cider:.1f}, loss {record.loss:.4f}"
        self._command.say(text, validation=asdict(record))

    def noted(self, message: str) -> None:
        self._command.say(message, note=message)

    def is_stopped(self) -> bool:
        return self._is_stopped

    def before_saving(self) -> None:
        pass

    def _stop(self, *_signal: object) -> None:
        self._is_stopped = True


def _split(
    captions: Path, options: TrainingOptions, given: dict[str, Any]
) -> tuple[list[TrainingExample], list[TrainingExample]]:
    examples = read_examples(captions, language=given["language"] or "")
    if given["validation"]:
        training, validation = examples, read_examples(given["validation"], language=given["language"] or "")
    else:
        training, validation = split_by_image(examples, share=given["validation_share"], seed=options.seed)
    evaluated = _lines(given["evaluated"]) if given["evaluated"] else []
    check_split(training, validation, evaluated=evaluated)
    return as_targets(training, options.targets), as_targets(validation, options.targets)


def _names_of_files(folder: Path, examples: list[TrainingExample]) -> dict[str, str]:
    """Find the file of each image, and refuse captions without one before anything is computed."""
    files = ImageNames({name: name for name in images_in(folder)})
    found = {one.image: files.first(one.image) for one in examples}
    missing = sorted(image for image, file in found.items() if file is None)
    if missing:
        raise CommandError(
            f"Captions without images: {len(missing)}. {missing[0]!r} is not in {folder}. Add the images, or leave the "
            "captions out."
        )
    return {image: file for image, file in found.items() if file is not None}


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from error


def _features(model: str, encoder: str) -> dict[str, Any]:
    if model != NEW:
        raise CommandError(f"--features is for --model {NEW}: other models see images themselves.")
    backend, _colon, source = encoder.partition(":")
    return {"backend": backend, "source": source}


def _folder(
    model: str, out: Path, training: list[TrainingExample], options: TrainingOptions, given: dict[str, Any]
) -> Path:
    """Return the folder of the base; a new one is made first."""
    if model == NEW:
        return small_base(out / BASE, training, seed=options.seed, features=given.get(FEATURES))
    return Path(model) if Path(model).is_dir() else folder_of(ModelSpec(model, model, given))


def _read(folder: Path, name: str) -> Image.Image:
    for _name, image in read_folder(folder, [name]):
        return image
    raise AssertionError
