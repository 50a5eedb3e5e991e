"""What the documents name is there: files, headings, commands, Make targets, people of the demo and images."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from django.core.management import get_commands
from django.utils.text import slugify
from PIL import Image

from config import ROOT
from crosslens_metrics.commands.main import COMMANDS as LIBRARY_COMMANDS
from tools.demo.people import PEOPLE
from tools.scripts.checks.sources import TextFinding, at, name_of, text_of, unless, without

DOCUMENTS = tuple(name_of(path) for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]))
CHOICES = "docs/choices.md"
FENCED = r"^```.*?^```$"
SCREENSHOTS = ROOT / "docs" / "screenshots"
MAX_SCREENSHOT_BYTES = 150_000
MAX_SCREENSHOTS = 16


def check(documents: tuple[str, ...] = DOCUMENTS) -> Iterator[TextFinding]:
    for document in documents:
        yield from links(document)
        yield from names(document, r"manage\.py (\w+)", get_commands(), "command of manage.py")
        yield from names(document, r"crosslens-metrics (\w+)", LIBRARY_COMMANDS, "command of the library")
        yield from names(document, r"`make ([a-z-]+)", targets(), "target of make")
    for document in ("README.md", "docs/demo.md"):
        yield from names(document, r"`(\w+-[a-z]{2})`", {person.username for person in PEOPLE}, "person of the demo")
    yield from commands_of_the_library()
    yield from choices()
    yield from screenshots()


def names(document: str, pattern: str, known: Collection[str], kind: str) -> Iterator[TextFinding]:
    for match in re.finditer(pattern, text_of(document)):
        if match[1] not in known:
            yield at(document, match, f"there is no {kind} “{match[1]}”", "name another")


def links(document: str) -> Iterator[TextFinding]:
    text = without(FENCED, text_of(document))
    for match in re.finditer(r"\]\(((?!\w+:)[^)\s]+)\)", text):
        path, _, part = match[1].partition("#")
        target = ((ROOT / document).parent / path).resolve() if path else ROOT / document
        if not target.exists() or ROOT not in [target, *target.parents]:
            wrong = "leads to no file of the repository"
        elif part and part not in headings(name_of(target)):
            wrong = "leads to no heading"
        else:
            continue
        yield at(document, match, f"the link “{match[1]}” {wrong}", "correct it")


def headings(document: str) -> set[str]:
    lines = without(FENCED, text_of(document)).splitlines()
    return {slugify(line.lstrip("#")) for line in lines if line.startswith("#")}


def targets() -> list[str]:
    return "".join(re.findall(r"^\.PHONY: (.+)$", text_of("Makefile"), re.MULTILINE)).split()


def commands_of_the_library() -> Iterator[TextFinding]:
    guide, heading = "docs/researchers.md", "## Commands without the platform"
    named = set(re.findall(r"`(\w+_\w+|correlate)`", text_of(guide).partition(heading)[2].partition("\n##")[0]))
    for name in named ^ set(LIBRARY_COMMANDS):
        yield at(
            guide, heading, f"“{name}” is not named there, or is no command", "name exactly the commands there are"
        )


def choices() -> Iterator[TextFinding]:
    """Modules and what is named in them, as in `annotation/rules/sampling.py: draw_captions`."""
    for match in re.finditer(r"`([\w/]+\.py): ([\w, ]+)`", text_of(CHOICES)):
        source = text_of(match[1]) if (ROOT / match[1]).exists() else ""
        missing = [name for name in match[2].split(", ") if not re.search(rf"\b{name}\b", source)]
        yield from unless(not missing, CHOICES, match, f"{match[1]} has no {', '.join(missing)}", "name what is there")


def screenshots() -> Iterator[TextFinding]:
    shown = "".join(map(text_of, DOCUMENTS))
    images = sorted(SCREENSHOTS.glob("*.png"))
    yield from unless(0 < len(images) <= MAX_SCREENSHOTS, SCREENSHOTS, 1, f"{len(images)} images", "show fewer")
    for image in images:
        size = image.stat().st_size
        yield from unless(
            size <= MAX_SCREENSHOT_BYTES, image, 1, f"{size:,} bytes", f"make it {MAX_SCREENSHOT_BYTES:,} or fewer"
        )
        is_shown = f"screenshots/{image.name})" in shown
        yield from unless(is_shown, image, 1, "no document shows it", "show it or delete it")
        with Image.open(image) as opened:
            yield from unless(
                opened.format == "PNG", image, 1, f"{opened.format} under the name of a PNG", "save it as one"
            )
