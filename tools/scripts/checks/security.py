"""docs/security.md has each requirement of levels 1 and 2 once, and names only what is there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from config import ROOT
from tools.scripts.checks.sources import TextFinding, at, text_of, unless

DOCUMENT = "docs/security.md"
LEVELS = {
    "1.1": "22", "1.2": "1111122223", "1.3": "112222222223", "1.4": "222", "1.5": "123",
    "2.1": "122", "2.2": "112", "2.3": "12223", "2.4": "23",
    "3.1": "3", "3.2": "113", "3.3": "12223", "3.4": "11222233", "3.5": "11122333", "3.6": "3", "3.7": "22333",
    "4.1": "12233", "4.2": "23333", "4.3": "22", "4.4": "1222",
    "5.1": "2", "5.2": "112333", "5.3": "113", "5.4": "222",
    "6.1": "122", "6.2": "111111112222", "6.3": "11223333", "6.4": "112233", "6.5": "22222333", "6.6": "2223",
    "6.7": "33", "6.8": "2222",
    "7.1": "222", "7.2": "1111", "7.3": "22", "7.4": "11222", "7.5": "223", "7.6": "22",
    "8.1": "1233", "8.2": "1123", "8.3": "133", "8.4": "23",
    "9.1": "111", "9.2": "1222",
    "10.1": "22", "10.2": "223", "10.3": "22223", "10.4": "1111122222233333", "10.5": "22222",
    "10.6": "22", "10.7": "222",
    "11.1": "2233", "11.2": "22233", "11.3": "11233", "11.4": "1222", "11.5": "23", "11.6": "23", "11.7": "33",
    "12.1": "12233", "12.2": "11", "12.3": "22223",
    "13.1": "2333", "13.2": "222223", "13.3": "2233", "13.4": "1222233",
    "14.1": "22", "14.2": "12223333", "14.3": "122",
    "15.1": "12233", "15.2": "12233", "15.3": "1222222", "15.4": "3333",
    "16.1": "2", "16.2": "22222", "16.3": "2222", "16.4": "222", "16.5": "2223",
    "17.1": "23", "17.2": "22223333", "17.3": "22",
}  # fmt: skip
"""Of ASVS 5.0.0, section by section: the level of each requirement in turn."""
REQUIREMENTS = {
    f"{section}.{number}": level for section, levels in LEVELS.items() for number, level in enumerate(levels, start=1)
}
STATES = {"Met", "Partly", "Not met"}
ROW = re.compile(r"^\| (\d+\.\d+\.\d+) \| ([^|]+) \| ([^|]+) \| (.+) \|$", re.MULTILINE)
RANGE = re.compile(r"^Numbers (\d+\.\d+\.\d+)(?:–(\d+\.\d+\.\d+))?: Does not apply; \w.+\.$", re.MULTILINE)
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
    is_whole = Counter("".join(LEVELS.values())) == {"1": 70, "2": 183, "3": 92}
    yield from unless(
        is_whole, "tools/scripts/checks/security.py", "LEVELS =", "not as many as ASVS 5.0.0 has", "copy its levels"
    )
    yield from requirements(text)
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


def requirements(text: str) -> Iterator[TextFinding]:
    """Each of levels 1 and 2 stands once, in its order, in a row or in a range that does not apply."""
    numbers = list(REQUIREMENTS)
    stands: dict[str, re.Match[str]] = {}
    last = 0
    for match in re.finditer(f"{ROW.pattern}|{RANGE.pattern}", text, re.MULTILINE):
        first, end = (match[1], match[1]) if match[1] else (match[5], match[6] or match[5])
        if not {first, end} <= REQUIREMENTS.keys():
            yield at(DOCUMENT, match, f"{first} or {end} is no requirement", "correct the number")
            continue
        place = numbers.index(first)
        yield from unless(not match[1] or place >= last, DOCUMENT, match, f"{first} is out of order", "sort the rows")
        last = place if match[1] else last
        for number in numbers[place : numbers.index(end) + 1]:
            if REQUIREMENTS[number] in "12" or match[1]:
                is_wanted = number not in stands and REQUIREMENTS[number] in "12"
                yield from unless(is_wanted, DOCUMENT, match, f"{number} stands twice, or is of level 3", "remove it")
                stands[number] = match
    for number, level in REQUIREMENTS.items():
        if level in "12" and number not in stands:
            above = [stands[one] for one in numbers[: numbers.index(number)] if one in stands]
            yield at(DOCUMENT, above[-1] if above else 1, f"{number} is missing", "add a row for it")


def is_there(name: str) -> bool:
    path, _, function = name.partition("::")
    found = next(ROOT.glob(path), None)
    return found is not None and (not function or f"def {function}(" in text_of(found))
