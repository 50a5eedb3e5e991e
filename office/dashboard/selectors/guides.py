"""The guides, in English, as they stand in `docs/`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.templatetags.static import static
from django.urls import reverse
from django.utils.safestring import SafeString

from core.people.rules.markdown import guide_to_html

INDEX = "index"
SCREENSHOTS = "screenshots/"


class GuidePage(NamedTuple):
    title: str
    html: SafeString


@cache
def titles() -> dict[str, str]:
    """Return the title of each guide by its name, in the order of the titles."""
    found = {path.stem: _title(path) for path in _folder().glob("*.md") if path.stem != INDEX}
    return dict(sorted(found.items(), key=lambda one: one[1].lower()))


@cache
def guide_page(name: str) -> GuidePage | None:
    """Return a guide, or None if there is none of this name."""
    if name not in titles():
        return None
    text = (_folder() / f"{name}.md").read_text(encoding="utf-8")
    return GuidePage(titles()[name], guide_to_html(text, link=_link, image=_image))


def _folder() -> Path:
    return Path(settings.BASE_DIR) / "docs"


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.readline().lstrip("# ").rstrip()


def _link(address: str) -> str:
    """Lead to guides here, and to nothing else of the repository."""
    file, hash_, section = address.partition("#")
    if not file or "://" in address:
        return address
    name = file.removesuffix(".md")
    return reverse("dashboard:guide-show", args=[name]) + hash_ + section if name in titles() else ""


def _image(address: str) -> str:
    return static(f"guides/{address.removeprefix(SCREENSHOTS)}")
