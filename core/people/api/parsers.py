"""Parsers of request bodies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any

from django.utils.translation import gettext as _
from rest_framework import parsers
from rest_framework.exceptions import ParseError


class JSONParser(parsers.JSONParser):
    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        try:
            data = super().parse(stream, media_type, parser_context)
            # An escape can stand for half of a character, which can neither be stored nor repeated in an answer.
            json.dumps(data, ensure_ascii=False).encode()
        except ParseError as error:
            raise ParseError(_reason(error.__context__, str(error))) from error
        except RecursionError as error:
            raise ParseError(_("The JSON is nested too deeply.")) from error
        except UnicodeEncodeError as error:
            raise ParseError(_("A text in the JSON has half of a surrogate pair. Send whole characters.")) from error
        return data


def _reason(cause: BaseException | None, plain: str) -> str:
    """In words of HTTP and JSON: Python's own speak of codecs and of settings of the interpreter."""
    if isinstance(cause, UnicodeDecodeError):
        return _("The body is not valid UTF-8. Send the JSON as UTF-8.")
    if isinstance(cause, ValueError) and not isinstance(cause, json.JSONDecodeError):
        return _("A number in the JSON is NaN or infinite, or has too many digits. Send a number that JSON knows.")
    return plain
