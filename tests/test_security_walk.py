"""docs/security.md has each requirement of levels 1 and 2 once, and names only what is there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from people.rules.passwords import OWN_WORDS
from tests.servers import ROOT

DOCUMENT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
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

REQUIREMENTS = [f"{section}.{number}" for section, levels in LEVELS.items() for number in range(1, len(levels) + 1)]
WALKED = [
    f"{section}.{number}"
    for section, levels in LEVELS.items()
    for number, level in enumerate(levels, start=1)
    if level in "12"
]
STATES = {"Met", "Partly", "Not met"}
ROW = re.compile(r"^\| (\d+\.\d+\.\d+) \| ([^|]+) \| ([^|]+) \| (.+) \|$", re.MULTILINE)
RANGE = re.compile(r"^Numbers (\d+\.\d+\.\d+)(?:–(\d+\.\d+\.\d+))?: Does not apply; \w.+\.$", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
SETTING = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|DEBUG|LOGGING|PROXIES")


def numbers_passed_over() -> Iterator[str]:
    for first, last in RANGE.findall(DOCUMENT):
        between = REQUIREMENTS[REQUIREMENTS.index(first) : REQUIREMENTS.index(last or first) + 1]
        yield from (number for number in between if number in WALKED)


def sources() -> str:
    places = [
        "config/settings.py",
        "config/connections.py",
        "config/environment.py",
        "docker-compose.yml",
        "people/allauth_adapter.py",
    ]
    return "".join((ROOT / place).read_text(encoding="utf-8") for place in places)


def test_the_list_is_that_of_the_standard() -> None:
    assert Counter("".join(LEVELS.values())) == {"1": 70, "2": 183, "3": 92}


def test_each_requirement_stands_once_in_its_order() -> None:
    rows = [number for number, *_row in ROW.findall(DOCUMENT)]
    passed_over = list(numbers_passed_over())

    assert sorted(rows + passed_over, key=REQUIREMENTS.index) == WALKED
    assert rows == sorted(rows, key=REQUIREMENTS.index)


@pytest.mark.parametrize("row", ROW.findall(DOCUMENT), ids=lambda row: row[0])
def test_a_requirement_has_a_state_and_what_is_met_says_how(row: tuple[str, str, str, str]) -> None:
    _number, _asks, state, how = row

    assert state in STATES
    assert state != "Met" or CODE.search(how)
    # Whoever runs an installation is told why, or what is left to them.
    assert state == "Met" or len(how) > 60


def test_every_file_and_test_that_is_named_is_there() -> None:
    named = [one for one in CODE.findall(DOCUMENT) if re.fullmatch(r"[\w.*-]+(?:/[\w.*-]+)+", one.partition("::")[0])]
    missing = []
    for one in named:
        path, _, test = one.partition("::")
        found = [file for file in ROOT.glob(path) if file.exists()]
        if not found or (test and f"def {test}(" not in found[0].read_text(encoding="utf-8")):
            missing.append(one)
    assert len(named) > 20
    assert missing == []


def test_every_setting_that_is_named_is_there() -> None:
    known = sources()
    named = {name for name in CODE.findall(DOCUMENT) if SETTING.fullmatch(name)}

    assert named
    assert [name for name in sorted(named) if name not in known] == []


def test_the_words_that_no_password_is_made_of_are_told() -> None:
    (told,) = re.findall(
        r"^\*\*Words that no password is made of\*\* with little else around them: (.+),\nand", DOCUMENT, re.MULTILINE
    )
    assert set(told.split(", ")) == set(OWN_WORDS)
