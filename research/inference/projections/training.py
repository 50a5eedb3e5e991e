"""Train a projection: seeded, and resumable after any interruption with the same result.

Everything random of an epoch follows from the seed and its number, so that a checkpoint needs the weights and the state
of the optimiser only.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosslens_metrics.cider import cider
from crosslens_metrics.named_vectors import NamedVectors
from crosslens_metrics.word_vectors import WordVectorSource, signature_of
from research.inference.backends.encoders import device, torch
from research.inference.backends.memory import BatchAttempt
from research.inference.projections.folder import (
    CHECKPOINT,
    KIND,
    LAYOUT,
    MANIFEST,
    ProjectionConfig,
    ProjectionError,
    ProjectionManifest,
    Weights,
    replacing,
    weights_sha256,
    words_sha256,
    write_projection,
)
from research.inference.projections.words import CaptionReader, ReadCaptions, words_of

MAX_GRADIENT_NORM = 2.0
"""To which the gradient is cut."""
DECAY = 0.99
POOL_AT_ONCE = 1024
LAYERS = ("word_dimensions", "recurrent", "hidden")
"""Of the configuration, what the shapes of weights follow from."""
Progress = Callable[[int, float], None]
"""Called after each epoch with its number, from 1, and the mean loss."""


@dataclass(frozen=True)
class TrainingData:
    """The training data: captions as tokens separated by whitespace, and the image of each.

    `text`, `tokenizer` and `normalise` say how captions became tokens.
    """

    captions: Sequence[str]
    images: Sequence[str]
    features: NamedVectors
    vectors: WordVectorSource | None
    language: str
    text: str
    tokenizer: str
    normalise: bool
    validation: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Captions of other images, as tokens. With them the epoch is chosen; without them it is the last."""


@dataclass(frozen=True)
class BaseProjection:
    """A projection that was trained before, and is trained further: its words stay."""

    manifest: ProjectionManifest
    words: list[str]
    weights: Weights


def train(
    task: TrainingData,
    config: ProjectionConfig,
    folder: Path,
    *,
    resume: bool,
    progress: Progress,
    validated: Progress = lambda epoch, cider: None,
    base: BaseProjection | None = None,
) -> ProjectionManifest:
    """Train a projection into `folder`. On the CPU of one machine, the same task and seed give the same weights.

    With validation captions the weights are those of the epoch with the best CIDEr: of each validation image, the
    training caption nearest to its features is scored against its captions.

    - `validated`: called after each epoch with its number and CIDEr on the x100 scale, where there are validation
      captions.
    - `base`: where training begins; `config` has its layers.

    Raises ProjectionError where a caption's image has no features, there are fewer than two images, the folder holds
    something else, or memory runs out. Raises research.inference.backends.encoders.ExtraMissingError where PyTorch is
    not installed.
    """
    rows = _rows_of_images(task)
    checkpoint = folder / CHECKPOINT
    _check_folder(folder, resume=resume)
    library = torch()
    _check_validation(task)
    if base is not None:
        _check_base(task, config, base)
    words = base.words if base else words_of(task.captions, least_count=config.least_count)
    reader = CaptionReader(words, task.vectors)
    run = _run_of(task, config, rows, words, base)
    # What follows must not change what a caller draws from PyTorch afterwards.
    with library.random.fork_rng(), BatchAttempt() as attempt:
        trainer = _ProjectionTrainer(task, config, reader, rows, base)
        first = trainer.load(checkpoint, run) if checkpoint.is_file() else 1
        for epoch in range(first, config.epochs + 1):
            loss = trainer.epoch(epoch)
            cider = trainer.validate(epoch) if task.validation else None
            trainer.save(checkpoint, run, epoch)
            progress(epoch, loss)
            if cider is not None:
                validated(epoch, cider)
        weights = trainer.weights()
    if attempt.has_run_out:
        said = attempt.said.partition("\n")[0]
        raise ProjectionError(
            f"The memory ran out ({said}). Stop other programs that use it, or use a machine with more. Then continue "
            "with --resume."
        )
    manifest = ProjectionManifest(
        layout=LAYOUT,
        kind=KIND,
        language=task.language,
        text=task.text,
        tokenizer=task.tokenizer,
        normalise=task.normalise,
        space=task.features.space,
        dimensions=task.features.vectors.shape[1],
        vectors=None if task.vectors is None else task.vectors.signature,
        config=config.as_dict(),
        pairs=len(task.captions),
        words_sha256=words_sha256(words),
        weights_sha256=weights_sha256(weights),
        base=base.manifest.signature if base else None,
        validation=_validation_sha256(task) if task.validation else None,
        epoch=trainer.best_epoch if task.validation else None,
    )
    write_projection(folder, manifest, words, weights)
    checkpoint.unlink(missing_ok=True)
    return manifest


