"""Captioning with encoder-decoder models: BLIP, GIT, and any vision encoder with any text decoder.

They may be pivot-stabilised. What is held fixed (a prompt, a stabiliser) is what their decoder begins with.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from PIL import Image

from core.languages.rules.registry import ENGLISH
from research.inference.backends import language_codes
from research.inference.backends.caption_tokenizer import CaptionTokenizer, check_texts
from research.inference.backends.captioners import BackendSettingsError, Decoding, ModelSpec
from research.inference.backends.generation import LoadedModel, check_fits, first_token, load_model, side_of
from research.inference.backends.transformer_captioner import TrainingRow, TransformerBackend, TransformerCaptioner
from research.inference.backends.transformer_files import COMMON_OPTIONS, check_options, family_here, read_json

KINDS = {
    "blip": "AutoModelForImageTextToText",
    "git": "AutoModelForImageTextToText",
    "vision-encoder-decoder": "VisionEncoderDecoderModel",
}
OPTIONS = {**COMMON_OPTIONS, "prompts": dict, "separators": dict, "stabiliser_prompt": str}
MARGIN = 2
"""Images may be made smaller ahead to this many times what the model sees: to less would blur what it sees."""


IGNORED = -100
"""In place of a token that is not learned."""


class EncoderDecoderBackend(TransformerBackend):
    name = "encoder-decoder"
    options: Mapping[str, Any] = OPTIONS
    families: Collection[str] = KINDS
    title = gettext_lazy("Encoder–decoder (BLIP, GIT, ViT-GPT2)")
    about = gettext_lazy(
        "A transformers model that takes an image and writes a caption, from a folder or the hub. Includes pivot-"
        "stabilised models."
    )

    def check(self, spec: ModelSpec) -> None:
        self._check(spec, family_here(spec))

    def _check(self, spec: ModelSpec, family: str) -> None:
        check_options(spec.options, self.options)
        check_texts(spec.options, self.languages(spec))
        if family and family not in self.families:
            raise BackendSettingsError(
                _("“%(source)s” is a model of the kind %(family)s. This backend runs: %(known)s.")
                % {"source": spec.source, "family": family, "known": ", ".join(self.families)}
            )

    def runs(self, family: str) -> bool:
        """Whether models of this family are for it."""
        return family in self.families

    def names_languages(self, family: str, options: Mapping[str, Any]) -> bool:
        return False

    def languages(self, spec: ModelSpec) -> Mapping[str, str]:
        return language_codes.codes(spec.options, language_codes.ENGLISH_ONLY)

    def _load(self, spec: ModelSpec, folder: Path, family: str) -> EncoderDecoder:
        self._check(spec, family)
        return EncoderDecoder(spec, folder, self.languages(spec))


class EncoderDecoder(TransformerCaptioner):
    """A loaded model."""

    def __init__(self, spec: ModelSpec, folder: Path, codes: Mapping[str, str]) -> None:
        self._family = str(read_json(folder, "config.json")["model_type"])
        self._loaded = LoadedModel(spec, folder, KINDS[self._family])
        library = self._loaded.library
        self._eye = load_model(spec, library.AutoImageProcessor.from_pretrained, folder)
        tokenizer = load_model(spec, library.AutoTokenizer.from_pretrained, folder)
        self._prompts: Mapping[str, str] = spec.options.get("prompts") or {}
        self._stabiliser_prompt = str(spec.options.get("stabiliser_prompt", ""))
        self._first, self._last = self._ends()
        self._tokens = CaptionTokenizer(spec, tokenizer, codes, ends=[self._last])
        self.side = MARGIN * (side_of(self._eye) or 512)
        self.batch_size = self._loaded.batch_size()

    def describe(self) -> dict[str, str]:
        return {**self._loaded.describe(), "images": type(self._eye).__name__}

    def _prepared(self, image: Image.Image) -> Any:
        return self._eye(images=image, return_tensors="pt")["pixel_values"][0]

    @property
    def positions(self) -> int | None:
        config = self._loaded.config
        text = getattr(config, "text_config", None) or getattr(config, "decoder", None) or config
        return getattr(text, "max_position_embeddings", None) or getattr(text, "n_positions", None)

    def check_length(self, languages: Collection[str], decoding: Decoding) -> None:
        """Refuse captions that may be longer than the model has positions for.

        Raises BackendSettingsError.
        """
        most, begin = self.positions, 1 + len(self._tokens.tokens(self._stabiliser_prompt))
        if self._tokens.is_pivot and decoding.is_consistent:
            check_fits(most, given=begin, language=ENGLISH, decoding=decoding)
        for language in sorted(languages):
            given = 1 + len(self._tokens.tokens(self._prompt_of(language)))
            held, parts = self._tokens.held_length(language, decoding), 2 if self._tokens.is_pivot else 1
            check_fits(most, given=given + held, language=language, decoding=decoding, parts=parts)

    def row(self, caption: str, *, language: str, stabiliser: str) -> TrainingRow:
        """Tokenise a caption after the prompt of its language, as the model begins and ends it."""
        prompt = self._prompt_of(language)
        written = self._tokens.written(caption, stabiliser, language)
        given = 1 + len(self._tokens.tokens(prompt))
        return TrainingRow([self._first, *self._tokens.tokens(f"{prompt} {written}".strip()), self._last], given)

    def _loss(self, prepared: Sequence[Any], rows: Sequence[TrainingRow]) -> Any:
        library = self._loaded.torch
        longest = max(len(row.tokens) for row in rows)
        # What fills the shorter rows is masked; which token it is makes no difference.
        tokens = library.tensor([[*row.tokens, *[self._last] * (longest - len(row.tokens))] for row in rows])
        places = library.arange(longest)
        lengths = library.tensor([[len(row.tokens)] for row in rows])
        given = library.tensor([[row.given] for row in rows])
        is_learned = (places >= given) & (places < lengths)
        # Some have the image before the words.
        logits = self._logits(prepared, tokens, (places < lengths).long())[:, -longest:]
        wanted = tokens.masked_fill(~is_learned, IGNORED).to(logits.device)
        return library.nn.functional.cross_entropy(
            logits[:, :-1].float().flatten(0, 1), wanted[:, 1:].flatten(), ignore_index=IGNORED, reduction="sum"
        )

    def _logits(self, prepared: Sequence[Any], tokens: Any, mask: Any) -> Any:
        model = self.weights
        part = "decoder_" if self._family == "vision-encoder-decoder" else ""
        named = {f"{part}input_ids": tokens.to(model.device), f"{part}attention_mask": mask.to(model.device)}
        pixels = self._loaded.torch.stack(list(prepared)).to(model.device, model.dtype)
        return model(pixel_values=pixels, **named).logits

    def _prompt_of(self, tag: str) -> str:
        return self._prompts.get(tag, "")

    def _begun(self, tag: str, beginning: str) -> list[int]:
        begin = f"{self._prompt_of(tag)} {beginning}".strip() if tag else self._stabiliser_prompt
        return [self._first, *self._tokens.tokens(begin)]

    def _inputs(self, prepared: Sequence[Any], tag: str, rows: list[list[int]], precision: str) -> dict[str, Any]:
        library, model = self._loaded.torch, self._loaded.at(precision)
        pixels = library.stack(list(prepared)).to(model.device, model.dtype)
        # BLIP takes away the last token that it is given, since its tokenizer ends every text with one.
        last = [self._last] if self._family == "blip" else []
        tokens = library.tensor([[*row, *last] for row in rows], device=model.device)
        if self._family == "vision-encoder-decoder":
            return {"pixel_values": pixels, "decoder_input_ids": tokens}
        return {"pixel_values": pixels, "input_ids": tokens, "attention_mask": library.ones_like(tokens)}

    def _given(self, inputs: Mapping[str, Any], rows: list[list[int]]) -> list[list[int]]:
        return rows

    def _ends(self) -> tuple[int, int]:
        """Return the tokens with which the decoder begins and ends."""
        config, decoding = self._loaded.config, self._loaded.generation_config
        if self._family == "blip":
            return int(config.text_config.bos_token_id), int(config.text_config.sep_token_id)
        if self._family == "git":
            return first_token(decoding.bos_token_id, config.bos_token_id), first_token(config.eos_token_id)
        decoder = config.decoder
        first = (decoding.decoder_start_token_id, getattr(config, "decoder_start_token_id", None), decoder.bos_token_id)
        return first_token(*first), first_token(decoder.eos_token_id)
