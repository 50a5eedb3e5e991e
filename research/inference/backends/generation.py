"""Shared by our backends of transformers: a model on its device, and its decoding."""

from __future__ import annotations

import re
import shutil
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from django.utils.translation import gettext as _

from research.inference.backends.captioners import (
    BackendSettingsError,
    Decoding,
    FailedImage,
    GeneratedCaption,
    ModelSpec,
)
from research.inference.backends.encoders import device, torch, transformers
from research.inference.backends.memory import moved_model
from research.inference.backends.sampling import TokenDrawing, draw_seed
from research.inference.backends.transformer_files import FILES, PINNED, digest_of, first_line, may_unpickle

NEEDS = ("torch", "transformers")
PRECISIONS = ("auto", "float32", "float16", "bfloat16")
LOADING = ("device_map", "quantisation", "compile")
"""Options that say how weights are loaded. Captions may follow from them."""
ON_CPU, ON_GPU = 8, 32
"""Images at once, to begin with."""
HARMLESS = re.compile(r"(^|\.)(pooler|position_ids|masked_bias|embed_positions)(\.|$)")
"""Weights that checkpoints may lack: captions do not follow from them."""
NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
"""Of a layer, in the name of a weight."""

Result = TypeVar("Result")


class LoadedModel:
    """A model with its weights.

    - `kind`: the class that loads it; by name, one of transformers.

    Raises BackendSettingsError, research.inference.backends.encoders.ExtraMissingError.
    """

    def __init__(self, spec: ModelSpec, folder: Path, kind: str | type) -> None:
        self.library, self.torch, self.device = quiet_transformers(), torch(), device()
        self._spec, self._folder = spec, folder
        self._kind: Any = getattr(self.library, kind) if isinstance(kind, str) else kind
        options = spec.options
        self._device_map, self._quantisation = options.get("device_map"), options.get("quantisation")
        self._check_loading()
        self._model = self._read("auto")
        self._stored = self._model.dtype

    def at(self, precision: str) -> Any:
        """Return the model in a run's precision. It is reloaded if it was rounded for another run."""
        wanted = self._type(precision)
        if self._quantisation:
            return self._model
        if self._device_map:
            # What is spread over devices stays where it is.
            if self._model.dtype != wanted:
                del self._model
                self._model = self._read(wanted)
            return self._model
        if self._model.dtype != wanted and self._model.dtype != self._stored:
            self._model = self._read("auto")
        # Parameters that are kept in another precision on purpose would be changed by asking for their own.
        for place in (wanted, self.device):
            if place not in (self._model.dtype, self._model.device.type):
                self._move(place)
        return self._model

    def _move(self, place: Any) -> None:
        try:
            self._model = moved_model(self._model, place)
        except BackendSettingsError:
            # A part of the weights may be there already. The rest would be looked for there by the next run.
            self._model = self._read("auto")
            raise

    def generated(self, precision: str, named: Mapping[str, Any]) -> list[list[int]]:
        """Return the tokens that the model writes, with what it repeats of those that it was given."""
        model = self.at(precision)
        with self.torch.inference_mode():
            tokens: list[list[int]] = model.generate(**named).tolist()
        return tokens

    def whole(self) -> Any:
        """Return the model in 32 bits on one device, so that its weights can be changed.

        Raises BackendSettingsError.
        """
        asked = [name for name in LOADING if self._spec.options.get(name)]
        if asked:
            raise BackendSettingsError(
                _("A model with the option “%(option)s” cannot be trained. Register its base without it.")
                % {"option": asked[0]}
            )
        return self.at("float32")

    @property
    def config(self) -> Any:
        return self._model.config

    @property
    def generation_config(self) -> Any:
        return self._model.generation_config

    def ends(self) -> list[int]:
        """Return the tokens at which it stops."""
        eos_ids = self._model.generation_config.eos_token_id
        return list(eos_ids) if isinstance(eos_ids, list) else [] if eos_ids is None else [int(eos_ids)]

    def batch_size(self) -> int:
        return int(self._spec.options.get("batch_size") or (ON_GPU if self.device == "cuda" else ON_CPU))

    def describe(self) -> dict[str, str]:
        cuda = self.torch.cuda
        pinned = PINNED.fullmatch(self._spec.source)
        threads = f"CPU, {self.torch.get_num_threads()} threads"
        return {
            "architecture": type(self._model).__name__,
            "parameters": f"{sum(one.numel() for one in self._model.parameters()):,}",
            "device": cuda.get_device_name() if self.device == "cuda" else threads,
            "precision": f"auto is {_name_of(self._type('auto'))} here; stored as {_name_of(self._stored)}",
            **{name: str(self._spec.options[name]) for name in LOADING if self._spec.options.get(name)},
            # The commit says what the files are; to read them for a digest takes as long as to load them.
            **({"revision": pinned["revision"]} if pinned else {"files": digest_of(self._folder)}),
            "versions": f"transformers {self.library.__version__}, torch {self.torch.__version__}",
        }

    def export(self, folder: Path) -> None:
        """Save the model with the files of its base: a folder like the one that it was loaded from."""
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted({path for pattern in FILES for path in self._folder.glob(pattern)}):
            if not path.name.endswith((".safetensors", ".safetensors.index.json")):
                shutil.copyfile(path, folder / path.name)
        self._model.save_pretrained(folder)

    def close(self) -> None:
        del self._model
        if self.device == "cuda":
            self.torch.cuda.empty_cache()

    def _type(self, precision: str) -> Any:
        if precision != "auto":
            return getattr(self.torch, precision)
        if self.device != "cuda":
            return self.torch.float32
        return self.torch.bfloat16 if self.torch.cuda.is_bf16_supported() else self.torch.float16

    def _check_loading(self) -> None:
        """Check that this worker can load the model as its options ask."""
        if self._device_map:
            _need("accelerate", "device_map")
        if self._quantisation:
            _need("accelerate", "quantisation")
            _need("bitsandbytes", "quantisation")
            if self.device != "cuda":
                raise BackendSettingsError(
                    _("The option “%(option)s” needs a GPU, and this worker has none.") % {"option": "quantisation"}
                )
        if self._spec.options.get("compile") and self.device != "cuda" and not shutil.which("g++"):
            raise BackendSettingsError(
                _("The option “%(option)s” needs a C++ compiler (g++) on a worker without a GPU.")
                % {"option": "compile"}
            )

    def _loading(self) -> dict[str, Any]:
        named: dict[str, Any] = {"device_map": self._device_map} if self._device_map else {}
        if self._quantisation:
            half = {"bnb_4bit_compute_dtype": self._type("auto")} if self._quantisation == "4bit" else {}
            config = self.library.BitsAndBytesConfig(**{f"load_in_{self._quantisation}": True}, **half)
            named |= {"quantization_config": config, "device_map": self._device_map or {"": 0}}
        return named

    def _read(self, dtype: Any) -> Any:
        options = self._spec.options
        model, report = load_model(
            self._spec,
            self._kind.from_pretrained,
            self._folder,
            dtype=dtype,
            **self._loading(),
            use_safetensors=None if may_unpickle(self._spec) else True,
            # Of a pickle that is allowed, numbers are read and nothing is run.
            weights_only=True,
            output_loading_info=True,
            # Refused below, where it can be said which.
            ignore_mismatched_sizes=True,
        )
        self._check_belonging(model, report)
        missing = sorted(name for name in report["missing_keys"] if not HARMLESS.search(name))
        if missing and not options.get("allow_missing_weights"):
            raise BackendSettingsError(
                _(
                    "“%(source)s” lacks %(number)d weights of its architecture, which would be random. The "
                    "first is %(name)s. If you want this, set the option %(option)s."
                )
                % {
                    "source": self._spec.source,
                    "number": len(missing),
                    "name": missing[0],
                    "option": '{"allow_missing_weights": true}',
                }
            )
        model = model.eval()
        if options.get("compile"):
            # Captions differ in length: without it each length would be compiled anew.
            model.compile(dynamic=True)
        return model

    def _check_belonging(self, model: Any, report: Mapping[str, Any]) -> None:
        """Refuse weights of another size than `config.json` says, or of layers that it does not have."""
        of_other_sizes = sorted(report["mismatched_keys"])
        if of_other_sizes:
            name, stored, wanted = of_other_sizes[0]
            raise BackendSettingsError(
                _(
                    "The weights of “%(source)s” do not belong to its config.json: %(name)s has the size %(stored)s, "
                    "and should have %(wanted)s (%(number)d such weights). Use the config.json that came with the "
                    "weights."
                )
                % {
                    "source": self._spec.source,
                    "name": name,
                    "stored": " × ".join(map(str, stored)),
                    "wanted": " × ".join(map(str, wanted)),
                    "number": len(of_other_sizes),
                }
            )
        layers = {NUMBER.sub("", name) for name, _weight in model.named_parameters() if NUMBER.search(name)}
        # What has no place at all is often a part for another task.
        beyond = sorted(name for name in report["unexpected_keys"] if NUMBER.sub("", name) in layers)
        if beyond:
            raise BackendSettingsError(
                _(
                    "The weights of “%(source)s” do not belong to its config.json: they have layers that it does not "
                    "have (%(number)d weights; the first is %(name)s). Use the config.json that came with the weights."
                )
                % {"source": self._spec.source, "number": len(beyond), "name": beyond[0]}
            )


