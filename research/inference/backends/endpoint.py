"""Caption and translate with models behind an OpenAI-compatible HTTP endpoint.

A researcher names an endpoint of the settings and a model behind it; address and key never leave the environment
(decision 0029). Images go as JPEG in the message itself.
"""

from __future__ import annotations

import base64
import hashlib
import io
import random
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, TypeVar

from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from PIL import Image

from core.languages.rules.registry import ENGLISH
from crosslens_metrics.formats.caption_rows import caption_text
from crosslens_metrics.formats.problems import LineError
from research.inference.backends.captioners import (
    BackendDownError,
    BackendSettingsError,
    Captioner,
    Decoding,
    FailedImage,
    GeneratedCaption,
    LoadedTranslator,
    ModelSpec,
)
from research.inference.backends.endpoint_answers import NoAnswerError, content_of, usage_of
from research.inference.backends.endpoint_calls import Clock, EndpointClient, Wait
from research.inference.backends.endpoint_options import (
    EndpointOptions,
    TokenPrices,
    check_decoding,
    endpoint_of,
    languages_of,
    options_of,
)

BATCHES = 4
"""Images per batch for each concurrent request: with more, threads wait less for the last answer of a batch, but more
requests are repeated if the endpoint breaks down."""
IN_A_ROW = 24
"""After so many images in a row without a caption, the endpoint is taken to be at fault."""
DOWN_FOR_S = 1.0
"""How long a failed endpoint gets no further requests: the next batch is often on its way already."""
JPEG_QUALITY = 90

Loaded = TypeVar("Loaded", bound="_EndpointRequests")


class _EndpointBackend:
    """`clock`, `wait` and `rng` are used for requests; tests replace them."""

    name = "endpoint"
    queue = "default"
    is_remote = True
    title = gettext_lazy("Endpoint (OpenAI-compatible, over HTTP)")
    has_images: ClassVar[bool]

    def __init__(
        self, *, clock: Clock = time.monotonic, wait: Wait | None = None, rng: random.Random | None = None
    ) -> None:
        self._clock, self._wait, self._rng = clock, wait, rng

    def check(self, spec: ModelSpec) -> None:
        if spec.is_pivot:
            raise BackendSettingsError(
                _(
                    "Pivot-stabilised models cannot run behind an endpoint, because its answer begins where "
                    "the prompt ends and a stabiliser cannot be held fixed. Run the model from a folder or "
                    "the hub."
                )
            )
        options_of(spec, has_images=self.has_images)
        endpoint_of(spec)

    def check_decoding(self, spec: ModelSpec, decoding: Decoding) -> None:
        check_decoding(options_of(spec, has_images=self.has_images), decoding)

    def languages(self, spec: ModelSpec) -> Mapping[str, str]:
        return languages_of(spec, has_images=self.has_images)

    def _loaded(self, spec: ModelSpec, kind: type[Loaded]) -> Loaded:
        self.check(spec)
        options = options_of(spec, has_images=self.has_images)
        address, key = endpoint_of(spec)
        client = EndpointClient(
            name=spec.source,
            address=address,
            key=key,
            policy=options.policy,
            clock=self._clock,
            wait=self._wait,
            rng=self._rng,
        )
        return kind(spec.source, options, client, self._clock)


class EndpointBackend(_EndpointBackend):
    about = gettext_lazy("A model on a server with an OpenAI-compatible API, on your network or elsewhere.")
    has_images = True

    def load(self, spec: ModelSpec) -> Captioner:
        return self._loaded(spec, EndpointCaptioner)


class EndpointTranslatorBackend(_EndpointBackend):
    about = gettext_lazy("A language model that translates, on a server with an OpenAI-compatible API.")
    has_images = False

    def reads(self, spec: ModelSpec) -> Mapping[str, str]:
        return {tag: name for tag, name in self.languages(spec).items() if tag != ENGLISH}

    def load(self, spec: ModelSpec) -> LoadedTranslator:
        return self._loaded(spec, EndpointTranslation)


