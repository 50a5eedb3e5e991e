"""What captioners of transformers have in common: they write on after a beginning, and their weights can be changed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from django.utils.translation import gettext as _
from PIL import Image

from research.inference.backends.caption_tokenizer import CaptionTokenizer
from research.inference.backends.captioners import (
    BackendSettingsError,
    Captioner,
    Decoding,
    FailedImage,
    GeneratedCaption,
    ModelSpec,
)
from research.inference.backends.generation import NEEDS, LoadedModel, check_decoding, generation, quiet_transformers
from research.inference.backends.memory import MemoryGuard
from research.inference.backends.transformer_files import check_files, folder_of, read_json


@dataclass(frozen=True)
class TrainingRow:
    """A caption as the model's tokens. The first `given` are not learned: the begin and the prompt."""

    tokens: list[int]
    given: int
    language: str = ""
    """Of the prompt, for models whose prompts depend on the image: these are no part of `tokens`."""


class TrainableCaptioner(Protocol):
    """A loaded captioner whose weights can be changed."""

    @property
    def weights(self) -> Any:
        """The PyTorch module, in 32 bits on its device."""

    @property
    def positions(self) -> int | None:
        """The longest row that fits, in tokens; None: any."""

    def describe(self) -> dict[str, str]: ...

    def prepare(self, image: Image.Image | None) -> Any: ...

    def row(self, caption: str, *, language: str, stabiliser: str) -> TrainingRow: ...

    def loss(self, prepared: Sequence[Any], rows: Sequence[TrainingRow]) -> Any:
        """Compute the cross entropy, summed over the learned tokens of the rows.

        Raises research.inference.backends.captioners.OutOfMemoryError.
        """

    def caption(
        self, prepared: Sequence[Any], *, keys: Sequence[str], language: str, decoding: Decoding
    ) -> list[GeneratedCaption | FailedImage]: ...

    def export(self, folder: Path) -> None:
        """Save the model with all that is needed to load it again."""


class TransformerBackend(ABC):
    """A kind of model that lies in a folder of transformers, or on the hub."""

    queue = "gpu"
    needs = NEEDS

    def check_decoding(self, spec: ModelSpec, decoding: Decoding) -> None:
        check_decoding(decoding)

    def load(self, spec: ModelSpec) -> Captioner:
        # Without the packages nothing is downloaded.
        quiet_transformers()
        return self.load_folder(spec, folder_of(spec))

    def load_folder(self, spec: ModelSpec, folder: Path) -> TransformerCaptioner:
        """Load the model in any folder.

        Raises BackendSettingsError or research.inference.backends.encoders.ExtraMissingError.
        """
        quiet_transformers()
        check_files(folder, spec)
        return self._load(spec, folder, str(read_json(folder, "config.json").get("model_type", "")))

    @abstractmethod
    def _load(self, spec: ModelSpec, folder: Path, family: str) -> TransformerCaptioner:
        """Check what only the files of the model tell, and load them."""


class TransformerCaptioner(Captioner, TrainableCaptioner):
    """A loaded model. `side` is for the images' shorter side."""

    _loaded: LoadedModel
    _tokens: CaptionTokenizer

    def prepare(self, image: Image.Image | None) -> Any:
        if image is None:
            raise BackendSettingsError(_("The model describes images, and was given none."))
        return self._prepared(image)

    def stabilise(self, prepared: Sequence[Any], *, keys: Sequence[str], decoding: Decoding) -> list[str | FailedImage]:
        asked = partial(generation, decoding, language="")
        outputs = self._written(prepared, "", [""] * len(prepared), keys, decoding.precision, asked)
        return [self._tokens.stabiliser(output) for output in outputs]

    def caption(
        self,
        prepared: Sequence[Any],
        *,
        keys: Sequence[str],
        language: str,
        decoding: Decoding,
        stabilisers: Sequence[str] | None = None,
    ) -> list[GeneratedCaption | FailedImage]:
        beginnings = self._tokens.held(stabilisers, language, len(prepared))
        asked = partial(generation, decoding, language=language, parts=self._tokens.parts(stabilisers))
        outputs = self._written(prepared, language, beginnings, keys, decoding.precision, asked)
        if stabilisers is None and not self._tokens.is_named(language, self._prompt_of):
            return self._tokens.captions_by_separator(
                outputs, self, prepared, keys=keys, language=language, decoding=decoding
            )
        return self._tokens.captions(outputs, language, stabilisers)

    @property
    def weights(self) -> Any:
        return self._loaded.whole()

    def loss(self, prepared: Sequence[Any], rows: Sequence[TrainingRow]) -> Any:
        with MemoryGuard():
            return self._loss(prepared, rows)

    def export(self, folder: Path) -> None:
        self._loaded.export(folder)

    def close(self) -> None:
        self._loaded.close()

    def _written(
        self,
        prepared: Sequence[Any],
        tag: str,
        beginnings: Sequence[str],
        keys: Sequence[str],
        precision: str,
        asked: Callable[..., dict[str, Any]],
    ) -> list[str]:
        """Generate the texts after the prompt of a language and each of `beginnings`, without repeating these."""
        rows = [self._begun(tag, one) for one in beginnings]
        # What begins alike long is decoded together: with blanks before them, words would stand in other places.
        together: dict[int, list[int]] = defaultdict(list)
        for number, row in enumerate(rows):
            together[len(row)].append(number)
        outputs = [""] * len(rows)
        for numbers in together.values():
            with MemoryGuard():
                of_images, begun = [prepared[one] for one in numbers], [rows[one] for one in numbers]
                named = self._inputs(of_images, tag, begun, precision)
                tokens = self._loaded.generated(precision, named | asked(keys=[keys[one] for one in numbers]))
            for number, before, output in zip(numbers, self._given(named, begun), tokens, strict=True):
                # Some give the answer alone.
                is_repeated = output[: len(before)] == before
                outputs[number] = self._tokens.text(output[len(before) :] if is_repeated else output)
        return outputs

    @abstractmethod
    def _prepared(self, image: Image.Image) -> Any: ...

    @abstractmethod
    def _prompt_of(self, tag: str) -> str: ...

    @abstractmethod
    def _begun(self, tag: str, beginning: str) -> list[int]:
        """Tokenise what the decoder begins with; without a `tag`, what it begins a stabiliser with."""

    @abstractmethod
    def _inputs(self, prepared: Sequence[Any], tag: str, rows: list[list[int]], precision: str) -> dict[str, Any]:
        """Return the model's inputs, on its device, for rows that are alike long."""

    @abstractmethod
    def _given(self, inputs: Mapping[str, Any], rows: list[list[int]]) -> list[list[int]]:
        """Return the tokens with which outputs may begin, for they were given."""

    @abstractmethod
    def _loss(self, prepared: Sequence[Any], rows: Sequence[TrainingRow]) -> Any: ...