def _need(package: str, option: str) -> None:
    if find_spec(package) is None:
        raise BackendSettingsError(
            _("The option “%(option)s” needs the package %(package)s on the worker: pip install %(package)s.")
            % {"option": option, "package": package}
        )


def quiet_transformers() -> Any:
    """Raises research.inference.backends.encoders.ExtraMissingError."""
    library = transformers()
    library.utils.logging.set_verbosity_error()
    library.utils.logging.disable_progress_bar()
    return library


def load_model(spec: ModelSpec, load: Callable[..., Any], folder: Path, **named: Any) -> Any:
    """Load a model from its files, but never run code among them.

    Raises BackendSettingsError.
    """
    return or_settings_error(spec, partial(load, folder, local_files_only=True, trust_remote_code=False, **named))


def or_settings_error(spec: ModelSpec, attempt: Callable[[], Result]) -> Result:
    """Raises BackendSettingsError: whatever went wrong: the model is not as it should be."""
    try:
        return attempt()
    except BackendSettingsError:
        raise
    except Exception as error:  # of broken files, missing packages, unknown architectures: nearly anything
        raise BackendSettingsError(
            _("“%(source)s” cannot be loaded by transformers: %(error)s")
            % {"source": spec.source, "error": first_line(error)}
        ) from error


