"""Captioning by prompting models of images and text: PaliGemma, BLIP-2, Florence-2, and chat models like LLaVA."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from PIL import Image

from research.inference.backends import language_codes
from research.inference.backends.caption_tokenizer import CaptionTokenizer, check_texts
from research.inference.backends.captioners import BackendSettingsError, Decoding, ModelSpec
from research.inference.backends.encoder_decoder import KINDS as ENCODER_DECODERS
from research.inference.backends.encoder_decoder import MARGIN
from research.inference.backends.generation import (
    LoadedModel,
    check_fits,
    first_token,
    load_model,
    or_settings_error,
    side_of,
)
from research.inference.backends.transformer_captioner import TrainingRow, TransformerBackend, TransformerCaptioner
from research.inference.backends.transformer_files import (
    COMMON_OPTIONS,
    check_options,
    family_here,
    folder_here,
    has_chat_template,
)

PALIGEMMA, BLIP_2, FLORENCE_2 = "paligemma", "blip-2", "florence2"
KIND = "AutoModelForImageTextToText"
OPTIONS = {
    **COMMON_OPTIONS,
    "prompt": str,
    "prompts": dict,
    "template": str,
    "separators": dict,
    "stabiliser_prompt": str,
    "side": int,
}
PROMPTS = {PALIGEMMA: ("caption {code}", "caption"), BLIP_2: ("", ""), FLORENCE_2: ("<CAPTION>", "<CAPTION>")}
"""What is asked in a language, and of pivot-stabilised models in none."""
TEMPLATES = {PALIGEMMA: "<image>{prompt}", BLIP_2: "{prompt}", FLORENCE_2: "{prompt}"}
"""Of families that have no chat template."""
LANGUAGES = {
    PALIGEMMA: language_codes.PALIGEMMA,
    BLIP_2: language_codes.ENGLISH_ONLY,
    FLORENCE_2: language_codes.ENGLISH_ONLY,
}
"""Of families that do not try every language."""
PROMPT = ("Describe this picture in one sentence in {language}.", "Describe this picture in one sentence.")
SIDE = 1024
"""Pixels of the shorter side, for models that look at large images in more detail."""
PROBES = ((48, 32), (900, 1600), (1200, 150))
"""Images of several shapes: some models see as many parts of an image as it is long."""


class ChatBackend(TransformerBackend):
    name = "chat"
    title = gettext_lazy("Asked by a prompt (PaliGemma, LLaVA, Idefics)")
    about = gettext_lazy(
        "A transformers model that takes a prompt for each language: PaliGemma and image-text chat models."
    )

    def check(self, spec: ModelSpec) -> None:
        self._check(spec, family_here(spec), folder_here(spec.source))

    def _check(self, spec: ModelSpec, family: str, folder: Path | None) -> None:
        check_options(spec.options, OPTIONS)
        languages = self._languages(spec, family)
        check_texts(spec.options, languages)
        template = spec.options.get("template")
        if template is not None and "{prompt}" not in template:
            raise BackendSettingsError(_("Give {prompt} in the option “template”, where the prompt belongs."))
        prompt, prompts = spec.options.get("prompt"), spec.options.get("prompts") or {}
        if prompt and "{code}" not in prompt and "{language}" not in prompt and len(languages) > len(prompts) + 1:
            raise BackendSettingsError(
                _("Give {code} or {language} in the option “prompt”, so that the model knows which language to write.")
            )
        if family in ENCODER_DECODERS:
            raise BackendSettingsError(
                _("“%(source)s” is a model of the kind %(family)s, which takes no prompt. Use the backend %(name)s.")
                % {"source": spec.source, "family": family, "name": "encoder-decoder"}
            )
        if folder is not None and family not in TEMPLATES and template is None and not has_chat_template(folder):
            raise BackendSettingsError(
                _("“%(source)s” has no chat template. Give one with the option %(option)s.")
                % {"source": spec.source, "option": '{"template": "USER: <image>\\n{prompt} ASSISTANT:"}'}
            )

    def languages(self, spec: ModelSpec) -> Mapping[str, str]:
        return self._languages(spec, family_here(spec))

    def _languages(self, spec: ModelSpec, family: str) -> Mapping[str, str]:
        return language_codes.codes(spec.options, LANGUAGES.get(family, language_codes.ANY))

    def runs(self, family: str) -> bool:
        """Whether models of this family are for it."""
        return family not in ENCODER_DECODERS

    def names_languages(self, family: str, options: Mapping[str, Any]) -> bool:
        """Whether prompts say which language to write, without the option `prompts`."""
        prompt = options.get("prompt") or PROMPTS.get(family, PROMPT)[0]
        return "{code}" in prompt or "{language}" in prompt

    def _load(self, spec: ModelSpec, folder: Path, family: str) -> ChatCaptioner:
        self._check(spec, family, folder)
        return ChatCaptioner(spec, folder, family, self._languages(spec, family))


class ChatCaptioner(TransformerCaptioner):
    """A loaded model."""

    def __init__(self, spec: ModelSpec, folder: Path, family: str, codes: Mapping[str, str]) -> None:
        self._spec, self._codes, self._family = spec, codes, family
        self._loaded = LoadedModel(spec, folder, KIND)
        self._processor = load_model(spec, self._loaded.library.AutoProcessor.from_pretrained, folder)
        self._tokenizer = self._processor.tokenizer
        self._tokenizer.padding_side = "left"
        self._tokens = CaptionTokenizer(spec, self._tokenizer, codes, ends=self._loaded.ends())
        self._begin = self._first()
        self._asked: dict[str, dict[str, Any]] = {}
        self._is_fixed = or_settings_error(spec, self._looks_alike_at_all)
        needed = side_of(self._processor.image_processor) if self._is_fixed else None
        self.side = int(spec.options.get("side") or (MARGIN * needed if needed else SIDE))
        self.batch_size = self._loaded.batch_size()

    def describe(self) -> dict[str, str]:
        images = type(self._processor.image_processor).__name__
        return {**self._loaded.describe(), "images": images, "side": f"{self.side} pixels"}

    def _prepared(self, image: Image.Image) -> Any:
        # Of the others, how much text they see depends on the image: it is made when they are asked.
        return self._seen(image) if self._is_fixed else image

    @property
    def positions(self) -> int | None:
        """Those that the longest prompt leaves, of a small image where prompts depend on the image."""
        most = self._most()
        return None if most is None else most - max(self._length_given(tag) for tag in self._codes)

    def check_length(self, languages: Collection[str], decoding: Decoding) -> None:
        """Refuse captions that may be longer than the model has positions for, after a small image.

        Raises BackendSettingsError.
        """
        most, is_pivot = self._most(), self._tokens.is_pivot
        for tag in sorted(languages) if most is not None else ():
            self._check_language(tag)
            given = self._length_given(tag) + self._tokens.held_length(tag, decoding)
            check_fits(most, given=given, language=tag, decoding=decoding, parts=2 if is_pivot else 1)

    def _most(self) -> int | None:
        text = getattr(self._loaded.config, "text_config", self._loaded.config)
        most = getattr(text, "max_position_embeddings", None)
        return None if most is None else int(most)

    def _length_given(self, tag: str) -> int:
        """The number of tokens before an answer."""
        if self._begin:
            return len(self._begin) - 1
        blank = [Image.new("RGB", PROBES[0])]
        return int(self._processed([self._text(tag)], blank)["input_ids"].shape[1])

    def row(self, caption: str, *, language: str, stabiliser: str) -> TrainingRow:
        """Tokenise a caption, without its prompt, as the model ends it."""
        self._check_language(language)
        written = self._tokens.written(caption, stabiliser, language)
        end = (self._loaded.ends() or [self._tokenizer.eos_token_id])[0]
        return TrainingRow([*self._tokens.tokens(written), end], 0, language)

    def _loss(self, prepared: Sequence[Any], rows: Sequence[TrainingRow]) -> Any:
        library, model = self._loaded.torch, self.weights
        prompts, inputs = self._prompts(prepared, [row.language for row in rows])
        answers = [library.tensor(row.tokens) for row in rows]
        if self._begin:
            inputs |= _filled(library, prompts)
            begins = [library.tensor([*self._begin, *row.tokens[:-1]]) for row in rows]
            inputs |= _filled(library, [{"decoder_input_ids": begin} for begin in begins])
            firsts = [len(self._begin) - 1] * len(rows)
        else:
            inputs |= _filled(library, [self._answered(*each) for each in zip(prompts, answers, strict=True)])
            firsts = [len(prompt["input_ids"]) - 1 for prompt in prompts]
        logits = model(**{name: _on(model, value) for name, value in inputs.items()}).logits
        # A word is foretold at the place before it.
        learned = [one[first : first + len(answer)] for one, first, answer in zip(logits, firsts, answers, strict=True)]
        return library.nn.functional.cross_entropy(
            library.cat(learned).float(), library.cat(answers).to(model.device), reduction="sum"
        )

    def _check_language(self, tag: str) -> None:
        if tag not in self._codes:
            raise BackendSettingsError(
                _("“%(source)s” is not known to write %(tag)s. Add it with the option “languages”.")
                % {"source": self._spec.source, "tag": tag}
            )

    def _prompt_of(self, tag: str) -> str:
        return prompt_of(self._spec, self._family, tag, self._codes.get(tag, ""))

    def _begun(self, tag: str, beginning: str) -> list[int]:
        if tag:
            self._check_language(tag)
        return self._tokens.tokens(beginning)

    def _inputs(self, prepared: Sequence[Any], tag: str, rows: list[list[int]], precision: str) -> dict[str, Any]:
        library, model = self._loaded.torch, self._loaded.at(precision)
        if self._is_fixed:
            inputs = {name: value.repeat(len(prepared), 1) for name, value in self._prompt(tag).items()}
            for name in prepared[0]:
                inputs[name] = library.cat([one[name] for one in prepared])
        else:
            inputs = self._processed([self._text(tag)] * len(prepared), prepared)
        if self._begin:
            inputs["decoder_input_ids"] = library.tensor([[*self._begin, *row] for row in rows])
        elif rows[0]:
            inputs |= self._answered({name: inputs[name] for name in _of_tokens(inputs)}, library.tensor(rows))
        return {name: _on(model, value) for name, value in inputs.items()}

    def _given(self, inputs: Mapping[str, Any], rows: list[list[int]]) -> list[list[int]]:
        given: list[list[int]] = inputs["decoder_input_ids" if self._begin else "input_ids"].tolist()
        return given

    def _answered(self, prompt: Mapping[str, Any], answer: Any) -> dict[str, Any]:
        """Append an answer to a prompt, both as tokens in the last dimension."""
        library = self._loaded.torch
        kinds = {"input_ids": answer, "attention_mask": library.ones_like(answer)}
        # Of PaliGemma: what is answered sees only what stands before it, unlike what is asked.
        if self._family == PALIGEMMA:
            kinds["token_type_ids"] = library.ones_like(answer)
        return {
            name: library.cat([value, kinds.get(name, library.zeros_like(answer))], dim=-1)
            for name, value in prompt.items()
        }

    def _prompts(self, prepared: Sequence[Any], tags: Sequence[str]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Return the prompt of each image as tokens, and the inputs of all images."""
        if self._is_fixed:
            prompts = [{name: value[0] for name, value in self._prompt(tag).items()} for tag in tags]
            return prompts, {name: self._loaded.torch.cat([one[name] for one in prepared]) for name in prepared[0]}
        inputs = self._processed([self._text(tag) for tag in tags], prepared)
        names = _of_tokens(inputs)
        masks = [mask.bool() for mask in inputs["attention_mask"]]
        prompts = [{name: inputs[name][number][mask] for name in names} for number, mask in enumerate(masks)]
        return prompts, {name: value for name, value in inputs.items() if name not in names}

    def _prompt(self, tag: str) -> dict[str, Any]:
        """Tokenise the prompt in a language, with the placeholders of the image, as a batch of one."""
        if tag not in self._asked:
            inputs = self._processed([self._text(tag)], [Image.new("RGB", PROBES[0])])
            self._asked[tag] = {name: value for name, value in inputs.items() if name not in self._of_images}
        return self._asked[tag]

    def _text(self, tag: str) -> str:
        prompt = self._prompt_of(tag)
        if self._spec.options.get("template"):
            return str(self._spec.options["template"]).replace("{prompt}", prompt)
        if self._family in TEMPLATES:
            return TEMPLATES[self._family].replace("{prompt}", prompt)
        content = [{"type": "image"}, {"type": "text", "text": prompt}]
        text: str = self._processor.apply_chat_template(
            [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=False
        )
        return text

    def _processed(self, texts: list[str], images: Sequence[Image.Image]) -> dict[str, Any]:
        begins = self._tokenizer.bos_token
        # Templates that write the first token themselves would get two, and Florence-2's processor writes it.
        is_begun = bool(begins) and all(text.startswith(begins) for text in texts)
        inputs = self._processor(
            text=texts,
            images=[[image] for image in images],
            return_tensors="pt",
            padding=True,
            **({"add_special_tokens": False} if is_begun else {}),
        )
        return {name: value for name, value in inputs.items() if name != "labels"}

    def _seen(self, image: Image.Image) -> dict[str, Any]:
        return dict(self._processor.image_processor(images=[image], return_tensors="pt"))

    def _first(self) -> list[int]:
        """Return what a decoder apart from the encoder begins with; nothing where it writes on after the prompt."""
        config, decoding = self._loaded.config, self._loaded.generation_config
        if not config.is_encoder_decoder:
            return []
        text = config.text_config
        forced = (decoding.forced_bos_token_id, getattr(text, "forced_bos_token_id", None))
        begins = [first_token(decoding.decoder_start_token_id, text.decoder_start_token_id)]
        return begins + [one for one in forced if one is not None][:1]

    def _looks_alike_at_all(self) -> bool:
        """Whether all images become inputs of one shape, so that each can be prepared alone."""
        text, blank = self._text(next(iter(self._codes))), [Image.new("RGB", size) for size in PROBES]
        whole = [self._processed([text], [image]) for image in blank]
        alone = [self._seen(image) for image in blank]
        self._of_images = set(alone[0])
        return (
            self._of_images <= set(whole[0])
            and all(_shapes(whole[0]) == _shapes(one) for one in whole)
            and _shapes(alone[0]) == {name: whole[0][name].shape for name in self._of_images}
            and all(self._loaded.torch.equal(whole[0]["input_ids"], one["input_ids"]) for one in whole)
        )


def prompt_of(spec: ModelSpec, family: str, tag: str, code: str) -> str:
    """Build the prompt in a language, or without one if there is no `tag`.

    Raises BackendSettingsError.
    """
    in_language, in_none = PROMPTS.get(family, PROMPT)
    if not tag:
        return str(spec.options.get("stabiliser_prompt", in_none))
    prompt = (spec.options.get("prompts") or {}).get(tag) or spec.options.get("prompt") or in_language
    return str(prompt).replace("{code}", code).replace("{language}", language_codes.name_of(tag, code))


def _of_tokens(inputs: Mapping[str, Any]) -> list[str]:
    return [name for name, value in inputs.items() if value.shape[:2] == inputs["input_ids"].shape[:2]]


def _filled(library: Any, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Join rows of tokens, with zeros after the shorter ones: nothing attends to these."""
    pad = library.nn.utils.rnn.pad_sequence
    return {name: pad([row[name] for row in rows], batch_first=True) for name in rows[0]}


def _shapes(inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.shape for name, value in inputs.items()}


def _on(model: Any, value: Any) -> Any:
    return value.to(model.device, model.dtype) if value.is_floating_point() else value.to(model.device)
