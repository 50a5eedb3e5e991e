"""Each check of texts finds a bad example in its line. Whether the checkout's own texts are good, `make lint` says."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from config import ROOT
from tools.demo import game_items
from tools.scripts.checks import catalogues, demo_texts
from tools.scripts.checks.sources import TEXTS, text_of

CODE, PAGE, GUIDE, COMPOSE = (
    "libs/tabular/downloads.py",
    "templates/people/home.html",
    "README.md",
    "docker-compose.yml",
)
ARABIC, SWAHILI, LACKING = (f"locale/{name}/LC_MESSAGES/django.po" for name in ("ar", "sw", "lacking/sw"))
OF_WORK = "core/languages/rules/page_languages.py"
PARTS = {
    "catalogues": ("sw",),
    "documents": (GUIDE,),
    "templates": ("templates/people",),
    "vocabulary": ("libs/tabular",),
}
"""What checks of much are asked to read."""
LINES = "Do it.\n\nParameters\n----------\nthat\n    Of that.\n".replace("\n", "\n    ")
CASES: list[tuple[str, str, str, str, str]] = [
    ("vocabulary", GUIDE, "", "Hand it in.\n", "“Hand it in” is retired: say submit"),
    ("vocabulary", CODE, "", "# What is in hand\n", "“in hand” is retired"),
    ("vocabulary", CODE, "", "old_picture = 1\n", "has the retired word “picture”"),
    ("vocabulary", CODE, "", "class TooLate(ValueError): ...\n", "end the names of exceptions"),
    ("vocabulary", CODE, "", "@dataclass(frozen=True)\nclass Built: ...\n", "the class Built: say of what"),
    ("vocabulary", CODE, "", "LEAST, LONGEST_NAME = 2, 20\n", "the limit LONGEST_NAME: begin it with MAX_ or MIN_"),
    ("vocabulary", ARABIC, "", '\nmsgid "Take it up"\nmsgstr "x"\n', "“Take it up” is retired"),
    ("vocabulary", "docs/GLOSSARY.md", "(`Task`)", "(`Tusk`)", "there is no class Tusk"),
    ("documents", GUIDE, "", "[x](docs/nowhere.md)\n", "leads to no file"),
    ("documents", GUIDE, "", "[x](docs/game.md#nowhere)\n", "leads to no heading"),
    ("documents", GUIDE, "", "Run manage.py nothing.\n", "no command of manage.py “nothing”"),
    ("documents", GUIDE, "", "Run `make nothing`.\n", "no target of make “nothing”"),
    ("mentions", "docs/settings.md", "| `HTTPS` |", "| `HTTP` |", "“HTTPS”, “HTTP”"),
    ("mentions", "docs/security.md", "crosslens, caption,", "crosslens,", "“caption” differs"),
    ("templates", PAGE, "", "<p>{{ a\n", "a tag goes over the end"),
    ("templates", PAGE, "", f"<p>{'long ' * 40}</p>\n", "over 160 characters"),
    ("templates", PAGE, "", "{{ at|date }}\n", "a time without a zone"),
    ("templates", PAGE, "", '{{ at|date:"j F Y" }}\n', "a date in the form of one language"),
    ("templates", PAGE, "", "{% day at %}.\n", "a full stop of one language after a time"),
    ("templates", PAGE, "", '<p class="world__map">\n', "has no style on the page"),
    ("escaping", PAGE, "", "{{ name|safe }}\n", "“name|safe”"),
    ("escaping", "static/js/page.js", "", 'eval("1");\n', "“eval(”"),
    ("catalogues", SWAHILI, "", '\nmsgid "%(n)s"\nmsgstr "x"\n', "has other placeholders"),
    ("catalogues", SWAHILI, "", '\nmsgid "May"\nmsgstr "x"\n', "“May” is a name in dates"),
    ("catalogues", LACKING, "", '\nmsgid "%(n)s"\nmsgstr "x"\n', "has other placeholders"),
    ("catalogues", OF_WORK, '"gapgame/models.py"', '"gapgame/nothing.py"', "there is no file gapgame/nothing.py"),
    ("catalogues", CODE, "", "from a import gettext as say\n", "import it as _"),
    ("packages", "requirements/demo.txt", "", "other==1.0\n", "“other==1.0” has no hash"),
    ("services", COMPOSE, '["NET_BIND_SERVICE"]', '["SYS_ADMIN"]', "proxy: cap_add"),
    ("image", "Dockerfile", "FROM ${PYTHON_IMAGE}", "FROM python", "“FROM python"),
    ("security", "docs/security.md", "| 1.1.2 | encode last | Met", "| 1.1.2 | encode last | No", "is “No”"),
    ("docstrings", "libs/crosslens_metrics/rouge_l.py", "", f'def f(this):\n    """{LINES}"""\n', "no parameter that"),
]  # fmt: skip
"""A check, a file, what in it is replaced (by nothing: at its end) and by what, and what is then said."""


@pytest.mark.parametrize(("name", "file", "old", "new", "wrong"), CASES)
def test_a_bad_example_is_found_in_its_line(monkeypatch, name: str, file: str, old: str, new: str, wrong: str):
    before, _, after = text_of(file).partition(old) if old else (text_of(file), "", "")
    monkeypatch.setitem(TEXTS, ROOT / file, before + new + after)
    line = (before + new).rstrip("\n").count("\n") + 1 - new.strip("\n").count("\n")
    check = import_module(f"tools.scripts.checks.{name}").check
    found = check(PARTS[name]) if name in PARTS else check()
    assert [one for one in found if one[:2] == (file, line) and wrong in str(one)]


def test_messages_that_nobody_translated_yet_are_counted_and_are_no_fault(monkeypatch, capsys):
    swahili = text_of(SWAHILI).partition('\nmsgid "Open"')[0] + '\nmsgid "Open"\nmsgstr ""\n'
    monkeypatch.setitem(TEXTS, ROOT / SWAHILI, swahili)
    assert [*catalogues.check(("sw",))] == []
    said = capsys.readouterr().out
    assert re.search(r"Not translated, and shown in English: messages \d{3,}, languages 1\.\n", said)


def test_a_sentence_of_the_game_that_gives_its_word_away_is_found_in_its_line():
    for pair in (("camión", "Camiones"), ("cat", "cats"), ("escalera", "escalar")):
        assert demo_texts.gives_away(*pair)
    assert not demo_texts.gives_away("coffee", "cold")
    item = game_items.items()[1]
    (found,) = demo_texts.sentence({**item, "word": "nobody"})
    assert item["sentence"] in text_of(demo_texts.GAME).splitlines()[found.line - 1]
