"""Translate from English and into it, with transformers: M2M-100, NLLB, mBART-50, MarianMT, MADLAD-400 (T5)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.languages.rules.registry import ENGLISH
from research.inference.backends import language_codes
from research.inference.backends.captioners import (
    BackendSettingsError,
    Decoding,
    FailedImage,
    GeneratedCaption,
    LoadedTranslator,
    ModelSpec,
)
from research.inference.backends.generation import (
    NEEDS,
    LoadedModel,
    caption_or_failure,
    check_decoding,
    check_fits,
    generation,
    load_model,
    one_line,
    quiet_transformers,
)
from research.inference.backends.memory import MemoryGuard
from research.inference.backends.transformer_files import (
    COMMON_OPTIONS,
    check_options,
    config_here,
    folder_here,
    folder_of,
    read_json,
)

KIND = "AutoModelForSeq2SeqLM"
NLLB, M2M_100, MBART, MARIAN, T5 = "nllb", "m2m_100", "mbart", "marian", "t5"
TABLES = {NLLB: language_codes.NLLB, M2M_100: language_codes.M2M_100, MBART: language_codes.MBART_50}
"""Families that get the language as the first token of the output."""
BOTH_WAYS = (NLLB, M2M_100)
"""Families that translate between any two of their languages. Of others, the option `languages` must name English."""
BY_PREFIX = (MARIAN, T5)
"""Families that get it as the first word of the input, such as >>deu<<, or know one language only."""
OPTIONS = {**COMMON_OPTIONS, "source_language": str}
MAX_SOURCE_TOKENS = 512
"""Tokens of an English caption; what is longer is cut."""
WITH_POSITIONS = (MBART, MARIAN)
"""Families with so many positions and no more; those of others grow with the text, or are relative."""


class Seq2SeqBackend:
    name = "seq2seq"
    queue = "gpu"
    needs = NEEDS
    title = gettext_lazy("Translation model (M2M-100, NLLB, mBART-50, MarianMT)")
    about = gettext_lazy("A transformers translation model, for example M2M-100 or NLLB, from a folder or the hub.")

    def check(self, spec: ModelSpec) -> None:
        check_options(spec.options, OPTIONS)
        self.languages(spec)

    def check_decoding(self, spec: ModelSpec, decoding: Decoding) -> None:
        check_decoding(decoding)

    def languages(self, spec: ModelSpec) -> Mapping[str, str]:
        family = family_of(spec)
        if family in BY_PREFIX and "languages" not in spec.options:
            raise BackendSettingsError(
                _(
                    "“%(source)s” does not say which languages it translates into. Give the option "
                    "%(option)s, with the word to put before the English text, if any."
                )
                % {"source": spec.source, "option": '{"languages": {"de": ">>deu<<"}}'}
            )
        codes = language_codes.codes(spec.options, TABLES.get(family, {}))
        return {tag: code for tag, code in codes.items() if tag != ENGLISH}

    def reads(self, spec: ModelSpec) -> Mapping[str, str]:
        family = family_of(spec)
        if family not in BOTH_WAYS and ENGLISH not in spec.options.get("languages", ()):
            return {}
        known = language_codes.ANY if family in BY_PREFIX else self.languages(spec)
        return {tag: code for tag, code in known.items() if tag != ENGLISH}

    def load(self, spec: ModelSpec) -> LoadedTranslator:
        quiet_transformers()
        # Only what is here can be checked whole.
        folder = folder_of(spec)
        self.check(spec)
        return Seq2Seq(spec, folder, self.languages(spec))


def family_of(spec: ModelSpec) -> str:
    """Find a model's family. NLLB's models claim to be M2M-100's, but their tokenizers differ.

    Raises BackendSettingsError.
    """
    config, option = config_here(spec), spec.options.get("family")
    if config is None:
        family = option
    else:
        family = config.get("model_type")
        folder = folder_here(spec.source)
        if family == M2M_100 and folder is not None and _is_nllb(folder):
            family = NLLB
    if family is None:
        raise BackendSettingsError(
            _("“%(source)s” is not on this machine. Say what it is with the option %(option)s.")
            % {"source": spec.source, "option": '{"family": "nllb"}'}
        )
    if family not in (*TABLES, *BY_PREFIX):
        raise BackendSettingsError(
            _("“%(source)s” is a model of the kind %(family)s. This backend runs: %(known)s.")
            % {"source": spec.source, "family": family, "known": ", ".join((*TABLES, *BY_PREFIX))}
        )
    return str(family)


class Seq2Seq:
    """A loaded model."""

    def __init__(self, spec: ModelSpec, folder: Path, codes: Mapping[str, str]) -> None:
        self._family = family_of(spec)
        self._loaded = LoadedModel(spec, folder, KIND)
        table = language_codes.codes(spec.options, {}) | dict(TABLES.get(self._family, {}))
        english = spec.options.get("source_language", table.get(ENGLISH, ""))
        self._codes = {**codes, ENGLISH: english}
        tokenizer = self._loaded.library.AutoTokenizer
        arguments = {"src_lang": english} if self._family in TABLES else {}
        self._tokenizer = load_model(spec, tokenizer.from_pretrained, folder, **arguments)
        self._firsts = {tag: self._first(spec, code) for tag, code in self._codes.items()} if arguments else {}
        most = self._loaded.config.max_position_embeddings if self._family in WITH_POSITIONS else None
        self._cut = {"truncation": True, "max_length": min(self._tokenizer.model_max_length, MAX_SOURCE_TOKENS)}
        self._positions = None if most is None else int(most)
        self.batch_size = self._loaded.batch_size()

    def describe(self) -> dict[str, str]:
        return self._loaded.describe()

    def translate(
        self, texts: Sequence[str], *, keys: Sequence[str], language: str, decoding: Decoding
    ) -> list[GeneratedCaption | FailedImage]:
        captions: list[GeneratedCaption | FailedImage] = [
            FailedImage(_("There is nothing to translate.")) for _text in texts
        ]
        numbers = []
        for number, text in enumerate(texts):
            length = self._length_read(text, language)
            if self._positions is not None and length > self._positions:
                captions[number] = FailedImage(
                    _("The English caption has %(given)s tokens, and the model reads at most %(most)s. Shorten it.")
                    % {"given": length, "most": self._positions}
                )
            elif one_line(text):
                numbers.append(number)
        if not numbers:
            return captions
        outputs = self._written(
            [one_line(texts[number]) for number in numbers], [keys[number] for number in numbers], language, decoding
        )
        for number, output in zip(numbers, outputs, strict=True):
            captions[number] = caption_or_failure(output)
        return captions

    def translate_into_english(
        self, texts: Sequence[str], *, keys: Sequence[str], language: str, decoding: Decoding
    ) -> list[GeneratedCaption | FailedImage]:
        if self._family in BY_PREFIX:
            return self.translate(texts, keys=keys, language=ENGLISH, decoding=decoding)
        self._tokenizer.src_lang = self._codes[language]
        try:
            return self.translate(texts, keys=keys, language=ENGLISH, decoding=decoding)
        finally:
            self._tokenizer.src_lang = self._codes[ENGLISH]

    def check_length(self, languages: Collection[str], decoding: Decoding) -> None:
        """Refuse translations that may be longer than the model has positions for.

        Raises BackendSettingsError.
        """
        for tag in sorted(languages):
            given = 1 if self._firsts.get(tag) is None else 2
            check_fits(self._positions, given=given, language=tag, decoding=decoding)

    def close(self) -> None:
        self._loaded.close()

    def _length_read(self, text: str, tag: str) -> int:
        return len(self._tokenizer(self._before(tag) + one_line(text), **self._cut)["input_ids"])

    def _before(self, tag: str) -> str:
        return f"{self._codes[tag]} " if self._firsts.get(tag) is None and self._codes[tag] else ""

    def _written(self, texts: Sequence[str], keys: Sequence[str], tag: str, decoding: Decoding) -> list[str]:
        model, first = self._loaded.at(decoding.precision), self._firsts.get(tag)
        before = self._before(tag)
        read = self._tokenizer([before + text for text in texts], return_tensors="pt", padding=True, **self._cut)
        asked = generation(decoding, keys=keys, language=tag, more=0 if first is None else 1)
        if first is not None:
            asked["forced_bos_token_id"] = first
        with MemoryGuard():
            named = {name: value.to(model.device) for name, value in read.items() if name != "token_type_ids"}
            tokens = self._loaded.generated(decoding.precision, named | asked)
        # The decoder's own beginning, and the language.
        begins = 1 if first is None else 2
        return [self._text(one[begins:]) for one in tokens]

    def _text(self, tokens: Sequence[int]) -> str:
        # Not every checkpoint says that its tokens of languages are no text.
        languages = getattr(self._tokenizer, "lang_token_to_id", {}).values()
        kept = [token for token in tokens if token not in languages]
        return str(self._tokenizer.decode(kept, skip_special_tokens=True))

    def _first(self, spec: ModelSpec, code: str) -> int:
        written = f"__{code}__" if self._family == M2M_100 else code
        token_id = self._tokenizer.convert_tokens_to_ids(written)
        if token_id is None or token_id == self._tokenizer.unk_token_id:
            raise BackendSettingsError(
                _("“%(source)s” has no language with the code %(code)s. See the option “languages”.")
                % {"source": spec.source, "code": code}
            )
        return int(token_id)


def _is_nllb(folder: Path) -> bool:
    if (folder / "tokenizer_config.json").is_file():
        name = str(read_json(folder, "tokenizer_config.json").get("tokenizer_class", ""))
        if name.startswith(("Nllb", "M2M")):
            return name.startswith("Nllb")
    return not (folder / "vocab.json").is_file()
