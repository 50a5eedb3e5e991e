"""Templates: each class has its sheet on the page that uses it, no line is too long, and times name their zone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from config import ROOT
from core.people.templatetags.sheets import APP_SHEETS
from tools.scripts.checks.sources import TextFinding, at, files_in, quoted, text_of, unless

TEMPLATES = ROOT / "templates"
COMMON = ("base", "components", "project")
"""Of every page; that of a project's navigation only where it is shown: tests/doors/test_project_navigation.py."""
LINK = "link the sheet in core/people/templatetags/sheets.py or on the page"
MAX_LINE_LENGTH = 160
TAG = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}")
OPEN_ENDED = re.compile(r"\{%|\{\{|\{#|%\}|\}\}|#\}")
# What cannot be wrapped: a sentence with a percent sign, which only the tag `translate` takes, and a line of JSON.
WHOLE = re.compile(r'\{% translate "[^"]*%[^"]*" %\}|^\{".*')
RAW_TIME = re.compile(r"\|(date|time|moment_in_words|moment_without_year|time_in_words)\b")
DATE_FORM = re.compile(r"""\|(date|time):["']""")
STOP_AFTER_TIME = re.compile(r"\{% (moment|day|deadline) [^%]*%\}\.")
FOR_MACHINES = re.compile(r"""\|date:["'](c|Y-m-d|Y)["']""")
WITH_A_ZONE_OF_THEIR_OWN = {
    "annotation/_estimate.html",  # days, without a time
    "gapgame/_turn.html",  # of the season
    "gapgame/_when.html",
}


def check(folders: tuple[str, ...] = ("templates",)) -> Iterator[TextFinding]:
    for path in files_in(*folders, endings=(".txt",)):
        yield from dates(path)
    for path in files_in(*folders, endings=(".html",)):
        yield from dates(path)
        name = str(path.relative_to(TEMPLATES))
        yield from lines(path, is_timed=not re.match(r"site/|.*email/", name) and name not in WITH_A_ZONE_OF_THEIR_OWN)
        # Those of a site of files have one sheet: templates/site/site.css.
        if "{% extends" in text_of(path) and not path.name.startswith("_") and not name.startswith("site/"):
            yield from sheets_of_page(name)


def lines(path: Path, *, is_timed: bool) -> Iterator[TextFinding]:
    for number, line in enumerate(text_of(path).splitlines(), start=1):
        if OPEN_ENDED.search(TAG.sub("", line)):
            yield at(path, number, "a tag goes over the end of the line, so that Django shows it", "put it on one line")
        if len(WHOLE.sub("", line)) > MAX_LINE_LENGTH:
            yield at(path, number, f"over {MAX_LINE_LENGTH} characters", "wrap it")
        if is_timed and RAW_TIME.search(line):
            yield at(path, number, "a time without a zone", "say {% moment … %}, {% day … %} or {% deadline … %}")


def dates(path: Path) -> Iterator[TextFinding]:
    for number, line in enumerate(text_of(path).splitlines(), start=1):
        if DATE_FORM.search(FOR_MACHINES.sub("", line)):
            yield at(path, number, "a date in the form of one language", "use a filter of moments: …_in_words")
        if STOP_AFTER_TIME.search(line):
            yield at(path, number, "a full stop of one language after a time", "end the line, or use a message")


def classes_of(sheet: str) -> frozenset[str]:
    """The classes that a sheet says something about."""
    return classes_in(text_of(f"static/css/{sheet}.css"))


@cache
def classes_in(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\.([a-zA-Z][\w-]*)", re.sub(r"\{[^{}]*\}", "{}", text)))


def parts_of(template: str) -> dict[str, str]:
    """The texts of a template and of all that it extends and includes."""
    texts: dict[str, str] = {}
    waiting = [template]
    while waiting:
        name = waiting.pop()
        if name not in texts and (TEMPLATES / name).exists():
            texts[name] = text_of(TEMPLATES / name)
            waiting += re.findall(r'\{% (?:extends|include|fixed) "([^"]+)"', texts[name])
    return texts


def sheets_of_page(page: str) -> Iterator[TextFinding]:
    """A page links the sheets of its classes: its own, or those of its app."""
    texts = parts_of(page)
    own = [
        sheet
        for text in texts.values()
        for sheet in re.findall(r'\{% block styles %\}\{% sheets ((?:"\w+" ?)+)%\}', text)
    ]
    named = re.findall(r'"(\w+)"', " ".join(own)) or ["tables", *APP_SHEETS.get(Path(page).parts[0], ())]
    known = {path.stem for path in files_in("static/css", endings=(".css",))}
    linked = {*COMMON, *named}
    yield from unless(linked <= known, TEMPLATES / page, "{% sheets", f"no sheet {quoted(linked - known)}", LINK)
    elsewhere = set().union(*map(classes_of, known - linked)) - set().union(*map(classes_of, linked & known))
    for name, text in texts.items():
        for match in re.finditer(r'class="((?:[^"{]|\{\{.*?\}\}|\{%.*?%\})*)"', text):
            used = {*re.sub(r"\{%.*?%\}|\{\{.*?\}\}", " ", match[1]).split()}
            if used & elsewhere:
                wrong = f"{quoted(used & elsewhere)} has no style on the page {page}"
                yield at(TEMPLATES / name, match, wrong, LINK)