def check_fits(most: int | None, *, given: int, language: str, decoding: Decoding, parts: int = 1) -> None:
    """Refuse captions that may be longer than the model has positions for.

    - `most`: positions; None where any length is possible.
    - `given`: tokens that are there before those of the caption.
    - `parts`: 2 where a stabiliser comes before the caption.

    Raises BackendSettingsError.
    """
    wanted = parts * decoding.max_tokens
    if most is None or given + wanted <= most:
        return
    fits = (most - given) // parts
    named = {"most": most, "language": language, "given": given, "wanted": wanted, "fits": fits}
    if fits < 1:
        raise BackendSettingsError(
            _(
                "The model has positions for %(most)s tokens. In %(language)s, the beginning and the prompt take "
                "%(given)s, which leaves none for a caption. Register the model with a shorter prompt."
            )
            % named
        )
    if parts > 1:
        raise BackendSettingsError(
            _(
                "The model has positions for %(most)s tokens. In %(language)s, the beginning and the prompt take "
                "%(given)s, and stabiliser and caption may take %(wanted)s. Set the maximum number of tokens "
                "to %(fits)s or less."
            )
            % named
        )
    raise BackendSettingsError(
        _(
            "The model has positions for %(most)s tokens. In %(language)s, the beginning and the prompt take "
            "%(given)s, and a caption may take %(wanted)s. Set the maximum number of tokens to %(fits)s or less."
        )
        % named
    )


