"""Check the options of a model behind an endpoint, and find the endpoint and its key in the settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from core.languages.rules.registry import LANGUAGES
from research.inference.backends.captioners import BackendSettingsError, Decoding, ModelSpec
from research.inference.backends.endpoint_calls import RequestPolicy
from research.inference.rules.endpoints import NO_KEY, key_variable

CAPTION_PROMPT = (
    "Describe this picture in one sentence in {language} (language code {tag}), for somebody who cannot see it: what "
    "is most important in it first, then what it does or how it looks, then where it is. "
    "Answer with that sentence alone: no introduction, no quotation marks, no other language."
)
TRANSLATION_PROMPT = (
    "Translate this caption of an image from English into {language} (language code {tag}). "
    "Answer with the translation alone: no introduction, no quotation marks, no other language.\n\n{text}"
)
GLOSS_PROMPT = (
    "Translate this caption of an image from {language} (language code {tag}) into English, as literally as English "
    "allows: add nothing, leave nothing out, and mend no mistake of its content. "
    "Answer with the translation alone: no introduction, no quotation marks, no other language.\n\n{text}"
)
PARAMETERS = ("max_tokens", "temperature", "top_p", "seed")
"""What of a decoding the protocol has a word for."""
PROTOCOL_FIELDS = ("model", "messages", "stream", "n", *PARAMETERS)
COMMON_OPTIONS = {
    "model",
    "prompt",
    "prompts",
    "languages",
    "parameters",
    "extra",
    "keep_cut",
    "connect_s",
    "read_s",
    "retries",
    "concurrency",
    "per_minute",
    "longest_wait_s",
    "input_price",
    "output_price",
    "cost_limit",
}
OF_IMAGES = {"side", "detail"}
DETAILS = ("low", "high", "auto")
DOCUMENT = "docs/settings.md"


@dataclass(frozen=True)
class TokenPrices:
    """What a million tokens cost, and the most that a run may cost, in any one currency; None: no limit."""

    input: float
    output: float
    limit: float | None

    def cost(self, usage: tuple[int, int]) -> float:
        return (usage[0] * self.input + usage[1] * self.output) / 1e6


@dataclass(frozen=True)
class EndpointOptions:
    """`parameters`: the endpoint's name for each of PARAMETERS, None if it must not be sent."""

    model: str
    prompt: str
    prompts: Mapping[str, str]
    languages: Mapping[str, str]
    parameters: Mapping[str, str | None]
    extra: Mapping[str, Any]
    keep_cut: bool
    policy: RequestPolicy
    side: int
    detail: str | None
    prices: TokenPrices | None

    def prompt_in(self, language: str, *, text: str = "") -> str:
        return self._filled(self.prompts.get(language, self.prompt), language, text)

    def prompt_into_english(self, language: str, *, text: str) -> str:
        return self._filled(GLOSS_PROMPT, language, text)

    def _filled(self, pattern: str, language: str, text: str) -> str:
        # Not str.format: what a researcher writes may have braces in it, and the text of a caption too.
        words = {"{language}": self.languages[language], "{tag}": language, "{text}": text}
        return re.sub("|".join(map(re.escape, words)), lambda match: words[match[0]], pattern)

    def decoded(self, decoding: Decoding, *, seed: int) -> dict[str, Any]:
        """Build the decoding parameters of a request."""
        values: dict[str, Any] = {"max_tokens": decoding.max_tokens, "temperature": decoding.temperature}
        if decoding.temperature > 0:
            values["seed"] = seed
            if decoding.top_p < 1:
                values["top_p"] = decoding.top_p
        named = {self.parameters.get(name, name): value for name, value in values.items()}
        return {name: value for name, value in named.items() if name is not None}


