"""Templates and style sheets: every class has its sheet on the page that uses it, and no line is too long to read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from people.templatetags.sheets import APP_SHEETS
from tests.servers import ROOT

TEMPLATES = ROOT / "templates"
CLASSES = {
    path.stem: set(re.findall(r"\.([a-zA-Z][\w-]*)", re.sub(r"\{[^{}]*\}", "{}", path.read_text(encoding="utf-8"))))
    for path in (ROOT / "static" / "css").glob("*.css")
}
"""The classes that each sheet says something about."""
COMMON = ("base", "components", "project")
"""Of every page; that of a project's navigation only where it is shown: tests/doors/test_project_navigation.py."""
LONGEST_LINE = 160


def text_of(template: str) -> str:
    """Return a template with all that it extends and includes, each once."""
    texts, waiting = {}, [template]
    while waiting:
        name = waiting.pop()
        path = TEMPLATES / name
        if name in texts or not path.exists():
            continue
        texts[name] = path.read_text(encoding="utf-8")
        waiting += re.findall(r'\{% (?:extends|include|fixed) "([^"]+)"', texts[name])
    return "\n".join(texts.values())


def pages() -> list[str]:
    """Return the templates that are pages: they extend another and are neither a part nor extended themselves.

    Those of a site are left out: `templates/site/site.css` is their one sheet.
    """
    texts = {str(path.relative_to(TEMPLATES)): path.read_text(encoding="utf-8") for path in TEMPLATES.rglob("*.html")}
    return sorted(
        name
        for name, text in texts.items()
        if "{% extends" in text and "/_" not in name and not name.startswith("site/")
    )


def sheets_of(page: str) -> set[str]:
    """Return the sheets that a page links: its own, or those of its app."""
    text = text_of(page)
    own = re.findall(r'\{% block styles %\}\{% sheets ((?:"\w+" ?)+)%\}', text)
    named = re.findall(r'"(\w+)"', " ".join(own)) if own else ["tables", *APP_SHEETS.get(Path(page).parts[0], ())]
    return {*COMMON, *named}


@pytest.mark.parametrize("page", pages())
def test_a_page_links_the_sheets_of_its_classes(page: str) -> None:
    values = re.findall(r'class="((?:[^"{]|\{\{.*?\}\}|\{%.*?%\})*)"', text_of(page))
    used = {name for value in values for name in re.sub(r"\{%.*?%\}|\{\{.*?\}\}", " ", value).split()}
    linked = sheets_of(page)
    assert linked <= CLASSES.keys()
    styled = set().union(*(CLASSES[name] for name in linked))
    assert {name for name in used - styled if any(name in classes for classes in CLASSES.values())} == set()


def test_no_tag_goes_over_the_end_of_a_line() -> None:
    """Django would show such a tag as it is written."""
    tags = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}")
    open_ended = re.compile(r"\{%|\{\{|\{#|%\}|\}\}|#\}")
    lines = [
        (path, line) for path in TEMPLATES.rglob("*.html") for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert [(path.name, line) for path, line in lines if open_ended.search(tags.sub("", line))] == []


WITH_A_ZONE_OF_THEIR_OWN = {
    "annotation/_estimate.html",  # days, without a time
    "gapgame/_times.html",  # of the season
    "gapgame/_turn.html",
    "gapgame/_when.html",
}


def test_times_are_in_the_zone_of_whoever_looks_and_name_it() -> None:
    raw = re.compile(r"\|(date|time)\b")
    pages = {str(path.relative_to(TEMPLATES)): path.read_text(encoding="utf-8") for path in TEMPLATES.rglob("*.html")}
    found = {name for name, text in pages.items() if raw.search(text) and not re.match(r"site/|.*email/", name)}
    assert found == WITH_A_ZONE_OF_THEIR_OWN, "say {% moment … %}, {% day … %} or {% deadline … %}"


def test_no_line_of_a_template_is_too_long_to_read() -> None:
    # What cannot be wrapped: a sentence with a percent sign, which only the tag `translate` takes, and a line of JSON.
    whole = re.compile(r'\{% translate "[^"]*%[^"]*" %\}|^\{".*')
    lines = {
        (str(path.relative_to(TEMPLATES)), number): whole.sub("", line)
        for path in TEMPLATES.rglob("*.html")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    }
    assert len(lines) > 5_000
    assert [place for place, line in lines.items() if len(line) > LONGEST_LINE] == []
