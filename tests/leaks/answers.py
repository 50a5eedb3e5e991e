"""What the platform answers, searched for secrets in whatever guise, and read for addresses and forms."""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import unquote_plus
from zipfile import ZipFile

from PIL import Image as Pillow

SENTENCE = "Eine Katze schläft auf dem Sofa."
FILLERS = {"number": "1", "email": "x@example.org", "password": "wrong-Passw0rd", "date": "2030-01-01"}
OF_THE_MOMENT = ("Expires", "X-Request-ID")
"""Headers that are others each time."""
TOKEN = re.compile(rb"\b[A-Za-z0-9]{64}\b|\b[A-Za-z0-9]{32}\b")


@dataclass(frozen=True)
class Secrets:
    """`words`: found in nothing but a secret, with what each is part of. `change` makes every secret another one."""

    words: Mapping[str, str]
    change: Callable[[], None]

    def found_in(self, text: str) -> list[str]:
        """What of the secrets is in `text`: as it is, escaped for HTML, JSON or an address, or in base 64."""
        guises = "\n".join((text, html.unescape(text), unquote_plus(text), _without_json_escapes(text))).casefold()
        return [
            f"{word!r} of {what}"
            for word, what in self.words.items()
            if word.casefold() in guises or any(piece in text for piece in _in_base64(word))
        ]


def _without_json_escapes(text: str) -> str:
    return re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text).replace("\\", "")


def _in_base64(word: str) -> list[str]:
    """The characters that `word` always becomes, wherever in a longer text it begins."""
    encoded = word.encode()
    pieces = []
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + encoded).decode()
        pieces.append(whole[-(-before * 8 // 6) : (before + len(encoded)) * 8 // 6])
    return pieces


@dataclass(frozen=True)
class Answer:
    """`tables`: of the database, all that were read or written for it."""

    method: str
    address: str
    status: int
    headers: Mapping[str, str]
    cookies: str
    body: bytes
    tables: frozenset[str]
    has_read_what_was_sent: bool

    @property
    def kind(self) -> str:
        return self.headers.get("Content-Type", "").partition(";")[0]

    @property
    def text(self) -> str:
        """All that the browser is sent, and what is hidden in an image or packed in an archive."""
        parts = [f"{name}: {value}" for name, value in self.headers.items()] + [self.cookies]
        if self.body and self.kind.startswith("image/") and self.kind != "image/svg+xml":
            parts += [self.body.decode("latin-1"), _metadata(self.body)]
        elif self.body and self.kind == "application/zip":
            parts += _packed(self.body)
        else:
            parts.append(self.body.decode(errors="replace"))
        return "\n".join(parts)

    def comparable(self) -> tuple[object, ...]:
        headers = sorted((name, value) for name, value in self.headers.items() if name not in OF_THE_MOMENT)
        return self.status, tuple(headers), TOKEN.sub(b"#", self.body)

    def __str__(self) -> str:
        return f"{self.method} {self.address} ({self.status})"


def _packed(archive: bytes) -> list[str]:
    with ZipFile(io.BytesIO(archive)) as opened:
        return [opened.read(name).decode(errors="replace") for name in opened.namelist()]


def _metadata(image: bytes) -> str:
    with Pillow.open(io.BytesIO(image)) as opened:
        exif = opened.getexif()
        return repr((opened.info, dict(exif), [dict(exif.get_ifd(ifd)) for ifd in (0x8769, 0x8825, 0xA005)]))


class Page(HTMLParser):
    """The addresses in a page, whatever attribute holds them, and its forms."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.forms: list[tuple[dict[str, str], list[dict[str, str]]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        for name, value in attributes.items():
            pieces = [part.split()[0] for part in value.split(",") if part.strip()] if name == "srcset" else [value]
            self.addresses += [piece for piece in pieces if name in ("href", "src", "action") or piece.startswith("/")]
        if tag == "form":
            self.forms.append((attributes, []))
        elif tag in ("input", "textarea", "select", "button", "option") and self.forms:
            self.forms[-1][1].append(attributes | {"tag": tag})

    def submissions(self) -> Iterator[tuple[str, str, dict[str, str]]]:
        """(method, address, data) of every way to send a form: one for each of its named buttons."""
        for form, parts in self.forms:
            data: dict[str, str] = {}
            buttons: list[dict[str, str]] = [{}]
            chosen_from = ""
            for part in parts:
                name, value, kind = part.get("name", ""), part.get("value", ""), part.get("type", part["tag"])
                if part["tag"] == "select":
                    chosen_from = name
                elif part["tag"] == "option":
                    data[chosen_from] = value or data.get(chosen_from, "")
                elif name and (part["tag"] == "button" or kind == "submit"):
                    buttons.append({name: value})
                elif name and kind != "file":
                    data[name] = value or FILLERS.get(kind, SENTENCE)
            for button in buttons:
                method = form.get("method", "get").upper()
                if method in ("GET", "POST"):
                    yield method, form.get("action", ""), data | button
