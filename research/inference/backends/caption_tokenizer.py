"""Convert text to tokens and back, and split the output of pivot-stabilised models into stabiliser and caption."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from research.inference.backends.captioners import (
    BackendSettingsError,
    Captioner,
    Decoding,
    FailedImage,
    GeneratedCaption,
    ModelSpec,
)
from research.inference.backends.generation import caption_or_failure, one_line
from research.inference.rules.captions import separators_of, split


class CaptionTokenizer:
    """A tokenizer, and how to split its decoded text.

    - `codes`: our tags of the languages, and the model's own codes.
    - `ends`: tokens that end what the model writes, and are no text.
    """

    def __init__(self, spec: ModelSpec, tokenizer: Any, codes: Mapping[str, str], *, ends: Sequence[int]) -> None:
        self._tokenizer, self.is_pivot = tokenizer, spec.is_pivot
        separators = separators_of(spec.options, codes) if spec.is_pivot else {}
        special = set(tokenizer.all_special_tokens)
        # Fields of pages take blanks away; only what is a token of its own is meant to stand without.
        self._separators = {
            tag: one if one != one.strip() or one in special else f" {one} " for tag, one in separators.items()
        }
        kept = {token for separator in self._separators.values() for token in self.tokens(separator.strip())}
        # A separator may be a special token, which decoding would otherwise leave out.
        self._left_out = (set(tokenizer.all_special_ids) - kept) | set(ends)

    def tokens(self, text: str) -> list[int]:
        """Tokenise a text that continues another, without special tokens."""
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"]) if text else []

    def text(self, tokens: Sequence[int]) -> str:
        kept = [token for token in tokens if token not in self._left_out]
        return one_line(self._tokenizer.decode(kept, skip_special_tokens=not self.is_pivot))

    def held(self, stabilisers: Sequence[str] | None, tag: str, number: int) -> list[str]:
        """Return the tokens that each caption continues, besides a prompt."""
        if stabilisers is None or not self.is_pivot:
            return [""] * number
        # The blank before a word belongs to the word where tokens are parts of words.
        return [(stabiliser + self._separators[tag]).rstrip() for stabiliser in stabilisers]

    def held_length(self, tag: str, decoding: Decoding) -> int:
        """The number of tokens between a held stabiliser and its caption."""
        is_held = self.is_pivot and decoding.is_consistent
        return len(self.tokens(self._separators[tag].strip())) if is_held else 0

    def written(self, caption: str, stabiliser: str, tag: str) -> str:
        """Return what the model is to write for a caption."""
        return f"{stabiliser}{self._separators[tag]}{caption}" if self.is_pivot else caption

    def parts(self, stabilisers: Sequence[str] | None) -> int:
        """The number of texts that the model writes, each as long as a caption."""
        return 2 if self.is_pivot and stabilisers is None else 1

    def captions(
        self, outputs: Sequence[str], tag: str, stabilisers: Sequence[str] | None
    ) -> list[GeneratedCaption | FailedImage]:
        if not self.is_pivot:
            return [caption_or_failure(output) for output in outputs]
        if stabilisers is None:
            return [self._parted(output, tag) for output in outputs]
        return [caption_or_failure(output, stabiliser) for output, stabiliser in zip(outputs, stabilisers, strict=True)]

    def is_named(self, tag: str, prompt_of: Callable[[str], str]) -> bool:
        """Whether the prompt names the language: no other one has the same."""
        return all(prompt_of(other) != prompt_of(tag) for other in self._separators if other != tag)

    def captions_by_separator(
        self,
        outputs: Sequence[str],
        captioner: Captioner,
        prepared: Sequence[Any],
        *,
        keys: Sequence[str],
        language: str,
        decoding: Decoding,
    ) -> list[GeneratedCaption | FailedImage]:
        """Return the captions of outputs for which no prompt named the language: only the separator does.

        Where the model chose the separator of another one, it keeps its stabiliser and is given the right one.
        """
        captions = self.captions(outputs, language, None)
        strayed = {
            place: stabiliser
            for place, output in enumerate(outputs)
            if (stabiliser := self._before_another(output, language, decoding.max_tokens))
        }
        if strayed:
            again = captioner.caption(
                [prepared[place] for place in strayed],
                keys=[keys[place] for place in strayed],
                language=language,
                decoding=decoding,
                stabilisers=list(strayed.values()),
            )
            for place, caption in zip(strayed, again, strict=True):
                captions[place] = caption
        return captions

    def _before_another(self, output: str, tag: str, most: int) -> str:
        """Return the stabiliser before the separator of another language, if it has at most so many tokens."""
        positions = self._positions(output)
        if not positions or positions.get(tag) == min(positions.values()):
            return ""
        stabiliser = one_line(output[: min(positions.values())])
        # More might leave no positions for a caption.
        return stabiliser if len(self.tokens(self.held([stabiliser], tag, 1)[0])) <= most else ""

    def _positions(self, output: str) -> dict[str, int]:
        """Find the separators of all languages that are in an output."""
        found = {tag: output.find(separator.strip()) for tag, separator in self._separators.items()}
        return {tag: position for tag, position in found.items() if position >= 0}

    def _parted(self, output: str, tag: str) -> GeneratedCaption | FailedImage:
        parts = split(output, self._separators[tag])
        if parts is None:
            return FailedImage(_("The model did not write a stabiliser, the language's separator and a caption."))
        stabiliser, caption = parts
        return caption_or_failure(caption, stabiliser)

    def stabiliser(self, output: str) -> str | FailedImage:
        """Return the text before the first separator of any language."""
        if not self.is_pivot:
            raise BackendSettingsError(_("The model is not registered as pivot-stabilised."))
        end = min(self._positions(output).values(), default=len(output))
        return one_line(output[:end]) or FailedImage(_("The model wrote no stabiliser."))


def check_texts(options: Mapping[str, Any], languages: Mapping[str, str]) -> None:
    """Raises BackendSettingsError where the prompts or separators are of languages that the model does not have."""
    for name in ("prompts", "separators"):
        texts = options.get(name) or {}
        if not all(isinstance(text, str) and text.strip() for text in texts.values()):
            raise BackendSettingsError(
                _("The option “%(option)s” must have a text for each language.") % {"option": name}
            )
        unknown = sorted(set(texts) - set(languages))
        if unknown:
            raise BackendSettingsError(
                _("The option “%(option)s” has %(tags)s, which the model does not have. See the option “languages”.")
                % {"option": name, "tags": ", ".join(unknown)}
            )
