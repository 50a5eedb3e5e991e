"""docs/security.md has each requirement once and in its order, says how it is met, and names only what is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from config import ROOT
from tools.scripts.checks.sources import TextFinding, text_of, unless

DOCUMENT = "docs/security.md"
STATES = {"Met", "Partly", "Not met"}
ROW = re.compile(r"^\| (\d+\.\d+\.\d+) \| ([^|]+) \| ([^|]+) \| (.+) \|$", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
FILE = re.compile(r"[\w.*-]+(?:/[\w.*-]+)+")
SETTING = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|DEBUG|LOGGING|PROXIES")
MIN_REASON_CHARACTERS = 60
SOURCES = (
    *("config/settings.py", "config/connections.py", "config/environment.py", "docker-compose.yml"),
    "core/people/allauth_adapter.py",
)
"""Where settings stand."""


def check() -> Iterator[TextFinding]:
    text = text_of(DOCUMENT)
    for before, match in pairwise(ROW.finditer(text)):
        is_later = [*map(int, before[1].split("."))] < [*map(int, match[1].split("."))]
        yield from unless(is_later, DOCUMENT, match, f"{match[1]} stands twice or out of order", "sort the rows")
    for match in ROW.finditer(text):
        number, _asks, state, how = match.groups()
        yield from unless(state in STATES, DOCUMENT, match, f"{number} is “{state}”", f"say one of {sorted(STATES)}")
        is_said = CODE.search(how) if state == "Met" else len(how) > MIN_REASON_CHARACTERS
        do = "name the test or setting that keeps it, or say what is missing and what an operator can do"
        yield from unless(is_said, DOCUMENT, match, f"{number} does not say how", do)
    settings = "".join(map(text_of, SOURCES))
    for match in CODE.finditer(text):
        name = match[1]
        if FILE.fullmatch(name.partition("::")[0]):
            yield from unless(is_there(name), DOCUMENT, match, f"there is no {name}", "name what is there")
        if SETTING.fullmatch(name):
            yield from unless(
                name in settings, DOCUMENT, match, f"there is no setting {name}", "name one that is there"
            )


def is_there(name: str) -> bool:
    path, _, function = name.partition("::")
    found = next(ROOT.glob(path), None)
    return found is not None and (not function or f"def {function}(" in text_of(found))
