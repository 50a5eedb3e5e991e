"""Train a captioning model: seeded, validated by CIDEr, and resumed after any interruption with the same losses.

What is random in a step follows from the seed and the step's number, so that a checkpoint needs the weights and the
optimiser's state only. Weights are put back into the model that was loaded from the base's files, so that whatever ties
its parts together stays.
"""

from __future__ import annotations

import math
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from django.utils.translation import gettext as _

from research.inference.backends.captioners import Decoding, GeneratedCaption
from research.inference.backends.encoders import device, torch
from research.inference.backends.feature_decoder import FEATURES
from research.inference.backends.memory import BatchAttempt
from research.inference.backends.transformer_captioner import TrainableCaptioner, TrainingRow
from research.inference.training.checkpoints import (
    BEST,
    CURVE,
    LAST,
    SampleCaption,
    StepRecord,
    TrainingCheckpoints,
    ValidationRecord,
    cut_curve,
    validation_of,
    write_line,
)
from research.inference.training.examples import TrainingExample, cider_of
from research.inference.training.options import (
    TrainingError,
    TrainingMethod,
    TrainingOptions,
    TrainingPrecision,
)
from research.inference.training.steps import PreparedImages, ReadImage, examples_of_step, learning_rate

MODEL = "model"
MAX_GRADIENT_NORM = 1.0
"""To which the gradient is cut."""
SAMPLES = 5
"""Images whose captions are shown at each validation: always the same."""
READERS = 4

Result = TypeVar("Result")


class TrainingWatcher(Protocol):
    """Hears what happens in a training."""

    def resumed(self, step: int) -> None:
        """Training continues after this step: later ones are done again."""

    def stepped(self, record: StepRecord) -> None: ...

    def validated(self, record: ValidationRecord) -> None: ...

    def noted(self, message: str) -> None: ...

    def is_stopped(self) -> bool:
        """Whether the training is to stop now, to be resumed later. Asked after each step."""

    def before_saving(self) -> None:
        """Raise an exception where somebody else may have resumed the training meanwhile."""


@dataclass(frozen=True)
class TrainingOutcome:
    """How a training ended. `best` is None where it was stopped to be resumed.

    `reason` says why it ended before its last step, or is empty.
    """

    step: int
    best: ValidationRecord | None
    reason: str = ""
    has_failed: bool = False


@dataclass
class _CheckpointState:
    """What a checkpoint says besides weights."""

    at_once: int
    stale: int = 0
    best: dict[str, Any] | None = None
    scaler: dict[str, Any] = field(default_factory=dict)


def train_captioner(
    captioner: TrainableCaptioner,
    *,
    run: str,
    training: Sequence[TrainingExample],
    validation: Sequence[TrainingExample],
    read_image: ReadImage,
    options: TrainingOptions,
    folder: Path,
    watcher: TrainingWatcher,
) -> TrainingOutcome:
    """Train the captioner, and export the best model into `folder`/model.

    - `run`: signature of base, data, options and code: checkpoints of another run are refused.
    - `folder`: what is kept of the training. If it holds a checkpoint of this run, training continues from there.

    Raises TrainingError.
    """
    options.check()
    folder.mkdir(parents=True, exist_ok=True)
    with torch().random.fork_rng(), ThreadPoolExecutor(READERS) as readers:
        images = PreparedImages(captioner, read_image, readers, folder / FEATURES)
        with BatchAttempt():
            return _CaptionerTrainer(captioner, run, training, validation, images, options, folder, watcher).run()
    raise _no_room()


def _no_room() -> TrainingError:
    return TrainingError(_("Not even one caption fits into the memory. Use smaller images, LoRA, or a smaller model."))