class _EndpointRequests:
    """Requests many texts at once, and distinguishes bad images from a bad endpoint."""

    def __init__(self, endpoint: str, options: EndpointOptions, client: EndpointClient, clock: Clock) -> None:
        self.endpoint, self.options, self.client, self._clock = endpoint, options, client, clock
        self.batch_size = BATCHES * options.policy.concurrency
        self._threads = ThreadPoolExecutor(options.policy.concurrency, thread_name_prefix="endpoint")
        self._failed_in_a_row = 0
        self._used = (0, 0)
        self._counting = threading.Lock()
        self._down: BackendDownError | None = None
        self._down_until = 0.0

    def describe(self) -> dict[str, str]:
        policy = self.options.policy
        return {
            "endpoint": self.endpoint,
            "model": self.options.model,
            "at once": str(policy.concurrency),
            "a minute": f"{policy.per_minute:g}" if policy.per_minute else "no limit",
            "time allowed": f"{policy.read_s:g} s",
            "asked again": f"{policy.retries} times",
        }

    def all(
        self, contents: Sequence[tuple[Any, str]], *, keys: Sequence[str], language: str, decoding: Decoding
    ) -> list[GeneratedCaption | FailedImage]:
        """Request an answer to each message; its private part must not appear in error messages.

        Raises BackendDownError.
        """
        check_decoding(self.options, decoding)
        if self._down is not None and self._clock() < self._down_until:
            raise BackendDownError(str(self._down))
        # Threads have a language of their own, and are kept from run to run.
        page_language = translation.get_language()
        down: list[BackendDownError] = []

        def one(content: tuple[Any, str], key: str) -> GeneratedCaption | NoAnswerError | None:
            seed = seed_of(key, language, decoding.seed)
            with translation.override(page_language):
                try:
                    return self._one(*content, seed=seed, decoding=decoding)
                except NoAnswerError as unanswered:
                    return unanswered
                except BackendDownError as error:
                    down.append(error)
                    self.client.halted.set()
                    return None

        results = list(self._threads.map(one, contents, keys))
        try:
            if down:
                self.client.halted.clear()
                raise down[0]
            answers = [answer for answer in results if answer is not None]
            self._look_for_a_breakdown(answers)
        except BackendDownError as error:
            self._down, self._down_until = error, self._clock() + DOWN_FOR_S
            raise
        return [FailedImage(answer.reason) if isinstance(answer, NoAnswerError) else answer for answer in answers]

    @property
    def prices(self) -> TokenPrices | None:
        return self.options.prices

    def take_usage(self) -> tuple[int, int]:
        """Return the tokens that went in and came out since the last call."""
        with self._counting:
            used, self._used = self._used, (0, 0)
        return used

    def close(self) -> None:
        self.client.close()
        self._threads.shutdown(cancel_futures=True)

    def _one(self, content: Any, private: str, *, seed: int, decoding: Decoding) -> GeneratedCaption:
        body = {
            "model": self.options.model,
            "messages": [{"role": "user", "content": content}],
            **self.options.decoded(decoding, seed=seed),
            **self.options.extra,
        }
        answer = self.client.ask(body, private=private)
        used = usage_of(answer)
        with self._counting:
            self._used = self._used[0] + used[0], self._used[1] + used[1]
        text = content_of(answer, keep_cut=self.options.keep_cut, max_tokens=decoding.max_tokens)
        try:
            return GeneratedCaption(caption_text(text, ""))
        except LineError as refused:
            raise NoAnswerError(str(refused)) from None

    def _look_for_a_breakdown(self, answers: Sequence[GeneratedCaption | NoAnswerError]) -> None:
        """Detect a failing endpoint: it may fail for one image, but rarely for all of many."""
        silent = [answer for answer in answers if isinstance(answer, NoAnswerError) and answer.is_silence]
        if silent and len(silent) == len(answers) and not self.client.is_alive():
            message = _("The endpoint “%(name)s” is down.") % {"name": self.endpoint}
            raise BackendDownError(f"{message} {silent[-1].reason}")
        for answer in answers:
            if isinstance(answer, GeneratedCaption) or not answer.counts:
                self._failed_in_a_row = 0
                continue
            self._failed_in_a_row += 1
            if self._failed_in_a_row >= IN_A_ROW:
                # A run that is resumed, perhaps with other options, starts counting again.
                self._failed_in_a_row = 0
                message = _(
                    "The endpoint “%(name)s” failed to make a caption %(count)s times in a row. The last reason:"
                )
                raise BackendDownError(f"{message % {'name': self.endpoint, 'count': IN_A_ROW}} {answer.reason}")


class EndpointCaptioner(_EndpointRequests):
    def __init__(self, endpoint: str, options: EndpointOptions, client: EndpointClient, clock: Clock) -> None:
        super().__init__(endpoint, options, client, clock)
        self.side: int | None = options.side

    def describe(self) -> dict[str, str]:
        return {**super().describe(), "side": f"{self.side} px"}

    def prepare(self, image: Image.Image | None) -> str:
        """Encode the image as a data URL for a message."""
        if image is None:
            raise BackendSettingsError(_("The model describes images, and was given none."))
        side = self.options.side
        small = image.convert("RGB")
        if max(small.size) > side:
            small = small.copy() if small is image else small
            small.thumbnail((side, side), Image.Resampling.LANCZOS)
        file = io.BytesIO()
        small.save(file, "JPEG", quality=JPEG_QUALITY)
        return f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode()}"

    def stabilise(self, prepared: Sequence[Any], *, keys: Sequence[str], decoding: Decoding) -> list[str | FailedImage]:
        raise BackendSettingsError(_("Pivot-stabilised models cannot run behind an endpoint."))

    def caption(
        self,
        prepared: Sequence[str],
        *,
        keys: Sequence[str],
        language: str,
        decoding: Decoding,
        stabilisers: Sequence[str] | None = None,
    ) -> list[GeneratedCaption | FailedImage]:
        prompt = {"type": "text", "text": self.options.prompt_in(language)}
        more = {} if self.options.detail is None else {"detail": self.options.detail}
        contents = [[prompt, {"type": "image_url", "image_url": {"url": url, **more}}] for url in prepared]
        return self.all([(content, "") for content in contents], keys=keys, language=language, decoding=decoding)


class EndpointTranslation(_EndpointRequests):
    def translate(
        self, texts: Sequence[str], *, keys: Sequence[str], language: str, decoding: Decoding
    ) -> list[GeneratedCaption | FailedImage]:
        contents = [(self.options.prompt_in(language, text=text), text) for text in texts]
        return self.all(contents, keys=keys, language=language, decoding=decoding)

    def translate_into_english(
        self, texts: Sequence[str], *, keys: Sequence[str], language: str, decoding: Decoding
    ) -> list[GeneratedCaption | FailedImage]:
        contents = [(self.options.prompt_into_english(language, text=text), text) for text in texts]
        return self.all(contents, keys=keys, language=language, decoding=decoding)


def seed_of(key: str, language: str, seed: int) -> int:
    """Make a seed for an image in a language, in 31 bits, which every server accepts."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{language}:{key}".encode()).digest()[:4]) >> 1
