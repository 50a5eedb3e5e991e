"""Guides name each setting, column, option, limit and figure that they have to, as the code has it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from django.core.management import BaseCommand, get_commands, load_command_class

from annotation.formats.captions import COLUMNS as CAPTION_COLUMNS
from config import ROOT
from config.variables import OPTIONAL, REQUIRED
from core.images.rules import limits
from core.images.rules.image_checks import WEBP_BYTES_PER_PIXEL
from core.images.rules.manifests import ALIASES, TEXT_COLUMNS
from core.images.services.import_jobs import MAX_SILENT_S
from core.people.rules.passwords import OWN_WORDS
from crosslens_metrics.formats.caption_rows import MAX_CAPTION_CHARACTERS
from crosslens_metrics.formats.judgements import COLUMNS as JUDGEMENT_COLUMNS
from crosslens_metrics.formats.limits import MAX_ROW_CHARACTERS
from crosslens_metrics.formats.manifests import NAMES
from crosslens_metrics.reports.comparison_figures import MESSAGES
from crosslens_metrics.scales import SCALES
from crosslens_metrics.scoring import FIGURES
from research.inference.backends import registry
from research.inference.backends.endpoint_options import COMMON_OPTIONS, OF_IMAGES
from sxs_eval.formats.figure_tables import COLUMNS as TABLE_COLUMNS
from sxs_eval.formats.judgement_export import COLUMNS as EXPORT_COLUMNS
from tools.demo.people import MANAGER, PASSWORD
from tools.demo.photographs import PHOTOGRAPHS
from tools.scripts.checks.documents import targets
from tools.scripts.checks.image import metrics, version_of
from tools.scripts.checks.sources import TextFinding, at, own_apps, quoted, text_of, unless

MILLION = 10**6
SETTINGS = "docs/settings.md"
GUIDES = ("README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))))
OWN_APPS = {app.name for app in own_apps()}
COMMANDS = [name for name, app in get_commands().items() if app in OWN_APPS]


class GuideMention(NamedTuple):
    """One of the `guides` has each of the `names`, written like `form`."""

    guides: tuple[str, ...]
    names: Iterable[object]
    form: str = "`{}`"


def table() -> list[GuideMention]:
    return [
        GuideMention(GUIDES, COMMANDS, "manage.py {}"),
        GuideMention(("Makefile",), (name for name in targets() if name != "help"), '@echo "make {}'),
        GuideMention(("README.md",), (MANAGER, PASSWORD)),
        GuideMention(("docs/managers.md",), CAPTION_COLUMNS),
        GuideMention(("docs/importing.md",), (*NAMES, *TEXT_COLUMNS, *ALIASES, "file", "latitude", "longitude")),
        GuideMention(("docs/importing.md",), limits_of_imports(), "{}"),
        GuideMention(("docs/researchers.md",), (*EXPORT_COLUMNS, *TABLE_COLUMNS)),
        GuideMention(("docs/researchers.md",), (*options_of("correlate"), *options_of("rank_metrics")), "`{}"),
        GuideMention(
            ("docs/metrics.md",), (re.sub(r"^BLEU-[123]$", "BLEU-n", one.title) for one in FIGURES.values()), "{}"
        ),
        GuideMention(("docs/side-by-side-files.md",), (*JUDGEMENT_COLUMNS, *MESSAGES)),
        GuideMention(("docs/side-by-side-files.md",), ("--json", "--seed", "--replication", "--resamples")),
        GuideMention(("docs/side-by-side-files.md",), rows_of_scales(), "| {} |"),
        GuideMention(("docs/backends.md",), (*COMMON_OPTIONS, *OF_IMAGES, *backends())),
        GuideMention(("docs/operators.md",), metrics(), "{}"),
        GuideMention(("docs/operators.md",), (f"are for Python {version_of('PYTHON')}",), "{}"),
        GuideMention(("docs/operators.md",), (f"Caddy ({version_of('CADDY')} or newer)",), "{}"),
        GuideMention(("docs/screenshots/README.md",), (one.author for one in PHOTOGRAPHS), "{}"),
        GuideMention(("docs/screenshots/README.md",), (one.licence[1] for one in PHOTOGRAPHS), "{}"),
    ]


def check() -> Iterator[TextFinding]:
    for guides, names, form in table():
        said = "".join(map(text_of, guides))
        for name in names:
            mention = form.format(name)
            if not re.search(re.escape(mention) + r"(?!\w)", said):
                yield at(guides[0], 1, f"“{mention}” is not mentioned", "explain it")
    yield from settings()
    yield from passwords()


def limits_of_imports() -> list[str]:
    counts = (
        *(limits.MAX_UPLOAD_FILES, limits.MAX_ZIP_ENTRIES, limits.MAX_MANIFEST_LINES, limits.MAX_EXTRA_CHARACTERS),
        *(MAX_ROW_CHARACTERS, limits.MAX_IMAGE_SIDE, limits.MAX_SCANS, MAX_CAPTION_CHARACTERS),
        *(limits.MAX_UPLOAD_BYTES // limits.MEGABYTE, limits.MAX_ZIP_BYTES // limits.MEGABYTE),
    )
    return [
        *(f"{count:,}" for count in counts),
        f"{limits.MAX_IMAGE_BYTES // MILLION} MB, {limits.MAX_IMAGE_PIXELS // MILLION} million pixels",
        f"{limits.MAX_DECODED_BYTES // MILLION} MB of memory",
        f"for {MAX_SILENT_S:.0f} seconds",
        f"a WebP at {limits.MAX_DECODED_BYTES // WEBP_BYTES_PER_PIXEL // MILLION} million",
        f"{limits.MAX_MANIFEST_BYTES // MILLION} MB,",
        f"more than {limits.MAX_ZIP_RATIO} times",
    ]


def options_of(command: str) -> list[str]:
    """The options of a command of `scoring` that not every command has."""
    common = BaseCommand().create_parser("manage.py", command)._option_string_actions
    parser = load_command_class("research.scoring", command).create_parser("manage.py", command)
    return [name for name in parser._option_string_actions if name.startswith("--") and name not in common]


def rows_of_scales() -> Iterator[str]:
    for points, scale in SCALES.items():
        scores = (f"{level.number} {level.name}".replace("-", "−", level.number < 0) for level in scale.levels)
        yield f"`{points}` | {', '.join(scores)}"


def backends() -> list[str]:
    return [name for name, backend in registry.backends().items() if not registry.package_of(backend)]


def settings() -> Iterator[TextFinding]:
    """The tables of settings have exactly those there are, in their order, and the command of the image."""
    first, _, second = text_of(SETTINGS).partition("## Optional")
    for part, wanted in ((first, REQUIRED), (second, OPTIONAL)):
        listed = re.findall(r"^\| `([A-Z0-9_]+)` \|", part, re.MULTILINE)
        unknown = [name for name in listed if name not in wanted]
        missing = [name for name in wanted if name not in listed]
        where = f"| `{(unknown or listed)[0]}` |"
        wrong = f"differing from config/variables.py: {quoted([*missing, *unknown]) or 'the order'}"
        yield from unless(listed == list(wanted), SETTINGS, where, wrong, "list the same in its order")
    command = json.loads(text_of("Dockerfile").replace("\\\n", "").rpartition("\nCMD ")[2])
    logs = command.index("--log-config")
    row = f"| web | `{' '.join([*command[:logs], *command[logs + 2 :]])}` |"
    is_there = row in text_of(SETTINGS).replace(" --workers 2", "")
    yield from unless(is_there, SETTINGS, "| web |", f"“{row}” is not there", "copy the command of the Dockerfile")


def passwords() -> Iterator[TextFinding]:
    document = "docs/security.md"
    heading = "**Words that no password is made of**"
    said = re.search(re.escape(heading) + r" with little else around them: (.+),\nand", text_of(document))
    named = set(said[1].split(", ")) if said else set()
    do = "name those of OWN_WORDS in core/people/rules/passwords.py"
    yield from unless(named == set(OWN_WORDS), document, heading, f"{quoted(named ^ set(OWN_WORDS))} differs", do)