class _CaptionerTrainer:
    def __init__(
        self,
        captioner: TrainableCaptioner,
        run: str,
        training: Sequence[TrainingExample],
        validation: Sequence[TrainingExample],
        images: PreparedImages,
        options: TrainingOptions,
        folder: Path,
        watcher: TrainingWatcher,
    ) -> None:
        self._watcher = watcher
        self._torch, self._captioner, self._images, self._options = torch(), captioner, images, options
        self._training, self._folder = training, folder
        self._rows, self._validation_rows = self._rows_of(training), self._rows_of(validation)
        self._validation = validation
        self._checkpoints = TrainingCheckpoints(folder, run)
        self._adapter = self._adapted() if options.method == TrainingMethod.LORA else None
        self._weights = {name: one for name, one in captioner.weights.named_parameters() if one.requires_grad}
        self._learned = self._weights | {
            name: one for name, one in captioner.weights.named_buffers() if name in captioner.weights.state_dict()
        }
        matrices = [one for one in self._weights.values() if one.ndim > 1]
        others = [one for one in self._weights.values() if one.ndim <= 1]
        groups = [
            {"params": matrices, "weight_decay": options.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ]
        # Where it is fused, a step takes no memory: it cannot run out after a part of the weights was changed.
        self._optimiser = self._torch.optim.AdamW([group for group in groups if group["params"]], fused=True)
        self._precision = self._chosen_precision()
        self._scaler = self._new_scaler({})
        self._state = _CheckpointState(at_once=options.at_once or options.batch_size)
        self._step = 0

    def run(self) -> TrainingOutcome:
        watcher = self._watcher
        self._resume()
        if self._step == 0 and self._state.best is None:
            watcher.validated(self._validate(0))
        reason, has_failed = self._why_early(), False
        self._since = time.monotonic()
        while self._step < self._options.steps and not reason:
            step = self._step + 1
            try:
                record = self._stepped(step)
            except FloatingPointError:
                reason, has_failed = self._diverged(step), True
                break
            self._step = step
            write_line(self._folder, asdict(record))
            watcher.stepped(record)
            if step % self._options.validate_every == 0 or step == self._options.steps:
                reason = self._validated()
            elif watcher.is_stopped():
                self._save()
                return TrainingOutcome(step, None)
            if self._step < self._options.steps and not reason and watcher.is_stopped():
                return TrainingOutcome(step, None)
        if self._state.best is None:
            return TrainingOutcome(self._step, None, reason, has_failed)
        best = validation_of(self._state.best)
        if self._step:
            self._export(best)
        return TrainingOutcome(self._step, best, reason, has_failed)

    def _diverged(self, step: int) -> str:
        reason = _("The loss of step %(step)s was not a number, so training stopped. Try a smaller learning rate.")
        return reason % {"step": step}

    def _resume(self) -> None:
        state = self._checkpoints.state(LAST)
        if state is None:
            (self._folder / CURVE).unlink(missing_ok=True)
            self._begin_optimiser()
            return
        self._put_back(self._checkpoints.weights(LAST))
        self._optimiser.load_state_dict(self._checkpoints.optimiser())
        self._step = int(state["step"])
        self._state = _CheckpointState(**{name: state[name] for name in ("at_once", "stale", "best", "scaler")})
        self._scaler = self._new_scaler(self._state.scaler)
        cut_curve(self._folder, after=self._step)
        self._watcher.resumed(self._step)

    def _stepped(self, step: int) -> StepRecord:
        """Raises FloatingPointError where the loss is not a number. The weights are as before."""
        places = examples_of_step(self._options, len(self._training), step)
        rate = learning_rate(self._options, step)
        total = self._fitted(partial(self._changed, step, places, rate))
        now = time.monotonic()
        took_s, self._since = now - self._since, now
        return StepRecord(step, total, rate, len(places) / max(took_s, 1e-6), self._memory())

    def _changed(self, step: int, places: list[int], rate: float) -> float:
        """Change the weights by the captions at these places; returns the mean loss of a token."""
        prepared = self._images.prepared([self._training[place].image for place in places])
        rows = [self._rows[place] for place in places]
        words = sum(len(row.tokens) - row.given for row in rows)
        total = self._gradients(step, prepared, rows, words)
        if not math.isfinite(total):
            raise FloatingPointError
        self._scaler.unscale_(self._optimiser)
        self._torch.nn.utils.clip_grad_norm_(self._weights.values(), MAX_GRADIENT_NORM)
        for group in self._optimiser.param_groups:
            group["lr"] = rate
        self._scaler.step(self._optimiser)
        self._scaler.update()
        return total

    def _gradients(self, step: int, prepared: list[Any], rows: list[TrainingRow], words: int) -> float:
        """Add up the gradients of a step's captions; returns the mean loss of a token."""
        self._captioner.weights.train()
        self._seed(step)
        self._optimiser.zero_grad(set_to_none=True)
        total = 0.0
        for start in range(0, len(rows), self._state.at_once):
            end = start + self._state.at_once
            with self._autocast():
                loss = self._captioner.loss(prepared[start:end], rows[start:end]) / words
            self._scaler.scale(loss).backward()
            total += float(loss.detach())
        return total

    def _fitted(self, compute: Callable[[], Result]) -> Result:
        """Compute with fewer captions at once until it fits."""
        while True:
            with BatchAttempt():
                return compute()
            self._reduce()

    def _reduce(self) -> None:
        if self._state.at_once == 1:
            raise _no_room()
        self._state.at_once = (self._state.at_once + 1) // 2
        self._optimiser.zero_grad(set_to_none=True)
        if self._scaler.is_enabled():
            # It may have scaled gradients that are gone now.
            self._scaler = self._new_scaler(self._scaler.state_dict())
        self._watcher.noted(
            _("The memory was full: from here, %(number)s captions are computed at once. A step still has %(all)s.")
            % {"number": self._state.at_once, "all": self._options.batch_size}
        )

    def _validated(self) -> str:
        """Validate, and keep the model if it is the best; returns why training ends early, or nothing."""
        record = self._validate(self._step)
        self._watcher.validated(record)
        if self._state.best is None or record.cider > self._state.best["cider"]:
            self._state.best, self._state.stale = asdict(record), 0
            self._watcher.before_saving()
            self._checkpoints.save(BEST, self._step, self._learned, {})
        else:
            self._state.stale += 1
        self._save()
        self._since = time.monotonic()
        return self._why_early()

    def _why_early(self) -> str:
        if self._options.patience and self._state.stale >= self._options.patience:
            return _("CIDEr has not risen in %(number)s validations, so training stopped.") % {
                "number": self._state.stale
            }
        return ""

    def _validate(self, step: int) -> ValidationRecord:
        images = list(dict.fromkeys(example.image for example in self._validation))
        shown = set(images[:SAMPLES])
        decoding = Decoding(max_tokens=self._options.max_tokens, precision="float32")
        references: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for example in self._validation:
            references[example.language][example.image].append(example.caption)
        self._captioner.weights.eval()
        scores, samples = {}, []
        for language, of_images in sorted(references.items()):
            captions = self._fitted(partial(self._captions, list(of_images), language, decoding))
            samples += [SampleCaption(name, language, text) for name, text in captions.items() if name in shown]
            scores[language] = cider_of(captions, of_images, language)
        record = ValidationRecord(
            step, self._fitted(self._validation_loss), float(np.mean(list(scores.values()))), scores, samples
        )
        write_line(self._folder, {"step": step, "validation": asdict(record)})
        return record

    def _captions(self, names: list[str], language: str, decoding: Decoding) -> dict[str, str]:
        captions: dict[str, str] = {}
        at_once = min(len(names), max(1, self._state.at_once))
        for start in range(0, len(names), at_once):
            chosen = names[start : start + at_once]
            with self._autocast():
                written = self._captioner.caption(
                    self._images.prepared(chosen), keys=chosen, language=language, decoding=decoding
                )
            texts = [one.text if isinstance(one, GeneratedCaption) else "" for one in written]
            captions |= dict(zip(chosen, texts, strict=True))
        return captions

    def _validation_loss(self) -> float:
        total, words = 0.0, 0
        for start in range(0, len(self._validation), self._state.at_once):
            chosen = self._validation[start : start + self._state.at_once]
            rows = self._validation_rows[start : start + self._state.at_once]
            with self._torch.no_grad(), self._autocast():
                prepared = self._images.prepared([example.image for example in chosen])
                total += float(self._captioner.loss(prepared, rows))
            words += sum(len(row.tokens) - row.given for row in rows)
        return total / words

    def _save(self) -> None:
        self._watcher.before_saving()
        self._state.scaler = self._scaler.state_dict() if self._scaler.is_enabled() else {}
        self._checkpoints.save(LAST, self._step, self._learned, asdict(self._state), self._optimiser.state_dict())

    def _put_back(self, weights: dict[str, Any]) -> None:
        if set(weights) != set(self._learned):
            raise TrainingError(_("The checkpoint has other weights than the model. Train from the start."))
        with self._torch.no_grad():
            for name, value in weights.items():
                self._learned[name].copy_(value)

    def _export(self, best: ValidationRecord) -> None:
        self._watcher.before_saving()
        self._put_back(self._checkpoints.weights(BEST))
        if self._adapter is not None:
            self._adapter.merge_and_unload()
        self._captioner.weights.eval()
        self._captioner.export(self._folder / MODEL)

    def _adapted(self) -> Any:
        try:
            from peft import LoraConfig, get_peft_model
        except ImportError as error:
            raise TrainingError(_("LoRA needs the package peft: pip install -r requirements/gpu.txt.")) from error
        self._seed(0)
        options = self._options
        config = LoraConfig(
            r=options.lora_rank,
            lora_alpha=options.lora_alpha,
            lora_dropout=options.lora_dropout,
            target_modules="all-linear",
        )
        with warnings.catch_warnings():
            # Of what it sees to by itself.
            warnings.simplefilter("ignore", UserWarning)
            return get_peft_model(self._captioner.weights, config)

    def _rows_of(self, examples: Sequence[TrainingExample]) -> list[TrainingRow]:
        rows = [
            self._captioner.row(example.caption, language=example.language, stabiliser=example.stabiliser)
            for example in examples
        ]
        most = self._captioner.positions
        long = [number for number, row in enumerate(rows) if most is not None and len(row.tokens) > most]
        if long:
            first = long[0]
            raise TrainingError(
                _(
                    "%(number)s captions are longer than the %(most)s tokens that the model has positions for. The "
                    "first is of image %(image)s, with %(tokens)s tokens. Leave them out or shorten them."
                )
                % {
                    "number": len(long),
                    "most": most,
                    "image": examples[first].image,
                    "tokens": len(rows[first].tokens),
                }
            )
        return rows

    def _chosen_precision(self) -> TrainingPrecision:
        chosen = self._options.precision
        if chosen != TrainingPrecision.AUTO:
            return chosen
        has_half = device() == "cuda" and self._torch.cuda.is_bf16_supported()
        return TrainingPrecision.BFLOAT16 if has_half else TrainingPrecision.FLOAT32

    def _new_scaler(self, state: dict[str, Any]) -> Any:
        scaler = self._torch.amp.GradScaler(device(), enabled=self._precision == TrainingPrecision.FLOAT16)
        if state:
            scaler.load_state_dict(state)
        return scaler

    def _begin_optimiser(self) -> None:
        """Make what AdamW keeps of each weight, which it would otherwise make in its first step."""
        zeros = self._torch.zeros_like
        for one in self._weights.values():
            count = self._torch.zeros((), device=one.device)
            self._optimiser.state[one] = {"step": count, "exp_avg": zeros(one), "exp_avg_sq": zeros(one)}

    def _autocast(self) -> AbstractContextManager[Any]:
        if self._precision == TrainingPrecision.FLOAT32:
            return nullcontext()
        half: AbstractContextManager[Any] = self._torch.autocast(device(), getattr(self._torch, self._precision))
        return half

    def _seed(self, step: int) -> None:
        self._torch.manual_seed(int(np.random.SeedSequence([self._options.seed, step]).generate_state(1)[0]))

    def _memory(self) -> int:
        if device() == "cuda":
            return int(self._torch.cuda.max_memory_allocated())
        import resource

        # Kilobytes on Linux.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