def network_of(words: int, vectors: int, dimensions: int, config: ProjectionConfig) -> Any:
    """Create the network for these numbers of words, word-vector dimensions (0: none) and image features."""
    from research.inference.projections.network import ProjectionNetwork
    from research.inference.projections.words import FIRST_WORD

    return ProjectionNetwork(
        words=words,
        means=vectors,
        word_rows=FIRST_WORD + words,
        word_dimensions=vectors or config.word_dimensions,
        recurrent=config.recurrent,
        hidden=config.hidden,
        dropout=config.dropout,
        dimensions=dimensions,
    )


def tensors_of(read: ReadCaptions) -> tuple[Any, Any, Any]:
    """Convert read captions to the network's inputs, on its device."""
    library, place = torch(), device()
    bags, sequences, means = (library.from_numpy(part).to(place) for part in (read.bags, read.sequences, read.means))
    return bags, sequences, means


class _ProjectionTrainer:
    def __init__(
        self,
        task: TrainingData,
        config: ProjectionConfig,
        reader: CaptionReader,
        rows: NDArray[np.int64],
        base: BaseProjection | None,
    ) -> None:
        self._torch, self._device = torch(), device()
        self._task, self._config, self._reader, self._rows = task, config, reader, rows
        rng = self._seeded(0)
        vectors = task.vectors.dimensions if task.vectors else 0
        network = network_of(len(reader.words), vectors, task.features.vectors.shape[1], config)
        if base is not None:
            network.load_state_dict({name: self._torch.tensor(value) for name, value in base.weights.items()})
        else:
            with self._torch.no_grad():
                table = reader.table(rng, config.word_dimensions)
                network.words.weight.copy_(self._torch.from_numpy(table))
        self._network = network.to(self._device)
        self._optimiser = self._torch.optim.RMSprop(self._network.parameters(), lr=config.learning_rate)
        self._best: dict[str, Any] | None = None

    def epoch(self, number: int) -> float:
        from research.inference.projections.network import triplet_loss

        for group in self._optimiser.param_groups:
            group["lr"] = self._config.learning_rate * DECAY ** (number - 1)
        order = self._seeded(number).permutation(len(self._rows))
        self._network.train()
        losses = []
        for start in range(0, len(order), self._config.batch):
            chosen = order[start : start + self._config.batch]
            images = self._rows[chosen]
            read = self._reader.read([self._task.captions[place] for place in chosen])
            right = self._torch.from_numpy(self._task.features.vectors[images]).to(self._device)
            same = self._torch.from_numpy(images[:, None] == images[None, :]).to(self._device)
            loss = triplet_loss(self._network(*tensors_of(read)), right, same, self._config.margin)
            self._optimiser.zero_grad()
            loss.backward()
            self._torch.nn.utils.clip_grad_norm_(self._network.parameters(), MAX_GRADIENT_NORM)
            self._optimiser.step()
            losses.append(float(loss.detach()))
        return float(np.mean(losses))

    def validate(self, epoch: int) -> float:
        """CIDEr of the training captions nearest to the validation images; the best epoch's weights are kept."""
        pool = list(dict.fromkeys(self._task.captions))
        places = self._task.features.rows()
        images = list(self._task.validation)
        features = self._task.features.vectors[[found[0] for image in images if (found := places.first(image))]]
        features = features / np.linalg.norm(features, axis=1, keepdims=True)
        self._network.eval()
        nearest, cosines = np.zeros(len(images), dtype=np.int64), np.full(len(images), -np.inf, dtype=np.float32)
        with self._torch.no_grad():
            for start in range(0, len(pool), POOL_AT_ONCE):
                read = self._reader.read(pool[start : start + POOL_AT_ONCE])
                made = self._network(*tensors_of(read)).cpu().numpy()
                made = made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), np.finfo(np.float32).tiny)
                found = features @ made.T
                best, here = found.argmax(axis=1), found.max(axis=1)
                nearest = np.where(here > cosines, start + best, nearest)
                cosines = np.maximum(here, cosines)
        score = 100 * cider([pool[place] for place in nearest], list(self._task.validation.values())).corpus
        if self._best is None or score > self._best["cider"]:
            network = {name: value.cpu().clone() for name, value in self._network.state_dict().items()}
            self._best = {"epoch": epoch, "cider": float(score), "network": network}
        return float(score)

    @property
    def best_epoch(self) -> int:
        assert self._best is not None
        return int(self._best["epoch"])

    def save(self, path: Path, run: str, epoch: int) -> None:
        state = {
            "run": run,
            "epoch": epoch,
            "network": self._network.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            **({"best": self._best} if self._best else {}),
        }
        with replacing(path) as partial:
            self._torch.save(state, partial)

    def load(self, path: Path, run: str) -> int:
        """Load a checkpoint; returns the number of the next epoch."""
        try:
            state = self._torch.load(path, map_location=self._device, weights_only=True)
            saved_run, epoch = state["run"], int(state["epoch"])
        except Exception as error:
            raise ProjectionError(f"{path} cannot be read ({error}). Remove it and train from the start.") from error
        if saved_run != run:
            raise ProjectionError(
                f"{path} belongs to a training with other captions, features, vectors or options. Give those, "
                "or another folder."
            )
        self._network.load_state_dict(state["network"])
        self._optimiser.load_state_dict(state["optimiser"])
        self._best = state.get("best")
        return epoch + 1

    def weights(self) -> dict[str, NDArray[np.float32]]:
        state = self._best["network"] if self._best else self._network.state_dict()
        return {name: value.cpu().numpy() for name, value in state.items()}

    def _seeded(self, epoch: int) -> np.random.Generator:
        sequence = np.random.SeedSequence([self._config.seed, epoch])
        self._torch.manual_seed(int(sequence.generate_state(1)[0]))
        return np.random.default_rng(sequence)


