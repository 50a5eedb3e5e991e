"""Read the text from the answer of an OpenAI-compatible endpoint, or find out why there is none."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

MAX_TOKENS = 10**9


class NoAnswerError(Exception):
    """There is no answer to this request; the message says why.

    `is_silence`: the endpoint may be out of order, as it gave no proper answer; `counts`: whether many in a row of
    these say that something is wrong with all of them. A refusal says nothing of that sort.
    """

    def __init__(self, reason: str, *, is_silence: bool = False, counts: bool = True) -> None:
        super().__init__(reason)
        self.reason, self.is_silence, self.counts = reason, is_silence, counts


def usage_of(answer: Any) -> tuple[int, int]:
    """Read how many tokens went in and came out; 0 where the server does not say."""
    usage = answer.get("usage") if isinstance(answer, dict) else None
    counts = [usage.get(name) if isinstance(usage, dict) else 0 for name in ("prompt_tokens", "completion_tokens")]
    known = [count if isinstance(count, int) and 0 <= count < MAX_TOKENS else 0 for count in counts]
    return known[0], known[1]


def content_of(answer: Any, *, keep_cut: bool, max_tokens: int) -> str:
    """Return the text of a chat completion, unchanged.

    Raises NoAnswerError.
    """
    if not isinstance(answer, dict):
        raise NoAnswerError(_("The answer is not a chat completion."))
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise NoAnswerError(_("The answer has no choices, or none with a message."))
    finish = choice.get("finish_reason")
    if message.get("refusal") or finish == "content_filter":
        raise NoAnswerError(_("The model refused to answer."), counts=False)
    text = _text_of(message.get("content"))
    if text is None:
        raise NoAnswerError(_("The answer has no text."))
    if finish == "length" and not keep_cut:
        raise NoAnswerError(
            _(
                "The caption was cut off after %(count)s tokens. Allow more, or set the option “keep_cut” to "
                "keep captions that are cut off."
            )
            % {"count": max_tokens}
        )
    if text.lstrip().startswith("<think>"):
        raise NoAnswerError(
            _(
                "The answer begins with the model's reasoning. Switch reasoning off in the server, or with "
                "the option “extra”."
            )
        )
    return text


def _text_of(content: Any) -> str | None:
    """Read the text; some servers send a list of parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return "".join(text for text in texts if isinstance(text, str)) if texts else None
