"""Captions from the features of an image encoder that stays as it is: a GPT-2 gets them as its first words.

As ClipCap does (Mokady, Hertz and Bermano 2021) with a decoder of any size; the successor of Show and Tell (Vinyals et
al. 2015), which has an LSTM in its place. Features are computed once, so that it trains in minutes on a CPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from numpy.typing import NDArray
from PIL import Image

from research.inference.backends import registry
from research.inference.backends.caption_tokenizer import CaptionTokenizer
from research.inference.backends.captioners import BackendSettingsError, ModelSpec
from research.inference.backends.encoder_decoder import OPTIONS as DECODER_OPTIONS
from research.inference.backends.encoder_decoder import EncoderDecoder, EncoderDecoderBackend
from research.inference.backends.encoders import EncoderSubject, torch
from research.inference.backends.generation import LoadedModel, load_model, quiet_transformers
from research.inference.backends.transformer_files import read_json

FAMILY = "feature-decoder"
FEATURES = "features"
"""The option that names the encoder: {"backend": …, "source": …, "options": …}."""
OPTIONS = {**DECODER_OPTIONS, FEATURES: dict}
FIRST_WORDS = 4
"""Vectors in place of words that the decoder gets before a caption."""
WHOLE = 65_536
"""Pixels of the side to which images are made smaller: encoders see them as they do in runs of their own."""


@dataclass(frozen=True)
class ImageFeatures:
    """Features of one image, float32, shape (dimensions,)."""

    row: NDArray[np.float32]

    @property
    def nbytes(self) -> int:
        return self.row.nbytes


class FeatureDecoderBackend(EncoderDecoderBackend):
    name = "feature-decoder"
    title = gettext_lazy("Decoder over image features (trained here)")
    about = gettext_lazy("A small baseline that a training made: it writes captions from the features of an encoder.")

    def _check(self, spec: ModelSpec, family: str) -> None:
        super()._check(spec, family)
        load = spec.options.get(FEATURES) or {}
        if not isinstance(load.get("backend"), str):
            raise BackendSettingsError(
                _("The option “%(option)s” names no encoder. Give one: %(example)s")
                % {"option": FEATURES, "example": '{"features": {"backend": "mobilenet"}}'}
            )
        _check_encoder(load)

    options = OPTIONS
    families = (FAMILY,)

    def _load(self, spec: ModelSpec, folder: Path, family: str) -> FeatureDecoder:
        self._check(spec, family)
        return FeatureDecoder(spec, folder, self.languages(spec))


class FeatureDecoder(EncoderDecoder):
    """A loaded model with its encoder."""

    def __init__(self, spec: ModelSpec, folder: Path, codes: Mapping[str, str]) -> None:
        self._family = FAMILY
        self._encoder = load_encoder(spec.options[FEATURES])
        known = read_json(folder, "config.json").get("features_signature")
        if self._encoder.signature != known:
            raise BackendSettingsError(
                _("“%(source)s” was trained on features by %(then)s, and this encoder is %(now)s. Use the same one.")
                % {"source": spec.source, "then": known, "now": self._encoder.signature}
            )
        self._loaded = LoadedModel(spec, folder, model_class())
        tokenizer = load_model(spec, self._loaded.library.PreTrainedTokenizerFast.from_pretrained, folder)
        self._prompts = spec.options.get("prompts") or {}
        self._stabiliser_prompt = str(spec.options.get("stabiliser_prompt", ""))
        self._first = self._last = int(self._loaded.config.eos_token_id)
        self._tokens = CaptionTokenizer(spec, tokenizer, codes, ends=[self._last])
        self.side = WHOLE
        self.batch_size = self._loaded.batch_size()

    def describe(self) -> dict[str, str]:
        return {**self._loaded.describe(), "images": self._encoder.signature}

    def _prepared(self, image: Image.Image) -> Any:
        return self._encoder.prepare(image)

    def features(self, prepared: Sequence[Any]) -> list[ImageFeatures]:
        """Compute the features of prepared images, which stand in for them everywhere."""
        missing = [one for one in prepared if not isinstance(one, ImageFeatures)]
        rows = iter(self._encoder.features_of(missing) if missing else ())
        return [one if isinstance(one, ImageFeatures) else ImageFeatures(np.asarray(next(rows))) for one in prepared]

    @property
    def positions(self) -> int:
        return int(self._loaded.config.n_positions) - FIRST_WORDS

    def close(self) -> None:
        self._encoder.close()
        super().close()

    def _logits(self, prepared: Sequence[Any], tokens: Any, mask: Any) -> Any:
        model = self.weights
        named = self._embedded(model, prepared, tokens)
        first = self._loaded.torch.ones((len(tokens), FIRST_WORDS), dtype=mask.dtype)
        whole = self._loaded.torch.cat([first, mask], dim=1).to(model.device)
        return model(**named, attention_mask=whole).logits

    def _inputs(self, prepared: Sequence[Any], tag: str, rows: list[list[int]], precision: str) -> dict[str, Any]:
        model, library = self._loaded.at(precision), self._loaded.torch
        named = self._embedded(model, prepared, library.tensor(rows))
        return {**named, "attention_mask": library.ones(named["inputs_embeds"].shape[:2], device=model.device)}

    def _given(self, inputs: Mapping[str, Any], rows: list[list[int]]) -> list[list[int]]:
        # `generate` repeats no vectors that it was given.
        return [[] for _row in rows]

    def _embedded(self, model: Any, prepared: Sequence[Any], tokens: Any) -> dict[str, Any]:
        library = self._loaded.torch
        rows = library.from_numpy(np.stack([one.row for one in self.features(prepared)]).astype(np.float32))
        first = model.first_words(rows.to(model.device, model.dtype))
        words = model.get_input_embeddings()(tokens.to(model.device))
        return {"inputs_embeds": library.cat([first, words], dim=1)}


def _check_encoder(about: Mapping[str, Any]) -> None:
    backend, spec = registry.encoder_named(str(about["backend"])), _encoder_spec(about)
    backend.check(spec)
    if EncoderSubject.IMAGES not in backend.subjects(spec):
        raise BackendSettingsError(_("The encoder “%(name)s” does not encode images.") % {"name": about["backend"]})


def _encoder_spec(about: Mapping[str, Any]) -> ModelSpec:
    return ModelSpec(str(about["backend"]), str(about.get("source", "")), dict(about.get("options") or {}))


def load_encoder(about: Mapping[str, Any]) -> Any:
    """Load the image encoder that the option names.

    Raises BackendSettingsError or research.inference.backends.encoders.ExtraMissingError.
    """
    _check_encoder(about)
    return registry.encoder_named(str(about["backend"])).load(_encoder_spec(about))


@cache
def config_class() -> Any:
    """GPT-2's settings, and what features it is for: `feature_dimensions` and `features_signature`."""

    class FeatureDecoderConfig(quiet_transformers().GPT2Config):  # type: ignore[misc]
        model_type = FAMILY

    return FeatureDecoderConfig


@cache
def model_class() -> Any:
    """GPT-2 with a layer that makes features its first words."""
    nn = torch().nn

    class FeatureDecoderModel(quiet_transformers().GPT2LMHeadModel):  # type: ignore[misc]
        config_class = config_class()

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.feature_norm = nn.LayerNorm(config.feature_dimensions)
            self.feature_words = nn.Linear(config.feature_dimensions, FIRST_WORDS * config.n_embd)
            self.post_init()

        def first_words(self, features: Any) -> Any:
            """Map features, shape (n, dimensions), to vectors, shape (n, FIRST_WORDS, width)."""
            return self.feature_words(self.feature_norm(features)).unflatten(1, (FIRST_WORDS, -1))

    return FeatureDecoderModel