def endpoint_of(spec: ModelSpec) -> tuple[str, str | None]:
    """Return the address and key (None if not needed) of the endpoint that a model names.

    Raises BackendSettingsError.
    """
    endpoints: Mapping[str, str] = settings.CAPTION_ENDPOINTS
    name = spec.source
    if name not in endpoints:
        known = _("Available: %(names)s.") % {"names": ", ".join(endpoints)} if endpoints else _("There is none yet.")
        raise BackendSettingsError(
            _("There is no endpoint “%(name)s”. %(there)s The operator lists endpoints in %(variable)s (%(document)s).")
            % {"name": name[:80], "there": known, "variable": "CAPTION_ENDPOINTS", "document": DOCUMENT}
        )
    key = settings.CAPTION_ENDPOINT_KEYS.get(name)
    if key is None:
        raise BackendSettingsError(
            _(
                "The endpoint “%(name)s” has no key. The operator sets %(variable)s for web processes and "
                "workers, to “%(none)s” if the endpoint needs no key (%(document)s)."
            )
            % {"name": name, "variable": key_variable(name), "none": NO_KEY, "document": DOCUMENT}
        )
    return endpoints[name], None if key == NO_KEY else key


def options_of(spec: ModelSpec, *, has_images: bool) -> EndpointOptions:
    """Raises BackendSettingsError."""
    options = spec.options
    known = COMMON_OPTIONS | OF_IMAGES if has_images else COMMON_OPTIONS
    unknown = sorted(set(options) - known)
    if unknown:
        raise BackendSettingsError(
            _("Unknown options: %(unknown)s. Use: %(known)s.")
            % {"unknown": ", ".join(unknown), "known": ", ".join(sorted(known))}
        )
    model = options.get("model")
    if not isinstance(model, str) or not model.strip():
        raise BackendSettingsError(_("The option “model” is missing. Give the model's name at the endpoint."))
    prompt = _text(options, "prompt", CAPTION_PROMPT if has_images else TRANSLATION_PROMPT)
    languages = languages_of(spec, has_images=has_images)
    prompts = _texts(options, "prompts")
    strangers = sorted(set(prompts) - set(languages))
    if strangers:
        raise BackendSettingsError(
            _("The option “prompts” has languages that the model does not have: %(tags)s.")
            % {"tags": ", ".join(strangers)}
        )
    says_which = "{language}" in prompt or "{tag}" in prompt
    if not says_which and len(languages) > 1 and set(languages) - set(prompts):
        raise BackendSettingsError(
            _("The option “prompt” names no language. Write {language} or {tag} where the language belongs.")
        )
    if not has_images and not all("{text}" in one for one in (prompt, *prompts.values())):
        raise BackendSettingsError(_("The prompt of a translator needs {text} where the English caption belongs."))
    detail = options.get("detail")
    if detail is not None and detail not in DETAILS:
        raise BackendSettingsError(
            _("The option “detail” must be one of: %(values)s.") % {"values": ", ".join(DETAILS)}
        )
    return EndpointOptions(
        model=model.strip(),
        prompt=prompt,
        prompts=prompts,
        languages=languages,
        parameters=_parameters(options),
        extra=_extra(options),
        keep_cut=_switch(options, "keep_cut"),
        policy=_policy(options),
        side=int(_number(options, "side", 768, least=32, most=4096, is_whole=True)),
        detail=detail,
        prices=prices_of(options),
    )


def check_decoding(options: EndpointOptions, decoding: Decoding) -> None:
    """Raises BackendSettingsError for what a chat completion has no word for: it would be stored with the captions, and
    not be true of them.
    """
    refused = []
    if decoding.beams > 1:
        refused.append(_("Endpoints do not support beam search. Enter 1."))
    if decoding.min_tokens > 0:
        refused.append(_("Endpoints do not support a minimum number of tokens. Enter 0."))
    if decoding.length_penalty != 1:
        refused.append(_("Endpoints do not support a length penalty. Enter 1."))
    if decoding.precision != "auto":
        refused.append(_("You cannot set the precision of an endpoint. Choose “auto”."))
    if decoding.is_consistent:
        refused.append(_("Endpoints cannot hold stabilisers fixed."))
    if decoding.temperature > 0 and options.parameters.get("temperature", "") is None:
        refused.append(_("The option “parameters” leaves out the temperature. Enter 0."))
    if refused:
        raise BackendSettingsError(" ".join(refused))


def languages_of(spec: ModelSpec, *, has_images: bool) -> dict[str, str]:
    """List our languages by their English names, or those that the researcher names instead.

    Raises BackendSettingsError.
    """
    names = {one.tag: one.english_name for one in LANGUAGES if has_images or one.tag != "en"}
    texts = _texts(spec.options, "languages")
    # A tag given in place of a name, as in lists of codes, stands for the language.
    return {tag: names.get(tag, name) if name == tag else name for tag, name in texts.items()} or names


