"""`manage.py train_projection PAIRS.jsonl --features FEATURES.npz --language xx --vectors NAME --out FOLDER`."""

from __future__ import annotations

from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core.people.management.arguments import language_of
from core.people.management.library import as_command_errors
from crosslens_metrics.commands.running import whole_number
from crosslens_metrics.commands.score_captions import named_vectors
from crosslens_metrics.formats.problems import FileProblemsError
from crosslens_metrics.java import ToolFailedError, ToolMissingError
from crosslens_metrics.text import Tokenizer, text_version, tokenise
from research.inference.backends.encoders import ExtraMissingError
from research.inference.formats.images import read_pairs
from research.inference.management.arguments import NO_VECTORS, VECTORS_HELP, make_folder_to_write, word_vectors
from research.inference.projections.folder import VECTORS, ProjectionConfig, ProjectionError, read_projection
from research.inference.projections.training import BaseProjection, TrainingData, train


class Command(BaseCommand):
    help = "Train a W2VV++ projection of a language's captions into a space of image features."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("pairs", type=Path, help='JSON lines: {"image": …, "caption": …} or "captions": […]')
        parser.add_argument("--features", type=Path, required=True, help="npz file of image_features")
        parser.add_argument("--language", required=True, help="tag of the captions' language, for example en")
        parser.add_argument("--vectors", required=True, help=f"{VECTORS_HELP}; {NO_VECTORS} for none")
        parser.add_argument("--out", type=Path, required=True, help="folder for the projection")
        parser.add_argument("--tokenizer", choices=[str(kind) for kind in Tokenizer])
        parser.add_argument("--seed", type=whole_number(0, 2**31 - 1), default=ProjectionConfig.seed)
        parser.add_argument("--epochs", type=whole_number(1, 10_000), default=ProjectionConfig.epochs)
        parser.add_argument("--start", type=Path, metavar="FOLDER", help="a projection of another set to train further")
        parser.add_argument("--validation", type=Path, help="captions of other images, which choose the best epoch")
        parser.add_argument("--resume", action="store_true", help="continue after an interruption")

    def handle(self, *, pairs: Path, features: Path, out: Path, resume: bool, **options: Any) -> None:
        language = language_of(options["language"])
        if options["tokenizer"] is None and not language.spaced:
            raise CommandError(
                f"The words of {language.tag} are not separated by spaces. Give --tokenizer icu or characters."
            )
        tokenizer = options["tokenizer"] or Tokenizer.WHITESPACE
        base = _base(options["start"]) if options["start"] else None
        config = ProjectionConfig(seed=options["seed"], epochs=options["epochs"])
        with as_command_errors():
            images = named_vectors(features, option="--features")
        make_folder_to_write(out)
        try:
            images_of, captions = zip(*read_pairs(pairs), strict=True)

            def tokens_of(texts: Sequence[str]) -> Sequence[str]:
                return tokenise(texts, tokenizer=tokenizer, language=language.tag, normalise=True)

            task = TrainingData(
                captions=tokens_of(captions),
                images=images_of,
                features=images,
                vectors=word_vectors(options["vectors"], language=language.tag, copy_to=out / VECTORS),
                language=language.tag,
                text=text_version(tokenizer, normalise=True, language=language.tag),
                tokenizer=str(tokenizer),
                normalise=True,
                validation=_validation(options["validation"], tokens_of) if options["validation"] else {},
            )
            manifest = train(
                task,
                config,
                out,
                resume=resume,
                progress=self._progress(config),
                validated=self._validated,
                base=base,
            )
        except (FileProblemsError, ProjectionError, ExtraMissingError, ToolMissingError, ToolFailedError) as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt as stopped:
            raise CommandError(f"Interrupted. What is done is in {out}. Continue with --resume.") from stopped
        self.stdout.write(f"Trained on {manifest.pairs:,} captions; the projection is in {out}.")
        if manifest.epoch is not None:
            self.stdout.write(f"The weights are those of epoch {manifest.epoch}, the best in validation.")
        self.stdout.write(f"Encoder: {manifest.encoder}")

    def _validated(self, epoch: int, cider: float) -> None:
        self.stdout.write(f"Validation after epoch {epoch}: CIDEr {cider:.1f}")
        self.stdout.flush()

    def _progress(self, config: ProjectionConfig) -> Any:
        def say(epoch: int, loss: float) -> None:
            self.stdout.write(f"Epoch {epoch} of {config.epochs}: loss {loss:.4f}")
            self.stdout.flush()

        return say


def _base(folder: Path) -> BaseProjection:
    try:
        return BaseProjection(*read_projection(folder))
    except ProjectionError as error:
        raise CommandError(str(error)) from error


def _validation(path: Path, tokens_of: Callable[[Sequence[str]], Sequence[str]]) -> dict[str, list[str]]:
    images, captions = zip(*read_pairs(path), strict=True)
    by_image: dict[str, list[str]] = defaultdict(list)
    for image, tokens in zip(images, tokens_of(captions), strict=True):
        by_image[image].append(tokens)
    return dict(by_image)