def check_decoding(decoding: Decoding) -> None:
    """Raises BackendSettingsError."""
    if decoding.beams > 1 and decoding.temperature > 0:
        raise BackendSettingsError(
            _("Use either beam search or a temperature, not both. Set beams to 1 or the temperature to 0.")
        )
    if not 0 < decoding.top_p <= 1:
        raise BackendSettingsError(_("top_p must be above 0 and at most 1."))
    if decoding.beams < 1 or decoding.temperature < 0 or decoding.max_tokens < max(1, decoding.min_tokens):
        raise BackendSettingsError(
            _(
                "Use at least one beam and one token, a temperature of 0 or more, and a maximum number of "
                "tokens that is not below the minimum."
            )
        )
    if decoding.precision not in PRECISIONS:
        raise BackendSettingsError(_("The precision must be one of: %(names)s.") % {"names": ", ".join(PRECISIONS)})


def generation(
    decoding: Decoding, *, keys: Sequence[str], language: str, parts: int = 1, more: int = 0
) -> dict[str, Any]:
    """Build all settings of `generate`, so that none of a checkpoint's own applies.

    - `parts`: how many times as long the output may be as a caption: 2 where a stabiliser comes before it.
    - `more`: tokens that are in the output and in no caption, such as that of the language.
    """
    check_decoding(decoding)
    draws = decoding.temperature > 0
    streams = [draw_seed(seed=decoding.seed, key=key, language=language) for key in keys]
    drawing = TokenDrawing(streams, temperature=decoding.temperature, top_p=decoding.top_p) if draws else None
    return {
        "num_beams": decoding.beams,
        "max_new_tokens": decoding.max_tokens * parts + more,
        "min_length": 0,
        **({"min_new_tokens": decoding.min_tokens + more} if decoding.min_tokens else {}),
        **({"length_penalty": decoding.length_penalty, "early_stopping": False} if decoding.beams > 1 else {}),
        # Drawn by `drawing`: the largest of what it gives is the word drawn.
        "do_sample": False,
        "num_return_sequences": 1,
        **({"logits_processor": [drawing]} if drawing else {}),
    }


def side_of(processor: Any) -> int | None:
    """Return the size in pixels that an image processor produces, or None if it depends on the image."""
    named = [getattr(processor, "size", None), getattr(processor, "crop_size", None)]
    sizes = [size if isinstance(size, dict) else dict(size) for size in named if size]
    if any(size.get(name) for size in sizes for name in ("longest_edge", "max_pixels", "min_pixels", "max_height")):
        return None
    sides = [int(size[name]) for size in sizes for name in ("height", "width", "shortest_edge") if size.get(name)]
    return max(sides, default=None)


def one_line(text: str) -> str:
    """Normalise to NFC on one line with single blanks, without half a character at the end."""
    return unicodedata.normalize("NFC", " ".join(text.rstrip("\ufffd").split()))


def caption_or_failure(text: str, stabiliser: str = "") -> GeneratedCaption | FailedImage:
    """Clean up what a model wrote; it fails if nothing is left."""
    text = one_line(text)
    return GeneratedCaption(text, one_line(stabiliser)) if text else FailedImage(_("The model wrote nothing."))


def first_token(*named: Any) -> int:
    """Find the token to begin with under the names that models use for it."""
    return int(next(one for one in named if one is not None))


def _name_of(kind: Any) -> str:
    return str(kind).removeprefix("torch.")