def prices_of(options: Mapping[str, Any]) -> TokenPrices | None:
    """Read the prices; None if there are none.

    Raises BackendSettingsError.
    """
    has_limit = options.get("cost_limit") is not None
    if options.get("input_price") is None and options.get("output_price") is None:
        if has_limit:
            raise BackendSettingsError(
                _("The option “cost_limit” needs “input_price” and “output_price”, for a million tokens each.")
            )
        return None
    return TokenPrices(
        input=_number(options, "input_price", 0, least=0, most=1_000_000),
        output=_number(options, "output_price", 0, least=0, most=1_000_000),
        limit=_number(options, "cost_limit", 0, least=0, most=1_000_000_000) if has_limit else None,
    )


def _policy(options: Mapping[str, Any]) -> RequestPolicy:
    has_limit = options.get("per_minute") is not None
    return RequestPolicy(
        connect_s=_number(options, "connect_s", 10, least=0.05, most=120),
        read_s=_number(options, "read_s", 120, least=0.05, most=3600),
        retries=int(_number(options, "retries", 5, least=0, most=20, is_whole=True)),
        concurrency=int(_number(options, "concurrency", 4, least=1, most=64, is_whole=True)),
        per_minute=_number(options, "per_minute", 0, least=0.1, most=1_000_000) if has_limit else None,
        longest_wait_s=_number(options, "longest_wait_s", 120, least=0, most=3600),
    )


def _parameters(options: Mapping[str, Any]) -> dict[str, str | None]:
    parameters = _mapping(options, "parameters")
    for name, value in parameters.items():
        if name not in PARAMETERS or not (value is None or (isinstance(value, str) and value)):
            raise BackendSettingsError(
                _(
                    "The option “parameters” gives the endpoint's name for each of %(names)s: a name, or "
                    "null if it must not be sent."
                )
                % {"names": ", ".join(PARAMETERS)}
            )
    return parameters


def _extra(options: Mapping[str, Any]) -> dict[str, Any]:
    extra = _mapping(options, "extra")
    taken = sorted(set(extra) & set(PROTOCOL_FIELDS))
    if taken:
        raise BackendSettingsError(
            _("The option “extra” cannot set %(names)s. The model and the decoding decide that.")
            % {"names": ", ".join(taken)}
        )
    return extra


def _text(options: Mapping[str, Any], name: str, otherwise: str) -> str:
    value = options.get(name, otherwise)
    if not isinstance(value, str) or not value.strip():
        raise BackendSettingsError(_("The option “%(name)s” must be text.") % {"name": name})
    return value


def _texts(options: Mapping[str, Any], name: str) -> dict[str, str]:
    texts = _mapping(options, name)
    if not all(isinstance(value, str) and value.strip() for value in texts.values()):
        raise BackendSettingsError(
            _("The option “%(name)s” must have a text for each language tag, for example %(example)s.")
            % {"name": name, "example": '{"cy": "…"}'}
        )
    return texts


def _mapping(options: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = options.get(name, {})
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise BackendSettingsError(_("The option “%(name)s” must be an object of names and values.") % {"name": name})
    return dict(value)


def _switch(options: Mapping[str, Any], name: str) -> bool:
    value = options.get(name, False)
    if not isinstance(value, bool):
        raise BackendSettingsError(_("The option “%(name)s” must be true or false.") % {"name": name})
    return value


def _number(
    options: Mapping[str, Any], name: str, otherwise: float, *, least: float, most: float, is_whole: bool = False
) -> float:
    value = options.get(name, otherwise)
    is_number = isinstance(value, int if is_whole else int | float) and not isinstance(value, bool)
    # Written so that NaN is refused too.
    if not is_number or not least <= value <= most:
        values = {"name": name, "least": f"{least:g}", "most": f"{most:.7g}"}
        if is_whole:
            raise BackendSettingsError(
                _("The option “%(name)s” must be a whole number from %(least)s to %(most)s.") % values
            )
        raise BackendSettingsError(_("The option “%(name)s” must be a number from %(least)s to %(most)s.") % values)
    return float(value)