def _rows_of_images(task: TrainingData) -> NDArray[np.int64]:
    if len(task.captions) != len(task.images):
        raise ValueError(f"There are {len(task.captions)} captions and {len(task.images)} images.")
    places = task.features.rows()
    twice = next((key for key, rows in places.named.items() if len(rows) > 1), None)
    if twice is not None:
        raise ProjectionError(f"The features contain image {twice} twice.")
    found = {image: places.first(image) for image in task.images}
    missing = [image for image, place in found.items() if place is None]
    if missing:
        more = f", nor have {len(missing) - 1:,} other images" if missing[1:] else ""
        raise ProjectionError(f"Image {missing[0]} has captions but no features{more}.")
    if len(set(task.images)) < 2:
        raise ProjectionError(
            "Give captions of at least two images, because each image serves as a wrong one for the others."
        )
    rows = np.array([place[0] for image in task.images if (place := found[image])], dtype=np.int64)
    zero = np.flatnonzero(~task.features.vectors[rows].any(axis=1))
    if zero.size:
        raise ProjectionError(f"The features of image {task.images[zero[0]]} are all zeros.")
    return rows


def _check_validation(task: TrainingData) -> None:
    both = sorted(set(task.validation) & set(task.images))
    if both:
        raise ProjectionError(
            f"Image {both[0]} is in training and in validation ({len(both):,} in all). Give each to one of them."
        )
    places = task.features.rows()
    missing = sorted(image for image in task.validation if places.first(image) is None)
    if missing:
        raise ProjectionError(f"Image {missing[0]} has validation captions but no features ({len(missing):,} in all).")
    if len(task.validation) == 1:
        raise ProjectionError("Give validation captions of at least two images: CIDEr of a single one is always 0.")


def _check_base(task: TrainingData, config: ProjectionConfig, base: BaseProjection) -> None:
    """Refuse a base whose inputs or outputs are others than those of the task."""
    here = {
        "language": task.language,
        "text": task.text,
        "space of features": task.features.space,
        "number of features": task.features.vectors.shape[1],
        "word vectors": None if task.vectors is None else task.vectors.signature,
    }
    manifest = base.manifest
    there = dict(
        zip(
            here,
            (manifest.language, manifest.text, manifest.space, manifest.dimensions, manifest.vectors),
            strict=True,
        )
    )
    here |= {name: getattr(config, name) for name in LAYERS}
    there |= {name: manifest.config[name] for name in LAYERS}
    for name, value in here.items():
        if value != there[name]:
            raise ProjectionError(
                f"The projection to start from was trained with another {name}: {there[name]}, not {value}."
            )


def _validation_sha256(task: TrainingData) -> str:
    captions = [[image, list(of_image)] for image, of_image in task.validation.items()]
    return hashlib.sha256(json.dumps(captions).encode()).hexdigest()


def _check_folder(folder: Path, *, resume: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / MANIFEST).exists():
        raise ProjectionError(f"{folder} holds a finished projection, which is never changed. Choose another folder.")
    if (folder / CHECKPOINT).exists() and not resume:
        raise ProjectionError(
            f"{folder} holds an unfinished training. Continue with --resume, or choose another folder."
        )


def _run_of(
    task: TrainingData, config: ProjectionConfig, rows: NDArray[np.int64], words: list[str], base: BaseProjection | None
) -> str:
    """Identify the run that a checkpoint belongs to."""
    captions = json.dumps([[image, caption] for image, caption in zip(task.images, task.captions, strict=True)])
    return signature_of(
        {
            "captions": hashlib.sha256(captions.encode()).hexdigest(),
            "features": hashlib.sha256(np.ascontiguousarray(task.features.vectors[rows]).tobytes()).hexdigest(),
            "space": task.features.space,
            "vectors": None if task.vectors is None else task.vectors.signature,
            "language": task.language,
            "text": task.text,
            "words": words_sha256(words),
            "config": config.as_dict(),
            **({"base": base.manifest.signature} if base else {}),
            **({"validation": _validation_sha256(task)} if task.validation else {}),
        }
    )
