"""The interface of captioning backends and translators. docs/backends.md explains how to write one.

A backend is known by its name and is imported without anything heavy: what it is asked on a web page (`check`,
`languages`) must not load a model. What `load` gives does the work, in a worker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from PIL import Image


class BackendSettingsError(Exception):
    """The settings or the request cannot be used; the message says why, and what to do."""


class OutOfMemoryError(Exception):
    """A batch did not fit. The caller halves it and tries again."""


class BackendDownError(Exception):
    """Nothing can be asked of the backend for now, and why. No image is to blame, and none of the batch has failed:
    the run ends with this sentence, to be resumed once it is put right."""


@dataclass(frozen=True)
class ModelSpec:
    """What is registered about a model, enough to load it on any machine. The backend defines its `options`."""

    name: str
    source: str
    options: Mapping[str, Any]
    is_pivot: bool = False


@dataclass(frozen=True)
class Decoding:
    """How captions are decoded; stored with each run, and part of a captioning model's identity.

    Attributes
    ----------
    beams : int
        1 is greedy, or sampling where `temperature` is above 0.
    max_tokens, min_tokens : int
        Of the caption, as the model counts them, without what it is prompted with.
    length_penalty : float
        Exponent of the length by which beams' scores are divided.
    temperature : float
        0 takes the likeliest; above 0, words are drawn, with `top_p` of the probability kept.
    seed : int
        Of what is drawn. The same image, language and seed give the same caption, in whatever batch.
    precision : str
        "auto" (half where the device is a GPU), "float32", "float16" or "bfloat16".
    is_consistent : bool
        Of pivot-stabilised models: the stabiliser is decoded once per image and held fixed for every language.
    """

    beams: int = 1
    max_tokens: int = 40
    min_tokens: int = 0
    length_penalty: float = 1.0
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0
    precision: str = "auto"
    is_consistent: bool = False

    def stored(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_stored(cls, values: Mapping[str, Any]) -> Decoding:
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})


@dataclass(frozen=True)
class GeneratedCaption:
    """A caption, in NFC and without blanks around it; `stabiliser` is what a pivot-stabilised model wrote before it."""

    text: str
    stabiliser: str = ""


@dataclass(frozen=True)
class FailedImage:
    """The failure of one image of the batch. The reason is for people, and contains none of the caption's words."""

    reason: str


class Captioner(Protocol):
    """A loaded model. One thread at a time calls `caption`; several call `prepare`, ahead of it."""

    side: int | None
    """Pixels of the side to which images may be made smaller before `prepare` sees them; None: it wants no pixels."""

    batch_size: int
    """How many images at once it starts with."""

    def describe(self) -> dict[str, str]:
        """Describe the model (architecture, parameters, device, precision, digest of its files …) for the run's log."""

    def prepare(self, image: Image.Image | None) -> Any:
        """Convert an upright RGB image to the model's input; done ahead, in threads, while the device computes."""

    def stabilise(self, prepared: Sequence[Any], *, keys: Sequence[str], decoding: Decoding) -> list[str | FailedImage]:
        """Decode the stabiliser of each image, without a language. Only for pivot-stabilised models."""

    def caption(
        self,
        prepared: Sequence[Any],
        *,
        keys: Sequence[str],
        language: str,
        decoding: Decoding,
        stabilisers: Sequence[str] | None = None,
    ) -> list[GeneratedCaption | FailedImage]:
        """Caption each image in `language`, one of our tags that the backend's `languages` returned.

        `keys` name the images (SHA-256 of the originals): what is drawn for an image follows from its key, the
        language and the seed alone.

        Raises OutOfMemoryError or BackendDownError for the whole batch. Where one image is at fault, it alone is
        `FailedImage`. Any other exception is a mistake in the backend.
        """

    def close(self) -> None:
        """Free memory and close connections."""


class Backend(Protocol):
    """A kind of captioning model.

    It may have two things besides, which registry.py asks for: `needs`, names of modules without which `load` raises
    ExtraMissingError; and `check_decoding(spec, decoding)`, which raises BackendSettingsError for what it cannot do.
    """

    name: str
    queue: str
    """Of the workers that can run it: "gpu" where a device helps, "default" where none is needed."""

    @property
    def title(self) -> str:
        """Name the backend for people, in the language of the page; a plain attribute is enough."""

    def check(self, spec: ModelSpec) -> None:
        """Raises BackendSettingsError where the source or an option is not what it takes. Nothing is loaded."""

    def languages(self, spec: ModelSpec) -> Mapping[str, str]:
        """Map the languages that the model can write, by our tags, to its own codes. Nothing is loaded."""

    def load(self, spec: ModelSpec) -> Captioner:
        """Raises BackendSettingsError or research.inference.backends.encoders.ExtraMissingError."""


class LoadedTranslator(Protocol):
    """A loaded translator from English."""

    batch_size: int

    def describe(self) -> dict[str, str]: ...

    def translate(
        self, texts: Sequence[str], *, keys: Sequence[str], language: str, decoding: Decoding
    ) -> list[GeneratedCaption | FailedImage]:
        """Raises OutOfMemoryError or BackendDownError."""

    def close(self) -> None: ...


class LoadedReader(LoadedTranslator, Protocol):
    """A loaded translator that also translates into English: of a backend that has `reads`."""

    def translate_into_english(
        self, texts: Sequence[str], *, keys: Sequence[str], language: str, decoding: Decoding
    ) -> list[GeneratedCaption | FailedImage]:
        """
        Raises
        ------
        OutOfMemoryError, BackendDownError
        """


class TranslatorBackend(Protocol):
    """A kind of translator; otherwise like `Backend`.

    It may have two things more: `reads(spec)`, which maps the languages from which it translates into English to its
    own codes; and `is_remote`, whether it sends texts to another machine.
    """

    name: str
    queue: str

    @property
    def title(self) -> str: ...

    def check(self, spec: ModelSpec) -> None: ...

    def languages(self, spec: ModelSpec) -> Mapping[str, str]:
        """Map the languages into which it translates English, by our tags, to its own codes."""

    def load(self, spec: ModelSpec) -> LoadedTranslator: ...
